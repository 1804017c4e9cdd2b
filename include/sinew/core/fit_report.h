#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sinew {

/// Why a solve stopped.
enum class Termination { converged, iteration_limit, target_reached, cancelled };

std::string_view to_string(Termination termination);

/// One iteration of a solve.
struct IterationRecord {
  double e_rms = 0;    // of the model after this iteration, in the papers' unit
  double seconds = 0;  // since the start of the solve
};

/// One size tried by a search over the number of bones.
struct SearchRecord {
  int bones = 0;
  double e_rms = 0;
};

/// What a solver did: filled by the solver, completed by the program with the errors of the written file.
struct FitReport {
  std::string method;
  int bones_asked = 0;
  int bones = 0;               // that came out
  std::string device = "cpu";  // that passed over the vertices: cpu, or the name of a GPU
  std::string remark;          // a sentence when they differ, or for the user to know; else empty
  Termination termination = Termination::iteration_limit;
  std::vector<IterationRecord> iterations;
  std::vector<SearchRecord> search;
  std::vector<std::pair<std::string, double>> seconds;  // by step, in order of first use

  void add_seconds(std::string_view step, double value);
};

/// What every solver begins with, so that nothing of an earlier solve is left in a report.
FitReport fresh_report(std::string_view method, int bones_asked = 0);

/// Measures the wall time of a scope and adds it to a report's step.
class StepTimer {
 public:
  StepTimer(FitReport& report, std::string_view step);
  ~StepTimer();
  StepTimer(const StepTimer&) = delete;
  StepTimer& operator=(const StepTimer&) = delete;

 private:
  FitReport& report_;
  std::string step_;
  double start_;
};

/// Seconds of a steady clock.
double now_seconds();

/// Largest resident memory of this process so far, in bytes; 0 where the system does not say.
std::size_t peak_memory_bytes();

}  // namespace sinew
