#pragma once

#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "sinew/core/checkpoint.h"
#include "sinew/core/fit_report.h"
#include "solve/lbs/bones.h"
#include "solve/lbs/work.h"

namespace sinew::lbs {

/// A model under construction: bones, weights, and what the last pass left.
struct FitState {
  Eigen::MatrixXd D;  // 3F×4B
  SparseWeights weights;
  WeightSums sums;                                           // of these weights
  ExchangeWaits waits;                                       // of runs that are patient
  double squares = std::numeric_limits<double>::infinity();  // ‖Y − D X‖²
  double value = std::numeric_limits<double>::infinity();    // squares plus the smoothness term

  int bones() const { return static_cast<int>(D.cols() / 4); }
};

/// How a run of iterations works.
struct RunOptions {
  int iterations = 50;
  double tolerance = 1e-4;  // stop when the value fell by less than tolerance · value over 4 iterations
  int influences = 4;
  int swaps = 1;
  int swap_period = 1;
  int thorough_period = 0;
  bool patient = false;  // vertices wait longer after every exchange that did not pay, across runs
  Work* work = nullptr;  // may be null: what the run spends, and how much it may
  bool update_weights = true;
  bool update_bones = true;
  bool accelerate = true;
  bool reseed = false;  // a bone that almost nothing follows begins anew where that pays [LeDeng2012]
  BoneOptions bones;
  Smoothing smoothing;
  std::span<const std::uint8_t> locked_vertices;
  Checkpoint* checkpoint = nullptr;  // may be null: where the run keeps its state, as this phase
  std::string phase;
  /// Called after every iteration, with everything but weights and residuals; false stops the run.
  std::function<bool(const FitState&)> after;
};

/// Why a run of iterations ended.
enum class RunEnd { converged, limit, stopped };

Termination termination_of(RunEnd end);

/// Alternates weights and bones with Nesterov extrapolation of the bones, restarted whenever the objective would rise:
/// the value of the state never increases.
RunEnd run(const Problem& problem, const RunOptions& options, FitState& state);

/// ‖Y − D X‖² of a state as it is; leaves its sums.
double squares_of(const Problem& problem, FitState& state);

/// Takes bone b out of a state (weights renormalised, sums stale).
void remove_bone(FitState& state, int b);

/// Adds motions to a state without giving them weight (sums stale).
void add_bones(FitState& state, const Eigen::MatrixXd& motions);

}  // namespace sinew::lbs
