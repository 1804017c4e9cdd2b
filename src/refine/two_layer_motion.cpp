#include <Eigen/Cholesky>
#include <Eigen/Geometry>

#include "core/index.h"
#include "math/parallel.h"
#include "refine/two_layer_solver.h"

namespace sinew::two_layer {
namespace {

constexpr std::size_t kMotionGrain = 1024;
constexpr double kMotionRidge = 1e-7;  // of the mean diagonal of S

/// S = Σ x xᵀ and C = Σ r xᵀ over vertices, x_v = (D α_v) ⊗ p̃_v and r_v what the present motion leaves of v.
struct Sums {
  MatrixXd S;  // 4B×4B
  MatrixXd C;  // 3F×4B
};

Sums sums_over(const State& state, const MatrixXd& T, const Rig& rig, const Sequence& examples, double scale,
               std::size_t begin, std::size_t end) {
  const Eigen::Index B = state.D.rows();
  const auto count = index(end - begin);
  MatrixXd X(4 * B, count);
  MatrixXd R(T.rows(), count);
  VectorXd x(B);
  for (Eigen::Index i = 0; i < count; ++i) {
    const std::size_t v = begin + static_cast<std::size_t>(i);
    const Code& code = state.codes[v];
    x.setZero();
    for (int s = 0; s < code.count; ++s) x += code.values[s] * state.D.col(index(code.atoms[s]));
    const Eigen::Vector4d p = (rig.rest.positions.col(index(v)).cast<double>() / scale).homogeneous();
    for (Eigen::Index b = 0; b < B; ++b) X.col(i).segment<4>(4 * b) = x[b] * p;
  }
  for (std::size_t f = 0; f < rig.frame_count(); ++f)
    R.middleRows(index(3 * f), 3) = examples.frames[f].middleCols(index(begin), count).cast<double>() / scale;
  R.noalias() -= T * X;
  return {X * X.transpose(), R * X.transpose()};
}

}  // namespace

void refit_motion(const State& state, const Sequence& examples, double scale, int threads, Rig& rig) {
  MatrixXd T = stacked_motion(rig, scale);
  const Eigen::Index n = T.cols();
  Sums sums = parallel_reduce(
      rig.vertex_count(), kMotionGrain, threads, Sums{MatrixXd::Zero(n, n), MatrixXd::Zero(T.rows(), n)},
      [&](std::size_t begin, std::size_t end) { return sums_over(state, T, rig, examples, scale, begin, end); },
      [](Sums total, const Sums& part) {
        total.S += part.S;
        total.C += part.C;
        return total;
      });
  sums.S.diagonal().array() += kMotionRidge * sums.S.trace() / static_cast<double>(n) + 1e-300;
  T += sums.S.llt().solve(sums.C.transpose()).transpose();
  if (!T.allFinite()) return;
  for (std::size_t f = 0; f < rig.frame_count(); ++f)
    for (std::size_t b = 0; b < rig.bone_count(); ++b) {
      rig.motion(f, b) = T.block<3, 4>(index(3 * f), index(4 * b)).cast<float>();
      rig.motion(f, b).col(3) *= static_cast<float>(scale);
    }
}

}  // namespace sinew::two_layer
