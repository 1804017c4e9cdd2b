#pragma once

#include <string>
#include <string_view>

#include "sinew/core/progress.h"

namespace sinew::tool {

/// From now on SIGINT and SIGTERM ask the running command to stop; a second one ends the program at once.
void catch_interrupts();

/// Whether the user has asked to stop.
bool interrupted();

/// Throws Error{interrupted} with this sentence when the user has asked to stop.
void stop_if_interrupted(const std::string& sentence);

/// A bar on stderr, shown only where that is a terminal and wiped when done. Its callback asks the work to stop once
/// the user has.
class ProgressBar {
 public:
  /// With the seconds that the whole work is expected to take (0: unknown) it says how much time is left.
  explicit ProgressBar(double expected_seconds = 0);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  Progress callback();
  void wipe();

 private:
  void show(std::string_view step, double fraction);

  double seconds_left(double fraction, double now) const;

  bool terminal_;
  double expected_;
  double start_;
  std::string step_;
  double step_start_ = 0;
  bool shown_ = false;
  double last_ = -1;
};

}  // namespace sinew::tool
