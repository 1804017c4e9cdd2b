#include "refine/two_layer_metric.h"

#include <Eigen/Geometry>
#include <algorithm>

#include "core/index.h"
#include "math/gemm.h"
#include "math/parallel.h"
#include "math/simplex.h"

namespace sinew::two_layer {
namespace {

constexpr std::size_t kMetricGrain = 256;

// The ten products of a symmetric 4×4, in the order of S's columns.
constexpr int kRow[10] = {0, 1, 2, 3, 0, 0, 0, 1, 1, 2};
constexpr int kColumn[10] = {0, 1, 2, 3, 1, 2, 3, 2, 3, 3};

}  // namespace

MatrixXd stacked_motion(const Rig& rig, double scale) {
  const auto F = index(rig.frame_count());
  const auto B = index(rig.bone_count());
  MatrixXd T(3 * F, 4 * B);
  for (Eigen::Index f = 0; f < F; ++f)
    for (Eigen::Index b = 0; b < B; ++b) {
      T.block<3, 4>(3 * f, 4 * b) = rig.motion(static_cast<std::size_t>(f), static_cast<std::size_t>(b)).cast<double>();
      T.block<3, 1>(3 * f, 4 * b + 3) /= scale;
    }
  return T;
}

void WeightMetric::gram(std::size_t v, const Eigen::Ref<const MatrixXd>& atoms, Eigen::Ref<MatrixXd> K,
                        MatrixXd& scratch) const {
  const Eigen::Index P = atoms.cols();
  auto U = scratch.leftCols(P);
  U = atoms.colwise() - W_.col(index(v)).cast<double>();
  for (Eigen::Index a = 0; a < P; ++a)
    for (Eigen::Index b = 0; b <= a; ++b) K(a, b) = K(b, a) = U.col(a).dot(U.col(b));
}

ExampleMetric::ExampleMetric(const Rig& rig, const Sequence& examples, double scale, MatrixXf W, int threads)
    : bones_(rig.bone_count()), W_(std::move(W)), bound_(rig.vertex_count(), 0.0) {
  update_motion(rig, examples, scale, threads);
  optimise_targets(threads);
}

void ExampleMetric::update_motion(const Rig& rig, const Sequence& examples, double scale, int threads) {
  build_table(rig, scale);
  build_linear(rig, examples, scale, threads);
}

void ExampleMetric::build_table(const Rig& rig, double scale) {
  const auto B = index(bones_);
  const MatrixXd T = stacked_motion(rig, scale);
  MatrixXd M(4 * B, 4 * B);
  gemm(Op::transpose, Op::none, 1.0, T, T, 0.0, M);
  S_.resize(B * B, 10);
  for (Eigen::Index b = 0; b < B; ++b)
    for (Eigen::Index a = 0; a < B; ++a)
      for (int e = 0; e < 10; ++e) {
        const double value = M(4 * a + kRow[e], 4 * b + kColumn[e]);
        const double mirrored = M(4 * a + kColumn[e], 4 * b + kRow[e]);
        S_(b * B + a, e) = e < 4 ? value : value + mirrored;
      }
  q_.resize(10, rig.rest.positions.cols());
  for (Eigen::Index v = 0; v < q_.cols(); ++v) {
    const Eigen::Vector4d p = (rig.rest.positions.col(v).cast<double>() / scale).homogeneous();
    for (int e = 0; e < 10; ++e) q_(e, v) = p[kRow[e]] * p[kColumn[e]];
  }
}

void ExampleMetric::build_linear(const Rig& rig, const Sequence& examples, double scale, int threads) {
  const auto V = index(rig.vertex_count());
  const auto F = index(rig.frame_count());
  const auto B = index(bones_);
  const MatrixXd T = stacked_motion(rig, scale);
  g_.resize(B, V);
  square_.resize(V);
  parallel_for(static_cast<std::size_t>(V), kMetricGrain, threads, [&](std::size_t begin, std::size_t end) {
    const auto count = index(end - begin);
    MatrixXd X(3 * F, count);
    for (Eigen::Index f = 0; f < F; ++f)
      X.middleRows(3 * f, 3) =
          examples.frames[static_cast<std::size_t>(f)].middleCols(index(begin), count).cast<double>() / scale;
    MatrixXd Y(4 * B, count);
    gemm_block(Op::transpose, Op::none, static_cast<int>(4 * B), static_cast<int>(count), static_cast<int>(3 * F), 1.0,
               T.data(), static_cast<int>(3 * F), X.data(), static_cast<int>(3 * F), 0.0, Y.data(),
               static_cast<int>(4 * B));
    for (Eigen::Index i = 0; i < count; ++i) {
      const Eigen::Index v = index(begin) + i;
      const Eigen::Vector4d p = (rig.rest.positions.col(v).cast<double>() / scale).homogeneous();
      for (Eigen::Index b = 0; b < B; ++b) g_(b, v) = Y.col(i).segment<4>(4 * b).dot(p);
      square_[v] = X.col(i).squaredNorm();
    }
  });
}

void ExampleMetric::optimise_targets(int threads) {
  const auto B = index(bones_);
  parallel_for(bound_.size(), kMetricGrain, threads, [&](std::size_t begin, std::size_t end) {
    SimplexWorkspace workspace;
    MatrixXd G(B, B);
    VectorXd x(B);
    for (std::size_t v = begin; v < end; ++v) {
      const auto column = index(v);
      Eigen::Map<VectorXd>(G.data(), B * B).noalias() = S_ * q_.col(column);
      x = W_.col(column).cast<double>();
      simplex_least_squares(G, g_.col(column), x, workspace);
      W_.col(column) = x.cast<float>();
      bound_[v] = std::max(0.0, x.dot(G * x) - 2 * g_.col(column).dot(x) + square_[column]);
    }
  });
}

void ExampleMetric::form(std::size_t v, MatrixXd& Q) const {
  const auto B = index(bones_);
  const auto column = index(v);
  Q.resize(B, B);
  Eigen::Map<VectorXd>(Q.data(), B * B).noalias() = S_ * q_.col(column);
  for (Eigen::Index b = 0; b < B; ++b)
    Q.col(b) += (square_[column] - g_(b, column)) * VectorXd::Ones(B) - g_.col(column);
}

void ExampleMetric::gram(std::size_t v, const Eigen::Ref<const MatrixXd>& atoms, Eigen::Ref<MatrixXd> K,
                         MatrixXd& scratch) const {
  form(v, scratch);
  K.noalias() = atoms.transpose() * (scratch * atoms);
}

}  // namespace sinew::two_layer
