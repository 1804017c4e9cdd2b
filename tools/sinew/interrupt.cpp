#include "interrupt.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>

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
}

bool interrupted() {
  return asked_to_stop != 0;
}

void stop_if_interrupted(const std::string& sentence) {
  if (interrupted()) throw Error(ErrorKind::interrupted, sentence);
}

ProgressBar::ProgressBar() : terminal_(isatty(STDERR_FILENO) != 0) {}

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

void ProgressBar::show(std::string_view step, double fraction) {
  const double now = now_seconds();
  if (shown_ && now - last_ < 0.1) return;
  last_ = now;
  shown_ = true;
  constexpr int kWidth = 30;
  if (fraction < 0) {
    fmt::print(stderr, "\r\033[K{}", step);
  } else {
    const int filled = static_cast<int>(std::clamp(fraction, 0.0, 1.0) * kWidth);
    fmt::print(stderr, "\r\033[K[{:#<{}}{:-<{}}] {}", "", filled, "", kWidth - filled, step);
  }
  std::fflush(stderr);
}

}  // namespace sinew::tool
