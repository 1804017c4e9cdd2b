#include "solve/skeleton/start.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "solve/lbs/saved_fit.h"
#include "solve/lbs/weight_samples.h"
#include "solve/skeleton/moves.h"
#include "solve/skeleton/soft.h"
#include "solve/skeleton/strict.h"
#include "solve/skeleton/tree.h"

namespace sinew::skeleton {

namespace {

constexpr double kStartSmoothness = 1e-4;  // of the weights, for bones to degenerate that are not needed
constexpr int kStartRounds = 30;           // under strict joints before starts are compared
constexpr int kTrialRounds = 4;            // before those that are behind are given up
constexpr double kBehind = 1.4;            // times the least E_RMS of the starts
constexpr double kFewestForBones = 1.2;    // clusters to start from, times the bones
constexpr double kMostForBones = 2.0;      // the same

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

SkeletonFit free_bones_of(const MotionClusters& clusters, const Whole& whole, const SkeletonFit& empty) {
  SkeletonFit fit = empty;
  fit.state.D = clusters.D;
  fit.state.weights = weights_at(weights_of(clusters, fit.influences), whole.chosen);
  free_iterations(fit);
  return fit;
}

void remove_cheapest(FitState& state, const Problem& problem, int count) {
  const std::vector<double> costs = removal_costs(problem, bone_gram(problem, state.D), state.weights);
  std::vector<std::pair<double, int>> order;
  for (int b = 0; b < state.bones(); ++b) order.emplace_back(costs[static_cast<std::size_t>(b)], b);
  std::sort(order.begin(), order.end());
  order.resize(static_cast<std::size_t>(count));
  std::sort(order.begin(), order.end(), [](const auto& x, const auto& y) { return x.second > y.second; });
  for (const auto& [cost, b] : order) remove_bone(state, b);
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
    remove_cheapest(fit.state, problem, (fit.state.bones() - most + 7) / 8);
    run(problem, options, fit.state);
  }
  options.iterations = 40;
  options.tolerance = 1e-3;
  run(problem, options, fit.state);
  update_weights(fit);
}

namespace {

/// Gives free bones a tree, then soft joints, under which those go that degenerate while more than `fewest` are left
/// [§3.9]. False: asked to stop.
bool joint_softly(SkeletonFit& fit, int iterations, int fewest, const Progress& progress) {
  fit.tree = adopt_edges(spanning_tree(fit.state, *fit.problem), fit.state);
  return soft_rigging(fit, iterations, fewest, progress);
}

/// Numbers of clusters to start from, a quarter of an octave apart so that other numbers of bones share them.
std::vector<std::size_t> cluster_numbers(int bones) {
  std::vector<std::size_t> out;
  for (int quarters = 0;; ++quarters) {
    const double count = std::round(std::exp2(quarters / 4.0));
    if (count > std::max(1.0, kMostForBones * bones)) return out;
    const bool fresh = out.empty() || static_cast<double>(out.back()) < count;
    if (count >= kFewestForBones * bones && fresh) out.push_back(static_cast<std::size_t>(count));
  }
}

}  // namespace

bool start_over_complete(const Whole& whole, const SkeletonOptions& options, const Progress& progress,
                         SkeletonFit& fit) {
  const MotionClusters clusters = parts_of(whole.problem, static_cast<std::size_t>(options.clusters));
  SkeletonFit smooth{&whole.problem, &whole.edges, {}, {}, fit.influences, kStartSmoothness, 1, 0};
  smooth.body = fit.body;
  smooth.state.D = clusters.D;
  smooth.state.weights = weights_of(clusters, fit.influences);
  free_iterations(smooth);
  const int fewest = options.keep_all_bones ? smooth.state.bones() : 1;
  const bool go_on = joint_softly(smooth, options.soft_iterations, fewest, progress);
  fit.tree = smooth.tree;
  fit.state.D = smooth.state.D;
  fit.state.weights = weights_at(smooth.state.weights, whole.chosen);
  update_weights(fit);
  strict_rounds(fit, 1, 12);
  return go_on && converge(fit, kStartRounds) != RunEnd::stopped;
}

Starts::Starts(const Whole& whole, const SkeletonOptions& options, const SkeletonFit& empty)
    : whole_(whole), soft_iterations_(options.soft_iterations), empty_(empty) {}

bool Starts::start_with(int bones, const Progress& progress, SkeletonFit& fit) {
  std::vector<SkeletonFit> tried;
  bool go_on = true;
  for (const std::size_t count : cluster_numbers(bones)) {
    tried.push_back(free_bones(count, bones));
    go_on = joint_softly(tried.back(), soft_iterations_, std::max(1, bones), progress);
    strict_rounds(tried.back(), 1, 12);
    if (!go_on) break;
    converge(tried.back(), kTrialRounds);
  }
  double least = std::numeric_limits<double>::infinity();
  for (const SkeletonFit& start : tried) least = std::min(least, start.e_rms());
  for (SkeletonFit& start : tried) {
    if (start.e_rms() > kBehind * least) continue;
    go_on = go_on && tell(progress, "search", 0);
    if (go_on) converge(start, kStartRounds - kTrialRounds);
    if (start.state.squares < fit.state.squares) fit = std::move(start);
  }
  return go_on;
}

void Starts::save(SavedArrays& arrays) const {
  Eigen::MatrixXd& counts = arrays["free clusters"] = Eigen::MatrixXd(2, static_cast<Eigen::Index>(free_.size()));
  Eigen::Index i = 0;
  for (const auto& [count, fit] : free_) {
    counts.col(i++) << static_cast<double>(count), static_cast<double>(fit.phase);
    save_fit(fit.state, fmt::format("free {} ", count), arrays);
  }
}

void Starts::take(const SavedArrays& arrays) {
  const Problem& problem = *empty_.problem;
  for (const auto& column : saved_array(arrays, "free clusters", 2, -1).colwise()) {
    const auto count = static_cast<std::size_t>(std::clamp(column(0), 1.0, 1e9));
    SkeletonFit& fit = free_.insert_or_assign(count, empty_).first->second;
    fit.phase = static_cast<int>(std::clamp(column(1), 0.0, 1e9));
    fit.state = saved_fit(arrays, fmt::format("free {} ", count), problem.frame_count(), problem.vertex_count());
  }
}

SkeletonFit Starts::free_bones(std::size_t clusters, int bones) {
  const auto [place, fresh] = free_.try_emplace(clusters, empty_);
  SkeletonFit& fit = place->second;
  if (fresh || fit.state.bones() < bones) fit = free_bones_of(parts_of(whole_.problem, clusters), whole_, fit);
  shrink_free(fit, bones);
  return fit;
}

}  // namespace sinew::skeleton
