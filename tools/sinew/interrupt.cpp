#include "interrupt.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>

#include "report.h"
#include "sinew/core/error.h"
#include "sinew/core/fit_report.h"

namespace sinew::tool {
namespace {

volatile std::sig_atomic_t asked_to_stop = 0;

void on_signal(int /*number*/) {
  asked_to_stop = 1;
}

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESETHAND | SA_RESTART;  // the second one has its usual effect
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // Where a file may not grow further, the write shall fail instead of the program: it then cleans up and says why.
  std::signal(SIGXFSZ, SIG_IGN);
}

bool interrupted() {
  return asked_to_stop != 0;
}

void stop_if_interrupted(const std::string& sentence) {
  if (interrupted()) throw Error(ErrorKind::interrupted, sentence);
}

ProgressBar::ProgressBar(double expected_seconds)
    : terminal_(isatty(STDERR_FILENO) != 0), expected_(expected_seconds), start_(now_seconds()) {}

ProgressBar::~ProgressBar() {
  wipe();
}

Progress ProgressBar::callback() {
  return [this](std::string_view step, double fraction) {
    if (terminal_) show(step, fraction);
    return !interrupted();
  };
}

void ProgressBar::wipe() {
  if (shown_) fmt::print(stderr, "\r\033[K");
  shown_ = false;
}

/// Seconds left: of the step at its present pace, but no less than the estimate for the whole leaves; 0: not known yet.
double ProgressBar::seconds_left(double fraction, double now) const {
  constexpr double kTooSoon = 0.02;  // of a step, to judge its pace
  const double of_step = fraction > kTooSoon ? (now - step_start_) * (1 - fraction) / fraction : 0;
  const double of_all = expected_ - (now - start_);
  return std::max({0.0, of_step, of_all});
}

void ProgressBar::show(std::string_view step, double fraction) {
  const double now = now_seconds();
  if (step != step_) {
    step_ = step;
    step_start_ = now;
  }
  if (shown_ && now - last_ < 0.1) return;
  last_ = now;
  shown_ = true;
  constexpr int kWidth = 30;
  if (fraction < 0) {
    fmt::print(stderr, "\r\033[K{}", step);
  } else {
    const int filled = static_cast<int>(std::clamp(fraction, 0.0, 1.0) * kWidth);
    const double left = seconds_left(fraction, now);
    fmt::print(stderr, "\r\033[K[{:#<{}}{:-<{}}] {}{}", "", filled, "", kWidth - filled, step,
               left > 0 ? fmt::format(", about {} left", duration_text(left)) : "");
  }
  std::fflush(stderr);
}

}  // namespace sinew::tool
