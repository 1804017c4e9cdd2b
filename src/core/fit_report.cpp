#include "sinew/core/fit_report.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>

namespace sinew {

std::string_view to_string(Termination termination) {
  switch (termination) {
    case Termination::converged:
      return "converged";
    case Termination::iteration_limit:
      return "iteration limit";
    case Termination::target_reached:
      return "target reached";
    case Termination::cancelled:
      return "cancelled";
  }
  return "";
}

FitReport fresh_report(std::string_view method, int bones_asked) {
  FitReport report;
  report.method = method;
  report.bones_asked = bones_asked;
  return report;
}

void FitReport::add_seconds(std::string_view step, double value) {
  const auto found =
      std::find_if(seconds.begin(), seconds.end(), [&](const auto& entry) { return entry.first == step; });
  if (found != seconds.end())
    found->second += value;
  else
    seconds.emplace_back(step, value);
}

StepTimer::StepTimer(FitReport& report, std::string_view step) : report_(report), step_(step), start_(now_seconds()) {}

StepTimer::~StepTimer() {
  report_.add_seconds(step_, now_seconds() - start_);
}

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::size_t peak_memory_bytes() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

}  // namespace sinew
