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
  ProgressBar();
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  Progress callback();
  void wipe();

 private:
  void show(std::string_view step, double fraction);

  bool terminal_;
  bool shown_ = false;
  double last_ = -1;
};

}  // namespace sinew::tool
