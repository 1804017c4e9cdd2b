#include "solve/ssdr/surface.h"

#include "core/index.h"
#include "math/parallel.h"

namespace sinew::ssdr {
namespace {

constexpr std::size_t kGrain = 256;  // vertices
constexpr int kInner = 3;            // iterations between two looks at the residuals

/// y − D x of every vertex, in the rows of the problem.
Eigen::MatrixXf residuals(const Problem& problem, const FitState& state) {
  const Eigen::MatrixXf D = in_rows(problem, state.D);
  Eigen::MatrixXf R(index(problem.row_count()), index(problem.vertex_count()));
  parallel_for(problem.vertex_count(), kGrain, problem.threads(), [&](std::size_t begin, std::size_t end) {
    std::vector<float> scratch;
    const float* y = problem.block(begin, end - begin, scratch);
    for (std::size_t v = begin; v < end; ++v, y += problem.row_count()) {
      auto r = R.col(index(v));
      r = Eigen::Map<const Eigen::VectorXf>(y, R.rows());
      const Eigen::Vector3f p = problem.rest().col(index(v)).cast<float>();
      const Eigen::Vector4f u(p[0], p[1], p[2], 1);
      for (std::size_t k = 0; k < state.weights.count[v]; ++k) {
        const std::size_t slot = state.weights.slot(v) + k;
        r.noalias() -= D.middleCols<4>(4 * Eigen::Index{state.weights.bone[slot]}) * (state.weights.value[slot] * u);
      }
    }
  });
  return R;
}

/// What the vertices aim at in the next round, and how much each of them counts.
Problem aimed(const Problem& problem, double strength, const Eigen::MatrixXf& R) {
  const Adjacency& adjacency = problem.adjacency();
  Eigen::MatrixXf targets(R.rows(), R.cols());
  std::vector<double> importance(problem.vertex_count());
  parallel_for(problem.vertex_count(), kGrain, problem.threads(), [&](std::size_t begin, std::size_t end) {
    std::vector<float> scratch;
    const float* y = problem.block(begin, end - begin, scratch);
    for (std::size_t v = begin; v < end; ++v, y += problem.row_count()) {
      auto target = targets.col(index(v));
      target = Eigen::Map<const Eigen::VectorXf>(y, R.rows());
      const auto n = static_cast<double>(adjacency.starts[v + 1] - adjacency.starts[v]);
      importance[v] = 1 + 2 * strength * n;
      const auto pull = static_cast<float>(strength / importance[v]);  // θ / 2n
      for (const Index w : adjacency[v]) target -= pull * (R.col(index(v)) + R.col(index(w)));
    }
  });
  return problem.aimed_at(std::move(targets), std::move(importance));
}

}  // namespace

void smooth_surface(const Problem& problem, const RunOptions& run_options, double strength, int rounds,
                    FitState& state) {
  if (!(strength > 0) || problem.adjacency().neighbors.empty()) return;
  RunOptions once = run_options;
  once.iterations = kInner;
  once.tolerance = 0;
  once.checkpoint = nullptr;
  once.after = nullptr;
  for (int round = 0; round < rounds; ++round) {
    const Problem next = aimed(problem, strength, residuals(problem, state));
    run(next, once, state);
    if (run_options.after) {
      state.squares = squares_of(problem, state);
      if (!run_options.after(state)) return;
    }
  }
  state.squares = state.value = squares_of(problem, state);
}

}  // namespace sinew::ssdr
