// Reading an Alembic archive of 500 MB (written here, with our writer) beside plain reads of the same bytes, in turns:
// through a small buffer that is used again and again, and into a new buffer that holds them all, as the frames do.
// Every sample's key is checked while reading, and all positions are compared after timing. A second process reads the
// archive once to measure memory.
//   alembic_bench [MEGABYTES [ROUNDS]]
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "sinew/core/fit_report.h"
#include "sinew/io/alembic.h"

namespace {

namespace fs = std::filesystem;
using namespace sinew;

constexpr Index kWide = 400;
constexpr Index kHigh = 250;
constexpr std::size_t kVertices = std::size_t{kWide} * kHigh;

/// Position of one vertex of a wavy sheet in one frame.
Vector3 point(std::size_t f, std::size_t v) {
  const auto x = static_cast<float>(v % kWide) * 0.013F;
  const auto y = static_cast<float>(v / kWide) * 0.017F;
  return {x, y + 0.01F * static_cast<float>(f), x * y + 0.1F * static_cast<float>(f % 7)};
}

Sequence make_sequence(std::size_t frames) {
  Sequence sequence;
  sequence.name = "sheet";
  sequence.frames = Frames(frames, kVertices);
  for (std::size_t f = 0; f < frames; ++f)
    for (std::size_t v = 0; v < kVertices; ++v) sequence.frames[f].col(static_cast<Eigen::Index>(v)) = point(f, v);
  sequence.rest.positions = sequence.frames[0];
  for (Index y = 0; y + 1 < kHigh; ++y)
    for (Index x = 0; x + 1 < kWide; ++x) {
      const Index v = y * kWide + x;
      sequence.rest.face_sizes.push_back(4);
      sequence.rest.corners.insert(sequence.rest.corners.end(), {v, v + 1, v + kWide + 1, v + kWide});
    }
  sequence.times = uniform_times(frames);
  return sequence;
}

bool is_right(const Sequence& sequence, std::size_t frames) {
  if (sequence.frame_count() != frames || sequence.vertex_count() != kVertices) return false;
  for (std::size_t f = 0; f < frames; ++f)
    for (std::size_t v = 0; v < kVertices; ++v)
      if (sequence.frames[f].col(static_cast<Eigen::Index>(v)) != point(f, v)) return false;
  return true;
}

void read_bytes(const fs::path& path, char* buffer, std::size_t size, std::size_t advance) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  for (ssize_t got = 0; (got = read(file, buffer, size)) > 0; buffer += advance * static_cast<std::size_t>(got)) {
  }
  close(file);
}

struct Timing {
  std::vector<double> wall;
  std::vector<double> cpu;
};

void time(Timing& timing, const std::function<void()>& action) {
  const std::clock_t cpu = std::clock();
  const double wall = now_seconds();
  action();
  timing.wall.push_back(now_seconds() - wall);
  timing.cpu.push_back(static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// What the process `alembic_bench --memory PATH` prints: its largest memory and the bytes of the frames.
int report_memory(const fs::path& path, std::size_t step) {
  ReadOptions options;
  options.frame_step = step;
  const Sequence sequence = read_alembic(path, options);
  const double frames = static_cast<double>(sequence.frames.data().size()) * sizeof(float) / 1e6;
  const double peak = static_cast<double>(peak_memory_bytes()) / 1e6;
  fmt::print("memory, every frame kept of {:>3}: {:7.1f} MB, frames {:7.1f} MB, beside them {:5.1f} MB\n", step, peak,
             frames, peak - frames);
  return 0;
}

void run_self(const char* self, const fs::path& path, const char* step) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    execl(self, self, "--memory", path.c_str(), step, nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "--memory") return report_memory(argv[2], std::stoul(argv[3]));
  const std::size_t megabytes = argc > 1 ? std::stoul(argv[1]) : 500;
  const std::size_t rounds = argc > 2 ? std::stoul(argv[2]) : 5;
  const std::size_t frames = std::max<std::size_t>(1, megabytes * 1000000 / (12 * kVertices));
  const fs::path path = fs::temp_directory_path() / fmt::format("sinew-alembic-bench-{}.abc", getpid());
  write_alembic(path, make_sequence(frames));
  const auto size = static_cast<std::size_t>(fs::file_size(path));

  Timing small_buffer;
  Timing new_buffer;
  Timing ours;
  bool right = true;
  std::array<char, 1 << 17> buffer;
  for (std::size_t round = 0; round < rounds; ++round) {
    time(small_buffer, [&] { read_bytes(path, buffer.data(), buffer.size(), 0); });
    time(new_buffer, [&] {
      const std::unique_ptr<char[]> whole(new char[size]);
      read_bytes(path, whole.get(), size, 1);
    });
    Sequence sequence;
    time(ours, [&] { sequence = read_alembic(path); });
    right = right && is_right(sequence, frames);
  }
  const auto report = [&](const char* name, const Timing& timing) {
    fmt::print("{:<28} cpu {:.3f} s  wall {:.3f} s  (medians of {})\n", name, median(timing.cpu), median(timing.wall),
               rounds);
  };
  fmt::print("{:.1f} MB, {} vertices, {} frames; positions {}\n", static_cast<double>(size) / 1e6, kVertices, frames,
             right ? "right" : "WRONG");
  report("plain read, small buffer", small_buffer);
  report("plain read, new buffer", new_buffer);
  report("read_alembic", ours);
  fmt::print("read_alembic / plain read: cpu {:.2f} (new buffer {:.2f}), wall {:.2f} (new buffer {:.2f})\n",
             median(ours.cpu) / median(small_buffer.cpu), median(ours.cpu) / median(new_buffer.cpu),
             median(ours.wall) / median(small_buffer.wall), median(ours.wall) / median(new_buffer.wall));
  run_self(argv[0], path, "1");
  run_self(argv[0], path, "10");
  std::error_code ignored;
  fs::remove(path, ignored);
  return right ? 0 : 1;
}
