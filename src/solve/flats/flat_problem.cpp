#include "solve/flats/flat_problem.h"

#include <cmath>

#include "math/decompositions.h"
#include "math/gemm.h"
#include "math/parallel.h"
#include "sinew/core/bounds.h"
#include "sinew/evaluate/errors.h"
#include "solve/flats/kernels.h"

namespace sinew::flats {
namespace {

// Rest positions (N×4, homogeneous) and frame positions (N×3F), scaled.
struct Scaled {
  Eigen::MatrixXd rest;
  Eigen::MatrixXd frames;
};

Scaled scaled(const Sequence& sequence, const Sphere& sphere) {
  const auto V = static_cast<Eigen::Index>(sequence.vertex_count());
  const auto F = static_cast<Eigen::Index>(sequence.frame_count());
  Scaled result{Eigen::MatrixXd(V, 4), Eigen::MatrixXd(V, 3 * F)};
  const Eigen::RowVector3d center = sphere.center.transpose();
  result.rest.leftCols<3>() = (sequence.rest.positions.transpose().cast<double>().rowwise() - center) / sphere.radius;
  result.rest.col(3).setOnes();
  for (Eigen::Index f = 0; f < F; ++f)
    result.frames.middleCols<3>(3 * f) =
        (sequence.frames[static_cast<std::size_t>(f)].transpose().cast<double>().rowwise() - center) / sphere.radius;
  return result;
}

VertexBlocks<double> blocked(const Eigen::Ref<const Eigen::MatrixXd>& values) {
  VertexBlocks<double> result(static_cast<std::size_t>(values.rows()), static_cast<int>(values.cols()));
  for (std::size_t b = 0; b < result.block_count(); ++b) {
    const auto first = static_cast<Eigen::Index>(b * kBlock);
    const Eigen::Index count = std::min<Eigen::Index>(kBlock, values.rows() - first);
    Eigen::Map<Eigen::MatrixXd>(result.block(b), kBlock, values.cols()).topRows(count) =
        values.middleRows(first, count);
  }
  return result;
}

// Principal directions of the columns' span (n×r), largest first, and what the rest of them holds.
Eigen::MatrixXd principal_directions(const Eigen::MatrixXd& points, double allowed, double& truncated) {
  Eigen::MatrixXd gram = Eigen::MatrixXd::Zero(points.cols(), points.cols());
  const int n = static_cast<int>(points.cols());
  gemm_block(Op::transpose, Op::none, n, n, static_cast<int>(points.rows()), 1.0, points.data(),
             static_cast<int>(points.rows()), points.data(), static_cast<int>(points.rows()), 0.0, gram.data(), n);
  const SymmetricEigen eigen = symmetric_eigen(gram);
  const Eigen::VectorXd& values = eigen.values;  // ascending
  truncated = 0;
  Eigen::Index dropped = 0;
  while (dropped + 1 < values.size() && truncated + std::max(0.0, values(dropped)) <= allowed)
    truncated += std::max(0.0, values(dropped++));
  return eigen.vectors.rightCols(values.size() - dropped).rowwise().reverse();
}

}  // namespace

double FlatProblem::e_rms(double sum_of_squares) const {
  const double count = 3.0 * static_cast<double>(vertices) * static_cast<double>(frames);
  return 1000 * std::sqrt(sum_of_squares / count) / radius;
}

FlatProblem make_flat_problem(const Sequence& sequence, double truncation, FlatUnit unit) {
  FlatProblem problem;
  problem.vertices = sequence.vertex_count();
  problem.frames = sequence.frame_count();
  const Sphere sphere = smallest_enclosing_sphere(sequence.rest.positions);
  problem.center = sphere.center;
  problem.scale = sphere.radius > 0 ? sphere.radius : 1;
  if (unit == FlatUnit::box && sphere.radius > 0) {
    const Points& rest = sequence.rest.positions;
    problem.center = rest.cast<double>().rowwise().mean();
    problem.scale = (rest.rowwise().maxCoeff() - rest.rowwise().minCoeff()).cast<double>().norm() / 2;
    problem.radius = sphere.radius / problem.scale;
  }
  Scaled data = scaled(sequence, {problem.center, problem.scale});
  const Eigen::MatrixXd W = whitening(data.rest.transpose() * data.rest);
  problem.base = W * (W.transpose() * (data.rest.transpose() * data.frames));
  // Largest coordinate in the input's unit: its last float32 digit bounds what rounding did to any of them.
  float largest = sequence.rest.positions.cwiseAbs().maxCoeff();
  for (const float value : sequence.frames.data()) largest = std::max(largest, std::abs(value));
  const double digit = static_cast<double>(largest) / problem.scale * 0x1p-23;
  problem.floor = digit * digit * 3.0 * static_cast<double>(problem.vertices * problem.frames);
  data.frames -= data.rest * problem.base;
  const double left_out = truncation * problem.radius / 1000;
  const double allowed = left_out * left_out * 3.0 * static_cast<double>(problem.vertices * problem.frames);
  problem.directions = principal_directions(data.frames, allowed, problem.truncated);
  problem.rank = static_cast<int>(problem.directions.cols());
  problem.reduced_base = problem.base * problem.directions;
  problem.rest = blocked(data.rest);
  problem.points = blocked(data.frames * problem.directions);
  return problem;
}

FlatProblem make_flat_problem(const Eigen::Ref<const Eigen::MatrixXd>& rest,
                              const Eigen::Ref<const Eigen::MatrixXd>& points) {
  FlatProblem problem;
  problem.vertices = static_cast<std::size_t>(rest.rows());
  problem.frames = static_cast<std::size_t>(std::max<Eigen::Index>(1, points.cols() / 3));
  problem.rank = static_cast<int>(points.cols());
  problem.rest = blocked(rest);
  problem.points = blocked(points);
  problem.directions = Eigen::MatrixXd::Identity(points.cols(), points.cols());
  problem.base = Eigen::MatrixXd::Zero(4, points.cols());
  problem.reduced_base = problem.base;
  return problem;
}

}  // namespace sinew::flats
