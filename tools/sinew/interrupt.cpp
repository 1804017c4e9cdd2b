#include "interrupt.h"

#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>

#include "sinew/core/error.h"

namespace sinew::tool {
namespace {

constexpr suseconds_t kPatience = 300000;  // microseconds of CPU that work has to answer by itself
constexpr suseconds_t kAgain = 50000;      // the same, once it is no longer held
constexpr int kWallSeconds = 5;            // the same for work that waits for something else than the processor

volatile std::sig_atomic_t asked_to_stop = 0;
std::atomic<int> held{0};
static_assert(std::atomic<int>::is_always_lock_free, "read by a signal handler");

/// What a signal handler may print with.
void say(const char* text) {
  const ssize_t ignored = write(STDERR_FILENO, text, std::strlen(text));
  static_cast<void>(ignored);
}

void start_timer(suseconds_t cpu, int wall_seconds) {
  itimerval timer{};
  timer.it_value.tv_usec = cpu;
  setitimer(ITIMER_PROF, &timer, nullptr);
  timer.it_value = {wall_seconds, 0};
  setitimer(ITIMER_REAL, &timer, nullptr);
}

void on_patience_over(int /*number*/) {
  if (held > 0) return start_timer(kAgain, 1);
  say("sinew: interrupted: nothing was written\n");
  _exit(130);
}

void on_signal(int /*number*/) {
  asked_to_stop = 1;
  say(isatty(STDERR_FILENO) != 0 ? "\r\033[Ksinew: stopping ...\n" : "sinew: stopping ...\n");
  start_timer(kPatience, kWallSeconds);
}

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_patience_over;
  action.sa_flags = SA_RESTART;
  sigaction(SIGPROF, &action, nullptr);
  sigaction(SIGALRM, &action, nullptr);
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

void too_late_to_stop() {
  ++held;
}

HoldOn::HoldOn(bool wanted) : wanted_(wanted) {
  if (wanted_) ++held;
}

HoldOn::~HoldOn() {
  if (wanted_) --held;
}

}  // namespace sinew::tool
