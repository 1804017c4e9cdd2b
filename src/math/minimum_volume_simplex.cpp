// Minimum-volume enclosing simplex by sequential quadratic programming in barycentric coordinates.
//
// The state is the matrix of barycentric coordinates A (h×N) of the current simplex. A step replaces it by X A with
// 1ᵀX = 1ᵀ; the volume shrinks by det X. Row x_j of X is the new functional that vanishes on facet j.

#include "math/minimum_volume_simplex.h"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "math/decompositions.h"
#include "math/facet_program.h"
#include "math/gemm.h"
#include "sinew/core/error.h"

namespace sinew {
namespace {

// Few corners have several local minima of which starts are cheap; many corners start once.
constexpr Eigen::Index kManyStartsUpTo = 8;
constexpr int kManyStarts = 10;

// Coordinates with zero mean and covariance I, whose axes the points themselves give: those of points that are
// stretched or turned are the same but for rounding, and so is what is found.
struct Whitened {
  Eigen::VectorXd mean;
  Eigen::MatrixXd back;  // points = mean + back · white
  Eigen::MatrixXd white;
};

// An orthonormal frame (d×d): the point farthest from the middle, then one after another the farthest from the span of
// those before.
Eigen::MatrixXd frame_of(const Eigen::MatrixXd& white) {
  Eigen::MatrixXd frame(white.rows(), white.rows());
  Eigen::MatrixXd rest = white;
  for (Eigen::Index k = 0; k < frame.cols(); ++k) {
    Eigen::Index farthest = 0;
    rest.colwise().squaredNorm().maxCoeff(&farthest);
    frame.col(k) = rest.col(farthest);
    for (int twice = 0; twice < 2; ++twice)
      frame.col(k) -= frame.leftCols(k) * (frame.leftCols(k).transpose() * frame.col(k)).eval();
    frame.col(k).normalize();
    rest -= frame.col(k) * (frame.col(k).transpose() * rest).eval();
  }
  return frame;
}

Whitened whiten(const Eigen::Ref<const Eigen::MatrixXd>& points) {
  Whitened result;
  result.mean = points.rowwise().mean();
  const Eigen::MatrixXd centred = points.colwise() - result.mean;
  const SymmetricEigen eigen =
      symmetric_eigen(Eigen::MatrixXd(centred * centred.transpose() / static_cast<double>(points.cols())));
  if (eigen.values.size() > 0 && !(eigen.values(0) > 1e-20 * eigen.values(eigen.values.size() - 1)))
    throw Error(ErrorKind::input,
                "minimum-volume simplex: the points span fewer dimensions than they have coordinates");
  const Eigen::VectorXd deviation = eigen.values.cwiseSqrt();
  result.back = eigen.vectors * deviation.asDiagonal();
  result.white = deviation.cwiseInverse().asDiagonal() * eigen.vectors.transpose() * centred;
  const Eigen::MatrixXd frame = frame_of(result.white);
  result.back = (result.back * frame).eval();
  result.white = (frame.transpose() * result.white).eval();
  return result;
}

Eigen::MatrixXd homogeneous(const Eigen::MatrixXd& points) {
  Eigen::MatrixXd result(points.rows() + 1, points.cols());
  result.topRows(points.rows()) = points;
  result.row(points.rows()).setOnes();
  return result;
}

// The points' far ends, one after another the farthest from the span of those before, blown up about their centre until
// everything is inside. The first is the farthest of all, or for later starts the farthest along some direction.
// Returns the barycentric functionals (h×h).
Eigen::MatrixXd start_functionals(const Eigen::MatrixXd& white, int start) {
  const Eigen::Index d = white.rows();
  const Eigen::Index h = d + 1;
  Eigen::MatrixXd corners(d, h);
  Eigen::Index farthest = 0;
  if (start == 0) {
    white.colwise().squaredNorm().maxCoeff(&farthest);
  } else {
    std::mt19937_64 generator(static_cast<std::uint64_t>(start));
    Eigen::VectorXd along(d);
    for (double& value : along) value = static_cast<double>(generator() >> 11) * 0x1p-53 - 0.5;
    (along.transpose() * white).maxCoeff(&farthest);
  }
  corners.col(0) = white.col(farthest);
  Eigen::MatrixXd rest = white.colwise() - corners.col(0);
  for (Eigen::Index k = 1; k < h; ++k) {
    rest.colwise().squaredNorm().maxCoeff(&farthest);
    corners.col(k) = white.col(farthest);
    const Eigen::VectorXd axis = rest.col(farthest).normalized();
    rest -= axis * (axis.transpose() * rest);
  }
  const Eigen::MatrixXd inverse = homogeneous(corners).inverse();
  const double lowest = std::min(0.0, (inverse * homogeneous(white)).minCoeff());
  // Barycentric w becomes (w + t) / (1 + h t), t = -lowest.
  const double t = -lowest * (1 + 1e-9) + 1e-9;
  Eigen::MatrixXd functionals = inverse;
  functionals.col(d).array() += t;
  return functionals / (1 + static_cast<double>(h) * t);
}

double penalty(const Eigen::MatrixXd& weights, double cost) {
  return std::isinf(cost) ? 0 : -cost * weights.cwiseMin(0).sum();
}

// Largest step towards X that leaves no point outside.
double feasible_step(const Eigen::MatrixXd& now, const Eigen::MatrixXd& next) {
  double step = 1;
  for (Eigen::Index i = 0; i < now.size(); ++i) {
    const double a = now.data()[i];
    const double b = next.data()[i];
    if (b < 0) step = std::min(step, std::max(a, 0.0) / (std::max(a, 0.0) - b));
  }
  return step;
}

// Where one start ends.
struct Descent {
  Eigen::MatrixXd functionals;  // h×h
  double objective = 0;         // log volume in white coordinates plus penalty
  int iterations = 0;
  bool converged = false;
};

Descent descend(const Eigen::MatrixXd& D, Eigen::MatrixXd functionals, double cost, const VolumeOptions& options) {
  const Eigen::Index h = D.rows();
  Descent result;
  Eigen::MatrixXd weights = functionals * D;
  FacetProgram program(static_cast<int>(h), cost);
  double objective = penalty(weights, cost);  // relative to the current volume
  Eigen::MatrixXd next(h, D.cols());
  const Eigen::MatrixXd I = Eigen::MatrixXd::Identity(h, h);
  while (result.iterations < options.max_iterations && !result.converged) {
    const Eigen::MatrixXd X = program.solve(weights, options.threads);
    gemm(Op::none, Op::none, 1.0, X, weights, 0.0, next, options.threads);
    double step = std::isinf(cost) ? feasible_step(weights, next) : 1;
    double change = 0;
    for (int attempt = 0; attempt < 30 && change <= 0; ++attempt) {
      if (attempt > 0) step *= 0.5;
      const double determinant = (I + step * (X - I)).determinant();
      if (determinant > 0)
        change = objective - penalty(weights + step * (next - weights), cost) + std::log(determinant);
    }
    result.converged = change <= options.tolerance;
    if (change <= 0) break;
    weights += step * (next - weights);
    functionals += step * ((X - I) * functionals);
    objective = penalty(weights, cost);
    ++result.iterations;
  }
  result.objective = objective - std::log(std::abs(functionals.determinant()));
  result.functionals = std::move(functionals);
  return result;
}

}  // namespace

EnclosingSimplex minimum_volume_simplex(const Eigen::Ref<const Eigen::MatrixXd>& points, const VolumeOptions& options) {
  const Eigen::Index h = points.rows() + 1;
  const Eigen::Index N = points.cols();
  if (N < h) throw Error(ErrorKind::input, "minimum-volume simplex: fewer points than corners");
  if (h == 1) {
    EnclosingSimplex single;
    single.corners.resize(0, 1);
    single.weights = Eigen::MatrixXd::Ones(1, N);
    single.converged = true;
    return single;
  }
  const double cost = options.outliers > 0 ? static_cast<double>(h - 1) / (options.outliers * static_cast<double>(N))
                                           : std::numeric_limits<double>::infinity();
  const Whitened data = whiten(points);
  const Eigen::MatrixXd D = homogeneous(data.white);
  const int starts = h <= kManyStartsUpTo ? kManyStarts : 1;
  Descent best;
  best.objective = std::numeric_limits<double>::infinity();
  for (int start = 0; start < starts; ++start) {
    Descent one = descend(D, start_functionals(data.white, start), cost, options);
    if (one.objective < best.objective) best = std::move(one);
  }
  EnclosingSimplex result;
  result.iterations = best.iterations;
  result.converged = best.converged;
  const Eigen::MatrixXd corners = best.functionals.inverse();
  result.corners = (data.back * corners.topRows(h - 1)).colwise() + data.mean;
  result.log_volume = std::log(std::abs(homogeneous(result.corners).determinant()));
  Eigen::MatrixXd weights = best.functionals * D;
  if (std::isinf(cost)) weights = weights.cwiseMax(0);
  result.weights = weights.array().rowwise() / weights.colwise().sum().array();
  return result;
}

}  // namespace sinew
