#include "progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <system_error>

#include "interrupt.h"
#include "report.h"
#include "sinew/core/fit_report.h"

namespace sinew::tool {
namespace {

constexpr double kTrusted = 0.7;   // of the estimate
constexpr double kTooSoon = 0.02;  // of the work, to judge its pace
constexpr double kBetween = 0.1;   // seconds between two drawings
constexpr int kWidth = 30;

/// CPU seconds of all threads of this process; of a clock where the system does not count them.
double cpu_seconds() {
  timespec now{};
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) != 0) return now_seconds();
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

double share_of_work(double done, double estimated) {
  const double x = done / estimated;
  constexpr double left = 1 - kTrusted;
  // Value and slope go on from those at kTrusted.
  return x <= kTrusted ? std::max(0.0, x) : 1 - left * left / (x - kTrusted + left);
}

ProgressBar::ProgressBar(double estimated_cpu_seconds, bool lines)
    : terminal_(isatty(STDERR_FILENO) != 0),
      lines_(lines),
      estimated_(estimated_cpu_seconds),
      start_(now_seconds()),
      cpu_start_(cpu_seconds()) {
  if (!(terminal_ || lines_) || estimated_ <= 0) return;
    // Where there is no such thread the bar is drawn when the work calls back.
#ifndef __EMSCRIPTEN__  // whose threads write only when the first one waits
  try {
    drawer_ = std::thread([this] { keep_drawing(); });
  } catch (const std::system_error&) {  // no memory for it
  }
#endif
}

ProgressBar::~ProgressBar() {
  wipe();
}

Progress ProgressBar::callback() {
  return [this](std::string_view step, double fraction) {
    if (terminal_ || lines_) tell_step(step, fraction);
    return !interrupted();
  };
}

void ProgressBar::wipe() {
  {
    const std::lock_guard guard(lock_);
    ended_ = true;
    if (shown_ && !lines_) fmt::print(stderr, "\r\033[K");
    shown_ = false;
  }
  over_.notify_all();
  if (drawer_.joinable()) drawer_.join();
}

void ProgressBar::keep_drawing() {
  std::unique_lock guard(lock_);
  const auto pause = std::chrono::duration<double>(2 * kBetween);
  while (!over_.wait_for(guard, pause, [this] { return ended_; })) draw();
}

void ProgressBar::tell_step(std::string_view step, double fraction) {
  const std::lock_guard guard(lock_);
  if (step != step_) {
    step_ = step;
    step_start_ = now_seconds();
    step_fraction_ = -1;
  }
  step_fraction_ = std::max(step_fraction_, fraction);
  draw();
}

void ProgressBar::draw() {
  const double now = now_seconds();
  if (ended_ || interrupted() || step_.empty() || now - last_ < kBetween) return;
  last_ = now;
  shown_ = true;
  const bool whole = estimated_ > 0;
  const double done = whole ? share_of_work(cpu_seconds() - cpu_start_, estimated_) : std::min(1.0, step_fraction_);
  if (lines_) {
    fmt::print(stderr, "progress {:.3f} {}\n", done, step_);
  } else if (done < 0) {
    fmt::print(stderr, "\r\033[K{}", step_);
  } else {
    const int filled = static_cast<int>(done * kWidth);
    const double left = (now - (whole ? start_ : step_start_)) * (1 - done) / std::max(done, kTooSoon);
    fmt::print(stderr, "\r\033[K[{:#<{}}{:-<{}}] {:.0f} % {}{}", "", filled, "", kWidth - filled, 100 * done, step_,
               done > kTooSoon && done < 1 ? fmt::format(", about {} left", duration_text(left)) : "");
  }
  std::fflush(stderr);
}

}  // namespace sinew::tool
