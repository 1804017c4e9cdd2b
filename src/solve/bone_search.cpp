#include "solve/bone_search.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "solve/motion_clusters.h"
#include "solve/saved_fit.h"

namespace sinew {
namespace {

/// Adds bones where they would gain most, lets all settle, and takes away as many that matter least.
void breathe(const Problem& problem, const RunOptions& run_options, int added, std::uint64_t seed, FitState& state) {
  const int bones = state.bones();
  add_bones(state, propose_bones(problem, state, added, run_options.bones.transforms, seed));
  RunOptions settle = run_options;
  settle.iterations = 12;
  settle.tolerance = 0;
  run(problem, settle, state);
  shrink(problem, settle, bones, state);
}

/// Lets vertices have more influences for a while, then takes them back one by one.
void loosen(const Problem& problem, const RunOptions& run_options, FitState& state) {
  RunOptions settle = run_options;
  settle.iterations = 6;
  settle.tolerance = 0;
  for (int more = 3; more > 0; --more) {
    settle.influences = std::min(run_options.influences + more, state.bones());
    run(problem, settle, state);
  }
}

}  // namespace

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
                              std::uint64_t seed) {
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
    candidates.middleCols<4>(4 * c) = fit_vertices(problem, patch, transforms);
  }
  Eigen::MatrixXd chosen(state.D.rows(), 4 * count);
  Eigen::MatrixXd D = state.D;
  // Best of its own batch each: candidates of one batch compete, batches add up.
  for (int i = 0; i < count; ++i) {
    const Eigen::MatrixXd batch = candidates.middleCols(4 * kCandidates * i, 4 * kCandidates);
    const std::vector<double> gains = addition_gains(problem, D, state.weights, batch);
    const auto best = std::max_element(gains.begin(), gains.end()) - gains.begin();
    chosen.middleCols<4>(4 * i) = batch.middleCols<4>(4 * best);
  }
  return chosen;
}

void shrink(const Problem& problem, const RunOptions& run_options, int bones, FitState& state) {
  RunOptions settle = run_options;
  settle.iterations = 4;
  settle.tolerance = 0;
  while (state.bones() > bones) {
    const std::vector<double> costs = removal_costs(problem, bone_gram(problem, state.D), state.weights);
    remove_bone(state, static_cast<int>(std::min_element(costs.begin(), costs.end()) - costs.begin()));
    run(problem, settle, state);
  }
}

bool search_bones(const Problem& problem, const SearchOptions& options, FitState& state) {
  std::mt19937_64 random(options.seed);
  int first = 0;
  int failures = 0;
  if (const auto saved = resume(options.checkpoint, options.phase)) {
    state = saved_fit(saved->arrays, "", problem.frame_count(), problem.vertex_count());
    failures = static_cast<int>(saved_number(saved->arrays, "failures", 0, options.rounds));
    first = static_cast<int>(saved->step);
    for (int round = 0; round < first; ++round)
      if (round % 5 != 4) random();  // what the earlier run drew
  }
  for (int round = first; round < options.rounds && failures < options.patience; ++round, ++failures) {
    FitState trial = state;
    const int kind = round % 5;
    if (kind == 4) {
      loosen(problem, options.run, trial);
    } else {
      const int added = kind == 3 ? 1 + state.bones() / 5 : 1 + kind;
      breathe(problem, options.run, added, random(), trial);
    }
    RunOptions settle = options.run;
    settle.iterations = 30;
    settle.tolerance = 1e-4;
    run(problem, settle, trial);
    if (trial.value < state.value * (1 - 1e-3)) failures = -1;
    if (trial.value < state.value) std::swap(state, trial);
    keep(options.checkpoint, options.phase, round + 1, [&](SavedArrays& arrays) {
      save_fit(state, "", arrays);
      arrays["failures"] = numbers({static_cast<double>(failures + 1)});
    });
    if (options.keep_going && !options.keep_going(static_cast<double>(round + 1) / options.rounds)) return false;
  }
  return true;
}

}  // namespace sinew
