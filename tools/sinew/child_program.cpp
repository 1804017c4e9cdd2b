#include "child_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <sstream>

#include "inputs.h"
#include "sinew/core/error.h"

namespace sinew::tool {
namespace {

constexpr int kInterrupted = 130;

/// Where the streams of a started program go.
class Streams {
 public:
  Streams(const std::filesystem::path& out, const std::filesystem::path& err) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  }
  ~Streams() { posix_spawn_file_actions_destroy(&actions_); }
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  const posix_spawn_file_actions_t* actions() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

/// The last sentence, without the name of the program in front and without the hint that follows wrong usage.
std::string last_sentence(const std::string& text) {
  std::istringstream lines(text);
  std::string last;
  for (std::string line; std::getline(lines, line);)
    if (!line.empty() && line.rfind("'sinew", 0) != 0) last = line;
  if (last.rfind("sinew: ", 0) == 0) last.erase(0, 7);
  return last;
}

}  // namespace

ChildResult ChildPrograms::run(const std::vector<std::string>& words, const std::filesystem::path& folder,
                               const std::string& name) {
  const std::filesystem::path out = folder / (name + ".out");
  const std::filesystem::path err = folder / (name + ".err");
  const Streams streams(out, err);
  std::vector<char*> argv;
  std::string program = "sinew";
  argv.push_back(program.data());
  std::vector<std::string> copies = words;
  for (std::string& word : copies) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  {
    const std::lock_guard guard(lock_);
    if (stopped_) return {kInterrupted, "", "interrupted"};
    const int failure = posix_spawn(&child, "/proc/self/exe", streams.actions(), nullptr, argv.data(), environ);
    if (failure != 0)
      throw Error(ErrorKind::unusable, fmt::format("the program cannot be started again: {}", std::strerror(failure)));
    running_.insert(child);
  }
  int state = 0;
  rusage used{};
  while (wait4(child, &state, 0, &used) < 0 && errno == EINTR) {
  }
  {
    const std::lock_guard guard(lock_);
    running_.erase(child);
  }
  ChildResult result;
  result.status = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
  result.out = read_text(out);
  result.error = last_sentence(read_text(err));
  result.seconds = static_cast<double>(used.ru_utime.tv_sec) + 1e-6 * static_cast<double>(used.ru_utime.tv_usec);
  std::error_code ignored;
  std::filesystem::remove(out, ignored);
  std::filesystem::remove(err, ignored);
  return result;
}

void ChildPrograms::stop() {
  const std::lock_guard guard(lock_);
  stopped_ = true;
  for (const pid_t child : running_) kill(child, SIGTERM);
}

}  // namespace sinew::tool
