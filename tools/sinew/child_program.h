#pragma once

#include <sys/types.h>

#include <filesystem>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace sinew::tool {

/// What a run of this program left behind.
struct ChildResult {
  int status = 0;      // exit status; 128 + number where a signal ended it
  std::string out;     // all of stdout
  std::string error;   // the last sentence on stderr
  double seconds = 0;  // CPU seconds in user mode, which other work on the machine hardly moves
};

/// Runs this program again, several times at once where run() is called from several threads: each run has its memory
/// and its CPU time to itself, and what goes wrong in one does not touch the others.
class ChildPrograms {
 public:
  /// Waits for the run to end. Output goes through files in `folder` whose names start with `name`.
  /// Throws Error{unusable} when the program cannot be started.
  ChildResult run(const std::vector<std::string>& words, const std::filesystem::path& folder, const std::string& name);

  /// Asks all runs to stop; later ones do not start (status 130).
  void stop();

 private:
  std::mutex lock_;
  std::set<pid_t> running_;
  bool stopped_ = false;
};

}  // namespace sinew::tool
