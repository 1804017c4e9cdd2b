#include "solve/flats/gauss_newton.h"
#include "solve/flats/one_rings.h"

#include <Eigen/QR>
#include <cmath>
#include <random>

#include "support/support.h"

namespace sinew {
namespace {

using namespace flats;

double gaussian(std::mt19937_64& generator) {
  const auto uniform = [&] { return static_cast<double>(generator() >> 11) * 0x1p-53; };
  return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(2 * M_PI * uniform());
}

Eigen::MatrixXd random_matrix(Eigen::Index rows, Eigen::Index columns, std::mt19937_64& generator) {
  Eigen::MatrixXd result(rows, columns);
  for (double& value : result.reshaped()) value = gaussian(generator);
  return result;
}

/// Vertices that lie on a random flat of h handles up to noise.
struct Planted {
  FlatProblem problem;
  Eigen::MatrixXd rest;    // V×4
  Eigen::MatrixXd points;  // V×r
  Eigen::MatrixXd theta;
};

Planted plant(int vertices, int r, int h, double noise, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  Planted planted;
  planted.rest = random_matrix(vertices, 4, generator);
  planted.rest.col(3).setOnes();
  planted.theta = random_matrix(4 * h, r, generator);
  planted.points = noise * random_matrix(vertices, r, generator);
  for (Eigen::Index v = 0; v < vertices; ++v) {
    Eigen::MatrixXd map = planted.theta.topRows(4);
    for (int k = 1; k < h; ++k) map += gaussian(generator) * planted.theta.middleRows(4 * k, 4);
    planted.points.row(v) += planted.rest.row(v) * map;
  }
  planted.problem = make_flat_problem(planted.rest, planted.points);
  return planted;
}

/// A(v), r×(h-1).
Eigen::MatrixXd directions_at(const Planted& planted, const Eigen::MatrixXd& theta, Eigen::Index v) {
  const Eigen::Index directions = theta.rows() / 4 - 1;
  Eigen::MatrixXd A(theta.cols(), directions);
  for (Eigen::Index k = 0; k < directions; ++k)
    A.col(k) = (planted.rest.row(v) * theta.middleRows(4 * (k + 1), 4)).transpose();
  return A;
}

TEST(Flat, PlacesEveryVertexAsDenseLeastSquaresDoes) {
  const Planted planted = plant(700, 9, 4, 0.5, 1);
  std::mt19937_64 generator(2);
  const Eigen::MatrixXd theta = random_matrix(16, 9, generator);
  FlatFit fit;
  fit_flat(planted.problem, theta, 0, 1, fit);
  double distance = 0;
  for (Eigen::Index v = 0; v < 700; ++v) {
    const Eigen::MatrixXd A = directions_at(planted, theta, v);
    const Eigen::VectorXd y = (planted.points.row(v) - planted.rest.row(v) * theta.topRows(4)).transpose();
    const Eigen::VectorXd z = A.colPivHouseholderQr().solve(y);
    for (Eigen::Index k = 0; k < 3; ++k)
      EXPECT_NEAR(fit.z(static_cast<std::size_t>(v), static_cast<std::size_t>(k)), z(k), 1e-6 * (1 + z.norm())) << v;
    distance += (y - A * z).squaredNorm();
  }
  EXPECT_NEAR(fit.distance, distance, 1e-9 * distance);
}

TEST(Flat, TheGradientIsThatOfTheProjectedObjective) {
  const Planted planted = plant(300, 10, 4, 0.3, 3);
  std::mt19937_64 generator(4);
  const Eigen::MatrixXd theta = planted.theta + 0.2 * random_matrix(16, 10, generator);
  const Eigen::MatrixXd D = random_matrix(16, 10, generator);
  for (const double ridge : {0.0, 0.7}) {
    FlatFit fit;
    fit_flat(planted.problem, theta, ridge, 1, fit);
    double slope = 0;
    for (std::size_t v = 0; v < 300; ++v) {
      Eigen::MatrixXd map = D.topRows(4);
      for (int k = 0; k < 3; ++k) map += fit.z(v, static_cast<std::size_t>(k)) * D.middleRows(4 * (k + 1), 4);
      const Eigen::RowVectorXd image = planted.rest.row(static_cast<Eigen::Index>(v)) * map;
      for (int c = 0; c < 10; ++c) slope -= 2 * image(c) * fit.residual(v, static_cast<std::size_t>(c));
    }
    const double step = 1e-5;
    FlatFit plus, minus;
    fit_flat(planted.problem, theta + step * D, ridge, 1, plus);
    fit_flat(planted.problem, theta - step * D, ridge, 1, minus);
    EXPECT_NEAR((plus.objective - minus.objective) / (2 * step), slope, 1e-4 * std::abs(slope)) << ridge;
  }
}

TEST(Flat, KaufmansMatrixIsTheCurvatureOfTheObjectiveWhereTheDistanceIsZero) {
  const Planted planted = plant(400, 11, 4, 0, 5);
  std::mt19937_64 generator(6);
  const Eigen::MatrixXd D = random_matrix(16, 11, generator);
  FlatFit fit;
  fit_flat(planted.problem, planted.theta, 0, 1, fit);
  ASSERT_LT(fit.distance, 1e-18 * planted.points.squaredNorm());
  const double quadratic = D.cwiseProduct(gauss_newton_product(planted.problem, planted.theta, fit, D)).sum();
  const double step = 1e-4;
  FlatFit plus, minus;
  fit_flat(planted.problem, planted.theta + step * D, 0, 1, plus);
  fit_flat(planted.problem, planted.theta - step * D, 0, 1, minus);
  EXPECT_NEAR((plus.distance + minus.distance) / (2 * step * step), quadratic, 2e-3 * quadratic);
}

TEST(Flat, KaufmansProductProjectsEachVertexOffItsDirections) {
  const Planted planted = plant(150, 8, 3, 0.4, 7);
  std::mt19937_64 generator(8);
  const Eigen::MatrixXd D = random_matrix(12, 8, generator);
  FlatFit fit;
  fit_flat(planted.problem, planted.theta, 0, 1, fit);
  double expected = 0;
  for (Eigen::Index v = 0; v < 150; ++v) {
    Eigen::MatrixXd map = D.topRows(4);
    for (Eigen::Index k = 0; k < 2; ++k)
      map += fit.z(static_cast<std::size_t>(v), static_cast<std::size_t>(k)) * D.middleRows(4 * (k + 1), 4);
    const Eigen::VectorXd image = (planted.rest.row(v) * map).transpose();
    const Eigen::MatrixXd A = directions_at(planted, planted.theta, v);
    expected += (image - A * A.colPivHouseholderQr().solve(image)).squaredNorm();
  }
  EXPECT_NEAR(D.cwiseProduct(gauss_newton_product(planted.problem, planted.theta, fit, D)).sum(), expected,
              1e-4 * expected);
}

TEST(Flat, WhiteningKeepsTheFlatAndGivesUnitCovariance) {
  const Planted planted = plant(600, 9, 4, 0.2, 9);
  Eigen::MatrixXd theta = planted.theta;
  FlatFit fit;
  fit_flat(planted.problem, theta, 0, 1, fit);
  const double before = fit.distance;
  whiten_flat(planted.problem, fit, 1, theta);
  fit_flat(planted.problem, theta, 0, 1, fit);
  EXPECT_NEAR(fit.distance, before, 1e-9 * before);
  for (std::size_t j = 0; j < 3; ++j)
    for (std::size_t k = 0; k <= j; ++k) {
      double mean = 0, product = 0;
      for (std::size_t v = 0; v < 600; ++v) mean += fit.z(v, k) / 600, product += fit.z(v, j) * fit.z(v, k) / 600;
      EXPECT_NEAR(mean, 0, 1e-8);
      EXPECT_NEAR(product, j == k ? 1 : 0, 1e-8);
    }
}

TEST(Flat, AnAlternationNeverIncreasesTheDistance) {
  const Planted planted = plant(300, 9, 4, 0.1, 10);
  std::mt19937_64 generator(11);
  Eigen::MatrixXd theta = random_matrix(16, 9, generator);
  FlatFit fit;
  fit_flat(planted.problem, theta, 0, 1, fit);
  for (int n = 0; n < 8; ++n) {
    const double before = fit.distance;
    theta = alternate_flat(planted.problem, fit, 1);
    fit_flat(planted.problem, theta, 0, 1, fit);
    EXPECT_LE(fit.distance, before * (1 + 1e-12)) << n;
  }
}

// The experiment of [Liu2020, Fig. 3] at a small size: known flats are found from random starts.
TEST(Flat, PlantedFlatsOfEveryDimensionThatFitsAreReached) {
  for (const int r : {6, 9, 12})
    for (int h = 1; h <= 4; ++h) {
      SCOPED_TRACE(testing::Message() << "r " << r << ", h " << h);
      const Planted planted = plant(400, r, h, 0, static_cast<std::uint64_t>(100 * r + h));
      std::mt19937_64 generator(17);
      double least = 1e300;
      const double whole = planted.points.squaredNorm();
      for (int start = 0; start < 12 && least > 1e-12 * whole; ++start) {
        Eigen::MatrixXd theta = random_matrix(4 * h, r, generator);
        FlatFit fit;
        fit_flat(planted.problem, theta, 0, 1, fit);
        theta = alternate_flat(planted.problem, fit, 1);
        GaussNewtonOptions options;
        options.max_steps = 60;
        options.max_inner = 200;
        options.inner_tolerance = 1e-3;
        options.tolerance = 1e-6;
        options.threads = 1;
        gauss_newton_flat(planted.problem, options, theta, fit);
        least = std::min(least, fit.distance);
      }
      EXPECT_LT(least, 1e-12 * whole);
    }
}

TEST(Flat, MoreDirectionsThanCoordinatesReachEveryPoint) {
  const Planted planted = plant(100, 3, 2, 1, 12);
  std::mt19937_64 generator(13);
  FlatFit fit;
  fit_flat(planted.problem, random_matrix(4 * 7, 3, generator), 0, 1, fit);
  EXPECT_LT(fit.distance, 1e-12);
}

}  // namespace
}  // namespace sinew
