#include "sinew/solve/ssdr.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "core/index.h"
#include "sinew/core/error.h"
#include "solve/lbs/alternation.h"
#include "solve/lbs/bone_search.h"
#include "solve/lbs/motion_clusters.h"
#include "solve/lbs/on_device.h"
#include "solve/lbs/problem.h"
#include "solve/lbs/saved_fit.h"
#include "solve/lbs/to_rig.h"
#include "solve/lbs/weight_samples.h"
#include "solve/ssdr/options.h"
#include "solve/ssdr/rest_pose.h"
#include "solve/ssdr/start_from_flats.h"
#include "solve/ssdr/surface.h"

namespace sinew::ssdr {
namespace {

constexpr double kTruncation = 0.01;            // E_RMS that the reduction of the whole problem may leave out
constexpr double kSampleTruncation = 0.1;       // the same of the sample
constexpr std::size_t kSampleVertices = 1250;   // vertices that stand for all while bones are looked for, at least
constexpr std::size_t kSampleNumbers = 100000;  // and as many as bring so many numbers, up to
constexpr std::size_t kMostSampled = 5000;
constexpr Eigen::Index kLargestMotion = 1 << 21;  // numbers in D up to which several starts are kept beside each other
constexpr int kThoroughPeriod = 8;                // one vertex in so many searches its support thoroughly at the end
constexpr std::size_t kDenseWeights = 4000000;    // most weights of V·B for which a dense start is affordable
constexpr int kMostIterations = 100;              // of the last stage
constexpr std::size_t kLeastFrames = 64;          // of a sample, where there are so many
constexpr int kMotionIterations = 6;              // of the motions in frames that were not in the sample
constexpr std::uint64_t kQuick = 14;              // iterations of all vertices and of the sample: with a budget of less
constexpr std::uint64_t kQuickSearch = 50;        // than both it is not searched; up to three times as many of the
                                                  // sample where that is most of the vertices
constexpr int kLeastFirst = 10;                   // iterations on a sample before its bones are moved, of up to
constexpr int kMostFirst = 60;
constexpr std::uint64_t kReserve = 60;  // iterations that follow a search, or as few as
constexpr std::uint64_t kLeastReserve = 12;
constexpr int kLeastIterations = 8;  // of the last stage, whatever the budget
constexpr int kFastIterations = 25;  // of the whole solve, where there is time for little more
constexpr int kSurfaceRounds = 16;   // after the last stage

/// What a solve carries from stage to stage.
struct Solve {
  const Sequence& sequence;
  const Problem& problem;
  const SsdrOptions& options;
  FitReport& report;
  const Progress& progress;
  Smoothing smoothing;
  Budget budget;
  double start = now_seconds();
  RunEnd end = RunEnd::limit;

  bool cancelled() const { return end == RunEnd::stopped; }

  /// Tells the caller; false, for good, once it asked to stop.
  bool keep_going(std::string_view step, double fraction) {
    if (!tell(progress, step, fraction)) end = RunEnd::stopped;
    return !cancelled();
  }
};

RunOptions run_options(const SsdrOptions& options, int iterations, int influences) {
  RunOptions run;
  run.iterations = iterations;
  run.tolerance = options.tolerance;
  run.influences = influences;
  run.bones.transforms = options.transforms;
  return run;
}

/// Near-rigid parts [§3.4] of which bones are made; connected patches count as parts of their own, so that there may be
/// more of them than bones.
MotionClusters parts_of(const Solve& solve, int bones, bool quick) {
  const Problem& problem = solve.problem;
  const SsdrOptions& options = solve.options;
  const auto wanted = static_cast<std::size_t>(bones);
  const bool flats = options.start == Start::flats;
  MotionClusters clusters =
      cluster_by_motion(problem, wanted, flats ? flat_parts(solve.sequence, options, bones) : std::vector<Index>());
  if (quick || problem.adjacency().neighbors.empty()) return clusters;
  const std::size_t smallest = std::max<std::size_t>(4, problem.vertex_count() / (10 * wanted));
  return split_into_patches(problem, clusters, smallest, wanted + (wanted + 3) / 4);
}

/// Bones from parts: of the surplus those that matter least go once weights blend.
FitState blended(const Problem& problem, const SsdrOptions& options, int bones, const MotionClusters& parts,
                 Work& work) {
  FitState state;
  state.D = parts.D;
  const int most = state.bones();
  state.weights = weights_of(parts, std::min(most, options.influences == 0 ? most : options.influences));
  if (most > bones) {
    RunOptions few = run_options(options, 8, state.weights.capacity);
    few.tolerance = 0;
    few.work = &work;
    run(problem, few, state);
    shrink(problem, few, bones, kSteady.shrunk, state);
  }
  return state;
}

/// A few iterations with dense weights before they are made sparse: bones find their places more freely.
void settle_dense(const Problem& problem, const SsdrOptions& options, FitState& state, Work& work) {
  const bool small = problem.vertex_count() * static_cast<std::size_t>(state.bones()) <= kDenseWeights;
  RunOptions dense = run_options(options, 10, small ? state.bones() : std::min(8, state.bones()));
  dense.tolerance = 0;
  dense.work = &work;
  run(problem, dense, state);
}

/// One iteration with a usual share of exchanges.
std::uint64_t usual_work(const Problem& problem, int bones, int influences) {
  return iteration_work(problem, bones, influences, problem.vertex_count() / 3);
}

/// Vertices and frames that stand for all while bones are looked for: a move costs little there.
struct Sample {
  std::vector<Index> vertices;
  std::vector<Index> frames;
  Problem all_frames;
  Problem problem;
};

/// Where the budget is limited, frames are left out until bones take no longer than vertices.
Sample take_sample(const Solve& solve, int bones) {
  const Problem& problem = solve.problem;
  const std::uint64_t seed = solve.options.seed;
  const std::size_t wanted = std::clamp(kSampleNumbers / problem.row_count(), kSampleVertices, kMostSampled);
  std::vector<Index> vertices = spread_vertices(problem.vertex_count(), wanted);
  Problem all_frames = problem.sample(vertices, kSampleTruncation, seed);
  const std::size_t frames = all_frames.frame_count();
  std::size_t kept = frames;
  if (solve.budget.limited()) {
    const auto motion = static_cast<double>(motion_work(frames, bones));
    const double rest = static_cast<double>(usual_work(all_frames, bones, slots(solve.options, bones))) - motion;
    const auto even = static_cast<std::size_t>(rest / motion * static_cast<double>(frames));
    kept = std::min(frames, std::max(kLeastFrames, even));
  }
  std::vector<Index> chosen = spread_vertices(frames, kept);
  Problem part = kept < frames ? all_frames.at_frames(chosen, kSampleTruncation, seed) : all_frames;
  return {std::move(vertices), std::move(chosen), std::move(all_frames), std::move(part)};
}

/// Searches on a sample, from `trial` or where an earlier run left it, and brings the bones back to all vertices and
/// frames, whether it was asked to stop or not.
void search(Solve& solve, Sample& sample, const std::string& phase, std::uint64_t reserve, FitState trial,
            FitState& state) {
  const StepTimer timer(solve.report, "search");
  const Problem& problem = solve.problem;
  Problem& part = sample.problem;
  SearchOptions search;
  search.run = run_options(solve.options, kMostFirst, slots(solve.options, trial.bones()));
  search.run.patient = true;
  if (3 * problem.frame_count() * at(4 * trial.bones()) > kLargestMotion) search.starts = 1;
  if (solve.budget.limited()) search.kicks = std::numeric_limits<int>::max() / 2;
  search.hasty = solve.budget.limited();
  search.seed = solve.options.seed;
  search.budget = &solve.budget;
  search.reserve = reserve;
  search.keep_going = [&](double fraction) { return solve.keep_going("search", fraction); };
  search.checkpoint = solve.options.checkpoint;
  search.phase = phase;
  if (!resumes(solve.options.checkpoint, phase) && !solve.cancelled()) {
    Work work;
    RunOptions first = search.run;
    first.patient = false;
    first.work = &work;
    const std::uint64_t one = usual_work(part, trial.bones(), first.influences);
    while (first.iterations > kLeastFirst &&
           !solve.budget.affords(reserve + static_cast<std::uint64_t>(first.iterations) * one))
      --first.iterations;
    run(part, first, trial);
    solve.budget.spend(work.done);
  }
  if (!solve.cancelled()) search_bones(part, search, trial);
  if (sample.frames.size() < problem.frame_count()) {
    trial.D = spread_motions(problem, sample.frames, trial.D);
    Work work;
    RunOptions motion = run_options(solve.options, kMotionIterations, trial.weights.capacity);
    motion.update_weights = false;
    motion.work = &work;
    run(sample.all_frames, motion, trial);
    solve.budget.spend(work.done);
  }
  state.D = trial.D;
  state.weights = spread_weights(problem.adjacency(), sample.vertices, trial.weights);
}

/// Supports of all vertices after a search on a sample: with room to spare first, and more exchanges than iterations
/// do.
void settle_supports(Solve& solve, int influences, FitState& state) {
  const StepTimer timer(solve.report, "settle");
  const std::uint64_t one = usual_work(solve.problem, state.bones(), influences + 1);
  const int iterations = solve.budget.affords(60 * one) ? 6 : solve.budget.affords(16 * one) ? 3 : 1;
  Work work;
  for (const int more : {2, 1}) {
    RunOptions loose = run_options(solve.options, iterations, std::min(influences + more, state.bones()));
    loose.tolerance = 0;
    loose.swaps = 2;
    loose.work = &work;
    run(solve.problem, loose, state);
  }
  solve.budget.spend(work.done);
}

/// Iterations of the last stage that the budget has room for, settled once.
int last_iterations(Solve& solve, const std::string& phase, bool resumed, int bones, int influences) {
  if (solve.options.max_iterations > 0) return solve.options.max_iterations;
  Checkpoint* const checkpoint = solve.options.checkpoint;
  const std::string name = phase + " at most";
  if (resumed && checkpoint->finished.count(name) != 0)
    return static_cast<int>(saved_number(checkpoint->finished, name, 1, kMostIterations));
  const std::uint64_t one = usual_work(solve.problem, bones, influences) * (solve.options.surface > 0 ? 2 : 1);
  const bool fast = solve.options.quality == Quality::fast && !solve.budget.limited();
  int iterations = fast ? kFastIterations : kMostIterations;
  while (iterations > kLeastIterations && !solve.budget.affords(static_cast<std::uint64_t>(iterations) * one))
    --iterations;
  if (checkpoint != nullptr) checkpoint->finished[name] = numbers({static_cast<double>(iterations)});
  return iterations;
}

/// Where a limited budget has room for it, all starts on the sample: parts of all vertices are blended there, and bones
/// looked for.
bool searches_on_sample(Solve& solve, const Sample& sample, int bones) {
  const int K = slots(solve.options, bones);
  const std::uint64_t on_sample = kQuickSearch * usual_work(sample.problem, bones, K);
  const std::uint64_t more = 2 * on_sample * sample.problem.vertex_count() / solve.problem.vertex_count();
  return solve.budget.affords(kQuick * usual_work(solve.problem, bones, K) + on_sample + more);
}

/// Work that is to be left after a search: up to a quarter of what is there now.
std::uint64_t reserve_after(Solve& solve, std::uint64_t all) {
  std::uint64_t iterations = kReserve;
  while (solve.budget.limited() && iterations > kLeastReserve && !solve.budget.affords(4 * iterations * all))
    --iterations;
  return iterations * all;
}

/// Parts of all vertices made bones: on the sample where there is one, and with dense weights for a while unless it is
/// to be quick.
FitState first_bones(Solve& solve, const Sample* sample, int bones, bool quick) {
  const SsdrOptions& options = solve.options;
  const Problem& problem = sample != nullptr ? sample->problem : solve.problem;
  Work work;
  FitState state;
  {
    const StepTimer timer(solve.report, "initialise");
    MotionClusters parts = parts_of(solve, bones, quick);
    solve.budget.spend(4 * comparison_work(solve.problem, bones));
    if (sample != nullptr) {
      std::vector<Index> labels;
      for (const Index v : sample->vertices) labels.push_back(parts.labels[v]);
      parts = {std::move(labels), motions_at(parts.D, sample->frames)};
    }
    state = blended(problem, options, bones, parts, work);
  }
  if (!quick && options.influences != 0 && solve.keep_going("settle", 0)) {
    const StepTimer timer(solve.report, "settle");
    settle_dense(problem, options, state, work);
  }
  solve.budget.spend(work.done);
  return state;
}

FitState fit(Solve& solve, int bones) {
  const SsdrOptions& options = solve.options;
  const std::string searching = fmt::format("search {} bones", bones);
  const std::string iterating = fmt::format("iterate {} bones", bones);
  const bool in_search = resumes(options.checkpoint, searching);
  const bool in_iteration = resumes(options.checkpoint, iterating);
  solve.budget = Budget(options.time, work_limit(options), solve.problem.ranks());
  const bool limited = solve.budget.limited();
  const std::uint64_t all = usual_work(solve.problem, bones, slots(options, bones));
  std::optional<Sample> sample;
  if (!in_iteration && (limited || options.quality == Quality::best)) sample = take_sample(solve, bones);
  if (limited && sample && !in_search && !searches_on_sample(solve, *sample, bones)) sample.reset();
  const bool quick = limited ? !sample : options.quality == Quality::fast;
  FitState state;
  if (in_search || in_iteration)
    state.D = saved_array(options.checkpoint->earlier->arrays, "motion", -1, -1);
  else
    state = first_bones(solve, limited && sample ? &*sample : nullptr, bones, quick);
  if (sample && (limited || !solve.cancelled())) {
    FitState trial;
    trial.D = std::move(state.D);
    if (!in_search) trial.weights = limited ? std::move(state.weights) : weights_at(state.weights, sample->vertices);
    search(solve, *sample, searching, reserve_after(solve, all), std::move(trial), state);
    if (!solve.cancelled()) settle_supports(solve, slots(options, state.bones()), state);
  }
  const StepTimer timer(solve.report, "iterate");
  const int K = slots(options, state.bones());
  RunOptions last = run_options(options, last_iterations(solve, iterating, in_iteration, state.bones(), K), K);
  if (options.quality == Quality::best) last.thorough_period = kThoroughPeriod;
  // Rounds over the surface cost twice as much as iterations, and take a third of them.
  const int rounds = std::min(kSurfaceRounds, last.iterations);
  last.reseed = quick;
  last.smoothing = solve.smoothing;
  last.checkpoint = options.checkpoint;
  last.phase = iterating;
  Work work;
  last.work = &work;
  int done = 0;
  last.after = [&](const FitState& now) {
    solve.report.iterations.push_back({solve.problem.e_rms(now.squares), now_seconds() - solve.start});
    return solve.keep_going("iterate", static_cast<double>(++done) / last.iterations);
  };
  const RunEnd end = run(solve.problem, last, state);
  if (!solve.cancelled()) solve.end = end;
  if (!solve.cancelled() && options.surface > 0) smooth_surface(solve.problem, last, options.surface, rounds, state);
  solve.budget.spend(work.done);
  return state;
}

/// Fits of different sizes. Those that an earlier run finished are not done again: it left their objectives, and the
/// model of the one that was best.
class Attempts {
 public:
  explicit Attempts(Solve& solve) : solve_(solve), known_(3, 0) {
    const Checkpoint* checkpoint = solve.options.checkpoint;
    if (checkpoint == nullptr || checkpoint->finished.count("attempts") == 0) return;
    known_ = saved_array(checkpoint->finished, "attempts", 3, -1);
    best_ = saved_fit(checkpoint->finished, "best ", solve.problem.frame_count(), solve.problem.vertex_count());
  }

  FitState next(int bones) {
    const auto n = static_cast<Eigen::Index>(solve_.report.search.size());
    FitState state;
    if (n < known_.cols() && known_(0, n) == bones) {
      if (known_(2, n) > 0) state = best_;
      state.squares = known_(1, n);
    } else {
      solve_.report.iterations.clear();
      state = fit(solve_, bones);
    }
    solve_.report.search.push_back({bones, solve_.problem.e_rms(state.squares)});
    return state;
  }

  /// The last attempt is the best so far, or not.
  void judged(const FitState& state, bool best) {
    const auto n = static_cast<Eigen::Index>(solve_.report.search.size());
    if (n <= known_.cols() || solve_.cancelled()) return;
    known_.conservativeResize(Eigen::NoChange, n);
    known_.col(n - 1) << solve_.report.search.back().bones, state.squares, best ? 1 : 0;
    if (best) known_.row(2).head(n - 1).setZero();
    Checkpoint* const checkpoint = solve_.options.checkpoint;
    if (checkpoint == nullptr) return;
    checkpoint->finished["attempts"] = known_;
    if (best) save_fit(state, "best ", checkpoint->finished);
  }

 private:
  Solve& solve_;
  Eigen::MatrixXd known_;  // 3×n: bones, objective, whether it is the best
  FitState best_;
};

/// The model that a search ends with. Only one attempt of an earlier run has its model; a damaged checkpoint can let
/// the search end with another.
FitState with_model(FitState best) {
  if (best.bones() == 0)
    throw Error(ErrorKind::input, "checkpoint: its 'attempts' do not say which of them is the best");
  return best;
}

/// The smallest number of bones that reaches the error: doubling until it does, then halving the interval.
FitState fit_to_error(Solve& solve) {
  const SsdrOptions& options = solve.options;
  Attempts attempts(solve);
  const auto attempt = [&](int bones) { return attempts.next(bones); };
  const auto reaches = [&](const FitState& state) { return solve.problem.e_rms(state.squares) < options.max_error; };
  int below = options.min_bones - 1;  // known or taken to be too few
  int bones = options.min_bones;
  FitState best = attempt(bones);
  attempts.judged(best, true);
  while (!reaches(best) && bones < options.max_bones && !solve.cancelled()) {
    below = bones;
    bones = std::min(2 * bones, options.max_bones);
    best = attempt(bones);
    attempts.judged(best, true);
  }
  if (!reaches(best)) {
    solve.report.remark = fmt::format("E_RMS {:.4g} is not reached with {} bones: {:.4g}", options.max_error, bones,
                                      solve.problem.e_rms(best.squares));
    return with_model(std::move(best));
  }
  while (bones - below > 1 && !solve.cancelled()) {
    const int middle = (bones + below) / 2;
    FitState state = attempt(middle);
    attempts.judged(state, reaches(state));
    if (reaches(state)) {
      bones = middle;
      best = std::move(state);
    } else {
      below = middle;
    }
  }
  if (!solve.cancelled()) solve.report.termination = Termination::target_reached;
  return with_model(std::move(best));
}

}  // namespace

}  // namespace sinew::ssdr

namespace sinew {

namespace ssdr {
namespace {

Rig solve_on(const Device& device, const Sequence& sequence, const SsdrOptions& options, FitReport& report,
             const Progress& progress) {
  report = fresh_report("ssdr", options.bones);
  const double start = now_seconds();
  Problem problem(sequence, {kTruncation, options.threads, options.seed});
  if (options.surface > 0 && !problem.ranks().alone())
    throw Error(ErrorKind::usage, "surface: a term between neighbours is solved for by one process alone");
  const std::string left_device = put_on_device(device, problem);
  if (problem.device() != nullptr) report.device = problem.device()->name();
  const SmoothingEdges edges(sequence, problem, options);
  report.add_seconds("prepare", now_seconds() - start);

  Solve solve{sequence, problem, options, report, progress, edges.smoothing(), Budget(0, 0)};
  const bool to_error = options.max_error > 0;
  FitState state = to_error ? fit_to_error(solve) : fit(solve, options.bones);
  report.bones_asked = to_error ? state.bones() : options.bones;
  report.bones = state.bones();
  if (report.termination != Termination::target_reached || solve.cancelled())
    report.termination = termination_of(solve.end);
  if (!to_error && state.bones() < options.bones) {
    report.remark = fmt::format("{} bones came out of {} asked for: the mesh has only {} vertices", state.bones(),
                                options.bones, sequence.vertex_count());
  }
  if (options.time > 0 && !to_error && !solve.cancelled()) {
    report.remark =
        fmt::format("{:.1f} s came to --work {}, at {:.0f} a second: that gives the same bits again", options.time,
                    static_cast<double>(solve.budget.amount()) / kWorkUnit, solve.budget.rate() / kWorkUnit);
  }
  if (sequence.frames.paging() != nullptr && problem.reduced())
    report.remark += fmt::format("{}trajectories in a basis of {} directions, which leaves out {:.2g} E_RMS",
                                 report.remark.empty() ? "" : "; ", problem.row_count(), problem.left_out());
  if (!left_device.empty()) report.remark += (report.remark.empty() ? "" : "; ") + left_device;
  const int K = slots(options, state.bones());
  if (options.optimize_rest && !solve.cancelled()) {
    const StepTimer timer(report, "rest pose");
    return with_optimized_rest(sequence, problem, run_options(options, 20, K), options, state);
  }
  return to_rig(sequence, problem, state.D, state.weights, options.transforms, options.influences == 0 ? 0 : K);
}

}  // namespace
}  // namespace ssdr

Rig solve_ssdr(const Sequence& sequence, const SsdrOptions& options, FitReport& report, const Progress& progress) {
  ssdr::check_options(options);
  try {
    return ssdr::solve_on(options.device, sequence, options, report, progress);
  } catch (const device::Failure& failure) {
    // The processor has not failed yet: it starts from the beginning.
    Device processor;
    processor.kind = Device::Kind::cpu;
    Rig rig = ssdr::solve_on(processor, sequence, options, report, progress);
    report.remark += fmt::format("{}{}: solved on the processor", report.remark.empty() ? "" : "; ", failure.what());
    return rig;
  }
}

}  // namespace sinew
