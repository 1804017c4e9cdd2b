#define MPICH_SKIP_MPICXX
#define OMPI_SKIP_MPICXX
#include <fcntl.h>
#include <fmt/format.h>
#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "processes.h"

namespace sinew::tool {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kPiece = std::size_t{1} << 30;  // bytes: MPI counts them in an int
constexpr std::chrono::microseconds kAwake(100);      // after which somebody who waits gives way to those who work
constexpr std::chrono::microseconds kNap(100);
constexpr std::chrono::seconds kPatience(2);  // for the others to fail as well

bool done(MPI_Request& request) {
  int flag = 0;
  MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  return flag != 0;
}

/// Waits without keeping a core busy, which another process on this machine may need.
void wait(MPI_Request request) {
  const Clock::time_point start = Clock::now();
  while (!done(request))
    if (Clock::now() - start > kAwake) std::this_thread::sleep_for(kNap);
}

/// Calls body(place, count) for pieces of some bytes.
template <class Bytes, class Body>
void in_pieces(Bytes bytes, const Body& body) {
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(kPiece, bytes.size())))
    body(bytes.data(), static_cast<int>(std::min(kPiece, bytes.size())));
}

int rank_in(MPI_Comm group) {
  int rank = 0;
  MPI_Comm_rank(group, &rank);
  return rank;
}

int size_of(MPI_Comm group) {
  int size = 1;
  MPI_Comm_size(group, &size);
  return size;
}

int processes_here() {
  MPI_Comm machine = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  const int size = size_of(machine);
  MPI_Comm_free(&machine);
  return size;
}

class MpiRanks : public Ranks {
 public:
  MpiRanks() : Ranks(rank_in(MPI_COMM_WORLD), size_of(MPI_COMM_WORLD), processes_here()) {}

 private:
  void send(int to, std::span<const std::byte> bytes) override {
    in_pieces(bytes, [&](const std::byte* place, int count) {
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Isend(place, count, MPI_BYTE, to, 0, MPI_COMM_WORLD, &request);
      wait(request);
    });
  }
  void receive(int from, std::span<std::byte> bytes) override {
    in_pieces(bytes, [&](std::byte* place, int count) {
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Irecv(place, count, MPI_BYTE, from, 0, MPI_COMM_WORLD, &request);
      wait(request);
    });
  }
  void broadcast(int from, std::span<std::byte> bytes) override {
    in_pieces(bytes, [&](std::byte* place, int count) {
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Ibcast(place, count, MPI_BYTE, from, MPI_COMM_WORLD, &request);
      wait(request);
    });
  }
  bool agree(bool mine) override {
    const int said = mine ? 1 : 0;
    int any = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallreduce(&said, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
    wait(request);
    return any != 0;
  }
};

class MpiProcesses : public Processes {
 public:
  MpiProcesses() {
    MPI_Comm_dup(MPI_COMM_WORLD, &ending_);
    if (ranks_.rank() > 0) be_quiet();
  }

  Ranks& ranks() override { return ranks_; }

  int end(int status) override {
    const bool first = ranks_.rank() == 0;
    const int mine = first ? status : 0;
    int of_first = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallreduce(&mine, &of_first, 1, MPI_INT, MPI_MAX, ending_, &request);
    const Clock::time_point start = Clock::now();
    while (!done(request)) {
      if (status != 0 && Clock::now() - start > kPatience) {
        speak();
        MPI_Abort(MPI_COMM_WORLD, status);
      }
      std::this_thread::sleep_for(kNap);
    }
    if (status != 0 && of_first == 0) speak();
    MPI_Comm_free(&ending_);
    MPI_Finalize();
    return status;
  }

 private:
  /// What the others would say the first one says too. It is kept, in case that this one fails alone.
  void be_quiet() {
    terminal_ = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    const int kept = memfd_create("said", MFD_CLOEXEC);
    dup2(nowhere, STDOUT_FILENO);
    dup2(kept >= 0 ? kept : nowhere, STDERR_FILENO);
    close(nowhere);
    if (kept >= 0) close(kept);
  }

  /// The last line that was kept, with the rank in front.
  void speak() const {
    if (terminal_ < 0) return;
    std::string said(4096, '\0');
    const off_t size = lseek(STDERR_FILENO, 0, SEEK_END);
    const off_t from = std::max<off_t>(0, size - static_cast<off_t>(said.size()));
    const ssize_t got = pread(STDERR_FILENO, said.data(), said.size(), from);
    said.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    while (!said.empty() && said.back() == '\n') said.pop_back();
    const std::size_t line = said.rfind('\n');
    const std::string words =
        fmt::format("rank {}: {}\n", ranks_.rank(), line == std::string::npos ? said : said.substr(line + 1));
    if (write(terminal_, words.data(), words.size()) < 0) return;
  }

  MpiRanks ranks_;
  MPI_Comm ending_ = MPI_COMM_NULL;
  int terminal_ = -1;  // stderr as it was
};

}  // namespace

std::unique_ptr<Processes> join_processes(int /*argc*/, char** /*argv*/) {
  int provided = 0;  // whoever calls MPI is the thread that runs the command
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  return std::make_unique<MpiProcesses>();
}

}  // namespace sinew::tool
