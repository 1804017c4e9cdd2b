#include "sinew/solve/clusters.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/index.h"
#include "sinew/core/error.h"
#include "solve/lbs/motion_clusters.h"
#include "solve/lbs/to_rig.h"

/// Rigid parts as bones: the clusters that ssdr and skeletons start from [Le2014 §3.4], refined until they settle.
namespace sinew {
namespace {

using namespace lbs;

constexpr int kMaxMoves = 20;
constexpr double kTolerance = 1e-4;  // stop when (e[n-1] - e[n]) <= kTolerance·e[n-1]
constexpr double kUnseen = 1e-5;     // error of a cluster that is not worth a split; radius of the mesh 1

struct State {
  MotionClusters clusters;
  std::vector<float> residual;  // V: squared distance over the frames

  double total() const { return std::accumulate(residual.begin(), residual.end(), 0.0); }
};

void save(const State& state, SavedArrays& arrays) {
  const MotionClusters& clusters = state.clusters;
  arrays["motion"] = clusters.D;
  Eigen::MatrixXd& vertices = arrays["vertices"] = Eigen::MatrixXd(2, index(clusters.labels.size()));
  for (std::size_t v = 0; v < clusters.labels.size(); ++v)
    vertices.col(index(v)) << clusters.labels[v], static_cast<double>(state.residual[v]);
}

/// Takes up the state that an earlier run left in this phase, if it did; `step` is how far it came.
bool take(const Problem& problem, Checkpoint* checkpoint, std::string_view phase, State& state, int& step) {
  const auto saved = resume(checkpoint, phase);
  if (!saved) return false;
  const Eigen::MatrixXd& motion = saved_array(saved->arrays, "motion", index(3 * problem.frame_count()), -1);
  const Eigen::MatrixXd& vertices = saved_array(saved->arrays, "vertices", 2, index(problem.vertex_count()));
  if (motion.cols() == 0 || motion.cols() % 4 != 0)
    throw Error(ErrorKind::input, "checkpoint: its motion is not one of whole bones");
  if (vertices.minCoeff() < 0 || vertices.row(0).maxCoeff() >= 0.25 * static_cast<double>(motion.cols()))
    throw Error(ErrorKind::input, "checkpoint: it has vertices in clusters that are not there");
  state.clusters.D = motion;
  for (std::size_t v = 0; v < problem.vertex_count(); ++v) {
    state.clusters.labels[v] = static_cast<Index>(vertices(0, index(v)));
    state.residual[v] = static_cast<float>(vertices(1, index(v)));
  }
  step = static_cast<int>(std::clamp<std::int64_t>(saved->step, 0, kMaxMoves));
  return true;
}

/// The cluster whose vertices would lose least by going elsewhere.
std::size_t least_needed(const Problem& problem, const MotionClusters& clusters) {
  const std::vector<double> costs = removal_costs(problem, bone_gram(problem, clusters.D), weights_of(clusters, 1));
  return static_cast<std::size_t>(std::min_element(costs.begin(), costs.end()) - costs.begin());
}

}  // namespace

void set_quality(ClustersOptions& options, Quality quality) {
  options.max_iterations = quality == Quality::fast ? 4 : ClustersOptions{}.max_iterations;
}

Rig solve_clusters(const Sequence& sequence, const ClustersOptions& options, FitReport& report,
                   const Progress& progress) {
  if (options.bones < 1 || options.bones > 65535)
    throw Error(ErrorKind::usage, fmt::format("clusters: {} bones asked for, expected 1 to 65535", options.bones));
  report = fresh_report("clusters", options.bones);
  const auto bones = static_cast<std::size_t>(options.bones);
  const double start = now_seconds();
  const Problem problem(sequence, {0, options.threads, 1});
  State state{whole_mesh(problem), {}};
  refine_clusters(problem, state.clusters, state.residual);
  report.termination = Termination::converged;
  bool go_on = true;
  const auto refine = [&] {  // rounds of EM until they bring little
    double before = std::numeric_limits<double>::infinity();
    report.termination = Termination::iteration_limit;
    for (int i = 0; go_on && i < options.max_iterations; ++i) {
      const double now = refine_clusters(problem, state.clusters, state.residual);
      report.iterations.push_back({problem.e_rms(now), now_seconds() - start});
      go_on = tell(progress, fmt::format("{} clusters", state.clusters.count()),
                   static_cast<double>(state.clusters.count()) / static_cast<double>(bones));
      if (i > 0 && before - now <= kTolerance * before) {
        report.termination = Termination::converged;
        break;
      }
      before = now;
    }
  };
  int moves = 0;
  const bool grown = take(problem, options.checkpoint, "move", state, moves);
  if (!grown) take(problem, options.checkpoint, "grow", state, moves);
  const auto remember = [&](std::string_view phase) {
    keep(options.checkpoint, phase, moves, [&](SavedArrays& arrays) { save(state, arrays); });
  };
  while (go_on && !grown && state.clusters.count() < bones) {
    const std::size_t before = state.clusters.count();
    if (!split_clusters(problem, bones, kUnseen, state.residual, state.clusters)) break;
    refine();
    remember("grow");
    if (state.clusters.count() <= before) break;  // splitting no longer brings anything
  }
  // EM stays where it gets stuck: move a cluster that is hardly needed to where the error is, while that helps.
  for (; go_on && moves < kMaxMoves && state.clusters.count() > 1; ++moves) {
    remember("move");
    const State best = state;
    const Termination ended = report.termination;
    remove_cluster(problem, least_needed(problem, state.clusters), state.clusters, state.residual);
    const bool splits = split_clusters(problem, best.clusters.count(), kUnseen, state.residual, state.clusters);
    if (splits) refine();
    if (splits && state.total() < (1 - kTolerance) * best.total()) continue;
    state = best;
    report.termination = ended;
    break;
  }
  if (!go_on) report.termination = Termination::cancelled;
  report.bones = static_cast<int>(state.clusters.count());
  if (state.clusters.count() < bones)
    report.remark = fmt::format("{} bones were asked for, {} move differently", bones, state.clusters.count());
  return to_rig(sequence, problem, state.clusters.D, weights_of(state.clusters, 1), Transforms::rigid, 1);
}

}  // namespace sinew
