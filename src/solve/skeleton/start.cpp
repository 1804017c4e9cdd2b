#include "solve/skeleton/start.h"

#include <algorithm>

#include "solve/lbs/weight_samples.h"
#include "solve/skeleton/moves.h"
#include "solve/skeleton/soft.h"
#include "solve/skeleton/strict.h"
#include "solve/skeleton/tree.h"

namespace sinew::skeleton {

namespace {

constexpr double kStartSmoothness = 1e-4;  // while the number of bones is open

}  // namespace

MotionClusters parts_of(const Problem& problem, std::size_t clusters) {
  MotionClusters start = cluster_by_motion(problem, clusters);
  if (clusters < 2) return start;
  return split_into_patches(problem, start, std::max<std::size_t>(3, problem.vertex_count() / 400), 2 * clusters);
}

void free_iterations(SkeletonFit& fit) {
  const int influences = fit.influences;
  for (int i = 0; i < 10; ++i) {
    fit.influences = std::min(influences, 1 + i / 3);
    update_weights(fit);
    update_bones(*fit.problem, fit.state.sums, BoneOptions{}, fit.state.D);
  }
  fit.influences = influences;
  update_weights(fit);
}

void shrink_free(SkeletonFit& fit, int most) {
  const Problem& problem = *fit.problem;
  RunOptions options;
  options.iterations = 4;
  options.tolerance = 0;
  options.influences = fit.influences;
  options.swap_period = fit.swap_period;
  run(problem, options, fit.state);
  while (fit.state.bones() > most) {
    const std::vector<double> costs = removal_costs(problem, bone_gram(problem, fit.state.D), fit.state.weights);
    std::vector<std::pair<double, int>> order;
    for (int b = 0; b < fit.state.bones(); ++b) order.emplace_back(costs[static_cast<std::size_t>(b)], b);
    std::sort(order.begin(), order.end());
    order.resize(static_cast<std::size_t>((fit.state.bones() - most + 7) / 8));
    std::sort(order.begin(), order.end(), [](const auto& x, const auto& y) { return x.second > y.second; });
    for (const auto& [cost, b] : order) remove_bone(fit.state, b);
    run(problem, options, fit.state);
  }
  options.iterations = 40;
  options.tolerance = 1e-3;
  run(problem, options, fit.state);
  update_weights(fit);
}

std::vector<std::size_t> cluster_counts(const SkeletonOptions& options) {
  if (options.max_bones == 0 || options.keep_all_bones) return {static_cast<std::size_t>(options.clusters)};
  std::vector<std::size_t> counts;
  for (std::size_t quarters = 5; quarters <= 10; quarters += options.moves > 0 ? 1 : 2)
    counts.push_back(std::max<std::size_t>(1, static_cast<std::size_t>(options.max_bones) * quarters / 4));
  return counts;
}

bool joint_softly(SkeletonFit& fit, const SkeletonOptions& options, const Progress& progress) {
  fit.tree = adopt_edges(spanning_tree(fit.state, *fit.problem), fit.state);
  const int fewest = options.keep_all_bones ? fit.state.bones() : std::max(1, options.max_bones);
  return soft_rigging(fit, options.soft_iterations, fewest, progress);
}

namespace {

/// A skeleton with strict joints from clusters. Where the number of bones is open, smoothing over the whole mesh lets
/// those degenerate that are not needed [§3.9]; where it is given, the sample will do. False: asked to stop.
bool start_from(const MotionClusters& clusters, const Whole& whole, const SkeletonOptions& options,
                const Progress& progress, SkeletonFit& fit) {
  const SparseWeights weights = weights_of(clusters, fit.influences);
  bool finished = true;
  if (options.max_bones > 0) {
    fit.state.D = clusters.D;
    fit.state.weights = weights_at(weights, whole.chosen);
    free_iterations(fit);
    shrink_free(fit, options.max_bones);
    finished = joint_softly(fit, options, progress);
  } else {
    SkeletonFit smooth{&whole.problem, &whole.edges, {}, {}, fit.influences, kStartSmoothness, 1, 0};
    smooth.body = fit.body;
    smooth.state.D = clusters.D;
    smooth.state.weights = weights;
    free_iterations(smooth);
    finished = joint_softly(smooth, options, progress);
    fit.tree = smooth.tree;
    fit.state.D = smooth.state.D;
    fit.state.weights = weights_at(smooth.state.weights, whole.chosen);
    update_weights(fit);
  }
  strict_rounds(fit, 1, 12);
  if (options.max_bones > 0) shrink_to(fit, options.max_bones);
  return finished && converge(fit, kStartRounds) != RunEnd::stopped;
}

}  // namespace

bool best_start(const std::vector<std::size_t>& counts, const Whole& whole, const SkeletonOptions& options,
                const Progress& progress, const SkeletonFit& empty, SkeletonFit& fit) {
  for (const std::size_t count : counts) {
    SkeletonFit tried = empty;
    const bool finished = start_from(parts_of(whole.problem, count), whole, options, progress, tried);
    if (tried.state.squares < fit.state.squares) fit = std::move(tried);
    if (!finished) return false;
  }
  return true;
}

}  // namespace sinew::skeleton
