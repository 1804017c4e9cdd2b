#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "sinew/core/progress.h"

namespace sinew::tool {

/// Share of the work that is done: `done` over `estimated` up to 70 %. Estimates are not exact, so from there on what
/// is left shrinks ever more slowly: the share grows with the work and stays below 1.
double share_of_work(double done, double estimated);

/// A bar on stderr, shown only where that is a terminal and wiped when done. Its callback asks the work to stop once
/// the user has.
///
/// With an estimate the bar is that of the whole work: CPU seconds spent over CPU seconds estimated, drawn whether or
/// not the work calls back, never falling. Without one it is that of the present step, as the work tells it.
class ProgressBar {
 public:
  /// `lines`: instead of a bar "progress FRACTION STEP" in lines of their own, for a program that runs this one.
  explicit ProgressBar(double estimated_cpu_seconds = 0, bool lines = false);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  Progress callback();
  void wipe();

 private:
  void tell_step(std::string_view step, double fraction);
  void draw();  // with the lock held
  void keep_drawing();

  const bool terminal_;
  const bool lines_;
  const double estimated_;
  const double start_;      // seconds of a clock
  const double cpu_start_;  // CPU seconds of the process
  std::mutex lock_;
  std::condition_variable over_;
  bool ended_ = false;
  std::string step_;
  double step_start_ = 0;
  double step_fraction_ = -1;
  bool shown_ = false;
  double last_ = -1;
  std::thread drawer_;
};

}  // namespace sinew::tool
