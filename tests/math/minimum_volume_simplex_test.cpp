#include "math/minimum_volume_simplex.h"

#include <Eigen/LU>
#include <cmath>
#include <random>

#include "support/support.h"

namespace sinew {
namespace {

double uniform(std::mt19937_64& generator) {
  return static_cast<double>(generator() >> 11) * 0x1p-53;
}

Eigen::MatrixXd random_points(Eigen::Index dimensions, Eigen::Index count, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  Eigen::MatrixXd points(dimensions, count);
  for (double& value : points.reshaped()) value = uniform(generator) + uniform(generator) - 0.7;
  points.row(0) *= 3;
  return points;
}

/// log |det| of the simplex whose facets have these outward normals (columns) and touch the points; infinite when they
/// do not bound one.
double log_volume_of_normals(const Eigen::MatrixXd& normals, const Eigen::MatrixXd& points) {
  const Eigen::Index d = points.rows();
  const Eigen::Index h = d + 1;
  const Eigen::VectorXd offsets = (normals.transpose() * points).rowwise().maxCoeff();
  Eigen::MatrixXd corners(h, h);
  for (Eigen::Index j = 0; j < h; ++j) {
    Eigen::MatrixXd A(d, d);
    Eigen::VectorXd b(d);
    for (Eigen::Index k = 0, n = 0; k < h; ++k)
      if (k != j) A.row(n) = normals.col(k).transpose(), b(n++) = offsets(k);
    const Eigen::FullPivLU<Eigen::MatrixXd> lu(A);
    if (!lu.isInvertible()) return std::numeric_limits<double>::infinity();
    corners.col(j).head(d) = lu.solve(b);
    corners(d, j) = 1;
    if (normals.col(j).dot(corners.col(j).head(d)) >= offsets(j)) return std::numeric_limits<double>::infinity();
  }
  // What encloses the points has volume; less is rounding of nearly parallel facets.
  const double volume = std::abs(corners.determinant());
  return volume > 1e-6 ? std::log(volume) : std::numeric_limits<double>::infinity();
}

/// Random search over facet normals with shrinking perturbations: slow and simple.
double brute_force(const Eigen::MatrixXd& points, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  const Eigen::Index d = points.rows();
  const auto gaussian = [&] {
    return std::sqrt(-2 * std::log(1 - uniform(generator))) * std::cos(2 * M_PI * uniform(generator));
  };
  double best = std::numeric_limits<double>::infinity();
  for (int start = 0; start < 12; ++start) {
    Eigen::MatrixXd normals(d, d + 1);
    double value = std::numeric_limits<double>::infinity();
    while (std::isinf(value)) {
      for (double& entry : normals.reshaped()) entry = gaussian();
      value = log_volume_of_normals(normals, points);
    }
    for (double size = 0.5; size > 1e-4; size *= 0.8)
      for (int attempt = 0; attempt < 200; ++attempt) {
        Eigen::MatrixXd trial = normals.colwise().normalized();
        for (double& entry : trial.reshaped()) entry += size * gaussian();
        const double trial_value = log_volume_of_normals(trial, points);
        if (trial_value < value) value = trial_value, normals = trial;
      }
    best = std::min(best, value);
  }
  return best;
}

TEST(MinimumVolumeSimplex, IsAsSmallAsBruteForceFindsInTwoAndThreeDimensions) {
  for (const Eigen::Index d : {2, 3})
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      SCOPED_TRACE(testing::Message() << d << " dimensions, seed " << seed);
      const Eigen::MatrixXd points = random_points(d, 40, seed);
      const EnclosingSimplex simplex = minimum_volume_simplex(points, {});
      const double reference = brute_force(points, seed + 100);
      EXPECT_TRUE(simplex.converged);
      EXPECT_GT(simplex.log_volume, reference - 0.02);  // brute force came within that of a minimum
      EXPECT_LT(simplex.log_volume, reference + 0.15);  // and ours is a local one
    }
}

TEST(MinimumVolumeSimplex, EnclosesEveryPointWithItsBarycentricCoordinates) {
  const Eigen::MatrixXd points = random_points(5, 300, 3);
  const EnclosingSimplex simplex = minimum_volume_simplex(points, {});
  EXPECT_GE(simplex.weights.minCoeff(), 0);
  EXPECT_LT((simplex.weights.colwise().sum().array() - 1).abs().maxCoeff(), 1e-12);
  EXPECT_LT((simplex.corners * simplex.weights - points).cwiseAbs().maxCoeff(), 1e-6);
  // Every facet touches the points.
  for (Eigen::Index j = 0; j < 6; ++j) EXPECT_LT(simplex.weights.row(j).minCoeff(), 1e-6) << j;
}

TEST(MinimumVolumeSimplex, RecoversTheCornersThatMixedPointsCameFrom) {
  // Mixtures of few corners each, none pure: the classical case of unmixing.
  std::mt19937_64 generator(5);
  const Eigen::Index d = 6;
  const Eigen::MatrixXd corners = random_points(d, d + 1, 8);
  Eigen::MatrixXd weights = Eigen::MatrixXd::Zero(d + 1, 3000);
  for (Eigen::Index i = 0; i < weights.cols(); ++i) {
    for (int k = 0; k < 3; ++k) weights(static_cast<Eigen::Index>(generator() % 7), i) += uniform(generator);
    weights.col(i) /= weights.col(i).sum();
    weights.col(i) = 0.97 * weights.col(i).cwiseMin(0.9);
    weights.col(i) /= weights.col(i).sum();
  }
  const EnclosingSimplex simplex = minimum_volume_simplex(corners * weights, {});
  for (Eigen::Index j = 0; j <= d; ++j)
    EXPECT_LT((simplex.corners.colwise() - corners.col(j)).colwise().norm().minCoeff(), 1e-4) << j;
}

TEST(MinimumVolumeSimplex, StretchingThePointsOnlyStretchesTheSimplex) {
  const Eigen::MatrixXd points = random_points(4, 200, 9);
  Eigen::MatrixXd stretch = Eigen::MatrixXd::Identity(4, 4);
  stretch(0, 0) = 50;
  stretch(1, 2) = 3;
  const EnclosingSimplex plain = minimum_volume_simplex(points, {});
  const EnclosingSimplex stretched = minimum_volume_simplex(stretch * points, {});
  EXPECT_NEAR(stretched.log_volume - plain.log_volume, std::log(stretch.determinant()), 0.05);
}

TEST(MinimumVolumeSimplex, LeavesNoMoreOutliersBeyondAFacetThanAskedFor) {
  Eigen::MatrixXd points = random_points(4, 1000, 11);
  for (Eigen::Index i = 0; i < 5; ++i) points.col(200 * i) *= 20;
  VolumeOptions options;
  const double all = minimum_volume_simplex(points, options).log_volume;
  options.outliers = 0.02;
  const EnclosingSimplex most = minimum_volume_simplex(points, options);
  EXPECT_LT(most.log_volume, all - 3);
  for (Eigen::Index j = 0; j < 5; ++j) EXPECT_LE((most.weights.row(j).array() < -1e-6).count(), 20) << j;
  EXPECT_GT((most.weights.colwise().minCoeff().array() < -0.1).count(), 0);
}

TEST(MinimumVolumeSimplex, OneCornerNeedsNoCoordinates) {
  const EnclosingSimplex simplex = minimum_volume_simplex(Eigen::MatrixXd(0, 7), {});
  EXPECT_EQ(simplex.corners.cols(), 1);
  EXPECT_EQ(simplex.weights, Eigen::MatrixXd::Ones(1, 7));
}

TEST(MinimumVolumeSimplex, RefusesPointsThatSpanTooLittle) {
  Eigen::MatrixXd points = random_points(3, 30, 2);
  points.row(2).setZero();
  test::expect_error(ErrorKind::input, "span fewer dimensions", [&] { minimum_volume_simplex(points, {}); });
  test::expect_error(ErrorKind::input, "fewer points than corners",
                     [&] { minimum_volume_simplex(random_points(3, 3, 2), {}); });
}

}  // namespace
}  // namespace sinew
