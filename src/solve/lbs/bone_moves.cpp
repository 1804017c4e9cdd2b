#include "solve/lbs/bone_moves.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "solve/lbs/motion_clusters.h"

namespace sinew::lbs {
namespace {

constexpr double kShares[] = {1, 0.5, 0.25};  // of the weights that a new bone is fitted for
constexpr double kHorizon = 30;               // iterations at the present rate that a trial may need to overtake
constexpr int kLongest = 100;                 // iterations of a trial at most

void spend(const RunOptions& run, std::uint64_t work) {
  if (run.work != nullptr) run.work->done += work;
}

/// The motion that fits a patch best when it takes `share` of the weights there and the present ones keep the rest:
/// with c what the bones make of the patch now, a fit of (y − (1 − share) c) / share. A small share gives bones that
/// pull from beyond, as stretching by rigid bones needs.
Eigen::MatrixXd fit_beside(const Problem& problem, const FitState& state, const std::vector<Index>& patch, double share,
                           Transforms transforms) {
  const Problem part = problem.sample(patch);
  Eigen::MatrixXd motion = Eigen::MatrixXd::Zero(state.D.rows(), 4);
  MotionClusters one;
  one.labels.assign(patch.size(), 0);
  one.D = motion;
  SparseWeights weights = weights_of(one, 1);
  WeightSums sums;
  PassOptions sum_up;
  sum_up.keep_weights = true;
  weights_pass(part, bone_gram(part, motion), sum_up, weights, sums);
  Eigen::MatrixXd cross = Eigen::MatrixXd::Zero(state.D.cols(), 4);  // Σ (w ⊗ u) uᵀ
  for (const Index v : patch) {
    const Eigen::Vector4d u(problem.rest()(0, v), problem.rest()(1, v), problem.rest()(2, v), 1);
    for (std::size_t k = 0; k < state.weights.count[v]; ++k) {
      const std::size_t slot = state.weights.slot(v) + k;
      cross.middleRows<4>(4 * Eigen::Index{state.weights.bone[slot]}) += state.weights.value[slot] * u * u.transpose();
    }
  }
  sums.C = (sums.C - (1 - share) * (state.D * cross)) / share;
  BoneOptions bones;
  bones.sweeps = 1;
  update_bones(part, sums, bones, motion);
  if (transforms == Transforms::rigid) return motion;
  bones.transforms = transforms;
  bones.stretch_cost = 1e-3;
  update_bones(part, sums, bones, motion);
  return motion;
}

/// Adds bones where they would gain most, lets all settle, and takes away as many that matter least.
void breathe(const Problem& problem, const RunOptions& run_options, int added, const MovePace& pace, std::uint64_t seed,
             FitState& state) {
  const int bones = state.bones();
  spend(run_options, static_cast<std::uint64_t>(added) * comparison_work(problem, bones + 12));
  add_bones(state, propose_bones(problem, state, added, run_options.bones.transforms, kShares, seed));
  RunOptions settle = run_options;
  settle.iterations = pace.entered;
  settle.tolerance = 0;
  run(problem, settle, state);
  shrink(problem, settle, bones, pace.shrunk, state);
}

}  // namespace

void apply_move(const Problem& problem, const RunOptions& run_options, const Move& move, const MovePace& pace,
                std::uint64_t seed, FitState& state) {
  const auto with = [&](int more) {
    RunOptions loose = run_options;
    loose.influences = std::min(run_options.influences + more, state.bones());
    loose.iterations = pace.loosened;
    loose.tolerance = 0;
    return loose;
  };
  if (move.bones > 0) breathe(problem, with(move.influences), move.bones, pace, seed, state);
  for (int more = move.influences - (move.bones > 0 ? 1 : 0); more > 0; --more) run(problem, with(more), state);
}

void pursue(const Problem& problem, const RunOptions& run_options, double target, double tolerance, FitState& state) {
  RunOptions settle = run_options;
  settle.iterations = kLongest;
  settle.tolerance = tolerance;
  std::vector<double> history;
  settle.after = [&](const FitState& now) {
    history.push_back(now.value);
    const std::size_t n = history.size();
    return n < 7 || now.value - kHorizon * (history[n - 5] - now.value) / 4 < target;
  };
  run(problem, settle, state);
}

std::vector<Index> patch_around(const Problem& problem, std::size_t seed, std::size_t count) {
  const Eigen::Vector3d from = problem.rest().col(static_cast<Eigen::Index>(seed));
  std::vector<std::pair<double, Index>> order(problem.vertex_count());
  for (std::size_t v = 0; v < order.size(); ++v) {
    order[v] = {(problem.rest().col(static_cast<Eigen::Index>(v)) - from).squaredNorm(), static_cast<Index>(v)};
  }
  const std::size_t n = std::min(count, order.size());
  std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n - 1), order.end());
  std::vector<Index> patch(n);
  for (std::size_t i = 0; i < n; ++i) patch[i] = order[i].second;
  std::sort(patch.begin(), patch.end());
  return patch;
}

Eigen::MatrixXd propose_bones(const Problem& problem, const FitState& state, int count, Transforms transforms,
                              std::span<const double> shares, std::uint64_t seed) {
  constexpr int kCandidates = 12;
  std::mt19937_64 random(seed);
  std::vector<double> cumulative(problem.vertex_count());
  double sum = 0;
  for (std::size_t v = 0; v < cumulative.size(); ++v) cumulative[v] = sum += state.sums.residual[v];
  Eigen::MatrixXd candidates(state.D.rows(), 4 * kCandidates * count);
  const double share = static_cast<double>(problem.vertex_count()) / state.bones();
  for (int c = 0; c < kCandidates * count; ++c) {
    const double at = sum * std::generate_canonical<double, 53>(random);
    const auto v =
        std::min<std::ptrdiff_t>(std::lower_bound(cumulative.begin(), cumulative.end(), at) - cumulative.begin(),
                                 static_cast<std::ptrdiff_t>(cumulative.size()) - 1);
    const double size = share * std::exp2(-3.0 * std::generate_canonical<double, 53>(random));
    const auto patch =
        patch_around(problem, static_cast<std::size_t>(v), static_cast<std::size_t>(std::max(6.0, size)));
    candidates.middleCols<4>(4 * c) =
        fit_beside(problem, state, patch, shares[static_cast<std::size_t>(c) % shares.size()], transforms);
  }
  // Best of its own batch each, beside those chosen before.
  Eigen::MatrixXd chosen(state.D.rows(), 0);
  for (int i = 0; i < count; ++i) {
    Eigen::MatrixXd batch(state.D.rows(), chosen.cols() + 4 * kCandidates);
    batch << chosen, candidates.middleCols(4 * kCandidates * i, 4 * kCandidates);
    const std::vector<double> gains =
        addition_gains(problem, state.D, state.weights, batch, static_cast<std::size_t>(i));
    const auto best = std::max_element(gains.begin() + i, gains.end()) - gains.begin();
    chosen.conservativeResize(Eigen::NoChange, chosen.cols() + 4);
    chosen.rightCols<4>() = batch.middleCols<4>(4 * best);
  }
  return chosen;
}

void shrink(const Problem& problem, const RunOptions& run_options, int bones, int iterations, FitState& state) {
  RunOptions settle = run_options;
  settle.iterations = iterations;
  settle.tolerance = 0;
  while (state.bones() > bones) {
    const std::vector<double> costs = removal_costs(problem, bone_gram(problem, state.D), state.weights);
    spend(run_options, comparison_work(problem, state.bones()));
    remove_bone(state, static_cast<int>(std::min_element(costs.begin(), costs.end()) - costs.begin()));
    run(problem, settle, state);
  }
}

}  // namespace sinew::lbs
