#include "sinew/solve/ssdr.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sinew/core/error.h"
#include "solve/bone_search.h"
#include "solve/finish.h"
#include "solve/fitter.h"
#include "solve/motion_clusters.h"
#include "solve/problem.h"

namespace sinew {
namespace {

void check(const SsdrOptions& options) {
  const auto refuse = [](const std::string& sentence) { throw Error(ErrorKind::usage, sentence); };
  if (options.bones < 1 || options.bones > 1024)
    refuse(fmt::format("bones: {} asked for, expected 1 to 1024", options.bones));
  if (options.influences < 0 || options.influences > 8) {
    refuse(fmt::format("influences: {} asked for, expected 1 to 8, or 0 for any number", options.influences));
  }
  if (!(options.smoothness >= 0) || !std::isfinite(options.smoothness)) {
    refuse(fmt::format("smoothness: {} given, expected a number from 0 up", options.smoothness));
  }
  if (!(options.tolerance >= 0))
    refuse(fmt::format("tolerance: {} given, expected a number from 0 up", options.tolerance));
  if (options.max_iterations < 0)
    refuse(fmt::format("iterations: {} given, expected 0 or more", options.max_iterations));
  if (options.max_error < 0 || !std::isfinite(options.max_error)) {
    refuse(fmt::format("max error: {} given, expected a positive E_RMS", options.max_error));
  }
  if (options.min_bones < 1 || options.max_bones > 1024 || options.min_bones > options.max_bones) {
    refuse(fmt::format("bones between {} and {} asked for, expected 1 <= least <= most <= 1024", options.min_bones,
                       options.max_bones));
  }
}

/// What a solve carries from stage to stage.
struct Solve {
  const Problem& problem;
  const SsdrOptions& options;
  FitReport& report;
  const Progress& progress;
  double start = now_seconds();
  bool cancelled = false;

  /// Options of a run of iterations that reports to the caller.
  RunOptions run_options(int iterations, int influences, std::string_view step) {
    RunOptions run;
    run.iterations = iterations;
    run.tolerance = options.tolerance;
    run.influences = influences;
    run.bones.transforms = options.transforms;
    run.after = [this, step](const FitState& state) {
      report.iterations.push_back({problem.e_rms(state.squares), now_seconds() - start});
      if (!sinew::report(progress, step, -1)) cancelled = true;
      return !cancelled;
    };
    return run;
  }
};

int slots(const SsdrOptions& options, int bones) {
  return options.influences == 0 ? bones : std::min(options.influences, bones);
}

/// One bone per near-rigid part, blended by weights that may use any bones at first.
FitState initial_state(Solve& solve, int bones) {
  const StepTimer timer(solve.report, "initialise");
  const MotionClusters clusters = cluster_by_motion(solve.problem, static_cast<std::size_t>(bones));
  FitState state;
  state.D = clusters.D;
  state.weights = weights_of(clusters, slots(solve.options, bones));
  return state;
}

FitState fit(Solve& solve, int bones) {
  FitState state = initial_state(solve, bones);
  const int K = slots(solve.options, state.bones());
  const bool fast = solve.options.effort == Effort::fast;
  const int limit = solve.options.max_iterations > 0 ? solve.options.max_iterations : (fast ? 25 : 100);
  {
    const StepTimer timer(solve.report, "iterate");
    run(solve.problem, solve.run_options(limit, K, "iterate"), state);
  }
  if (solve.options.effort == Effort::best && !solve.cancelled) {
    const StepTimer timer(solve.report, "search");
    SearchOptions search;
    search.run = solve.run_options(limit, K, "search");
    search.seed = solve.options.seed;
    search_bones(solve.problem, search, state);
  }
  return state;
}

}  // namespace

Rig solve_ssdr(const Sequence& sequence, const SsdrOptions& options, FitReport& report, const Progress& progress) {
  check(options);
  if (report.method.empty()) report.method = "ssdr";
  report.bones_asked = options.bones;
  ProblemOptions prepare;
  prepare.threads = options.threads;
  prepare.truncation = 0.01;
  prepare.seed = options.seed;
  const double start = now_seconds();
  const Problem problem(sequence, prepare);
  report.add_seconds("prepare", now_seconds() - start);
  Solve solve{problem, options, report, progress};
  const FitState state = fit(solve, options.bones);
  report.bones = state.bones();
  report.termination = solve.cancelled ? Termination::cancelled : Termination::converged;
  if (state.bones() < options.bones) {
    report.remark = fmt::format("{} bones came out of {} asked for: the mesh has only {} vertices", state.bones(),
                                options.bones, sequence.vertex_count());
  }
  return to_rig(sequence, problem, state.D, state.weights, options.transforms, slots(options, state.bones()));
}

}  // namespace sinew
