#include "math/simplex.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <limits>
#include <random>

namespace sinew {
namespace {

struct Qp {
  Eigen::MatrixXd G;
  Eigen::VectorXd g;

  double objective(const Eigen::VectorXd& x) const { return x.dot(G * x) - 2 * g.dot(x); }
};

/// Columns of A may be fewer in rank than in number: then G is singular.
Qp random_qp(std::mt19937& random, int n, int rows, bool repeat_column) {
  std::normal_distribution<double> normal;
  Eigen::MatrixXd A = Eigen::MatrixXd::NullaryExpr(rows, n, [&] { return normal(random); });
  if (repeat_column && n > 1) A.col(n - 1) = A.col(0);
  const Eigen::VectorXd b = Eigen::VectorXd::NullaryExpr(rows, [&] { return normal(random); });
  return {A.transpose() * A, A.transpose() * b};
}

/// The optimum by trying every support: the equality-constrained minimiser of each, if it is feasible.
double brute_force(const Qp& qp) {
  const int n = static_cast<int>(qp.g.size());
  double best = std::numeric_limits<double>::infinity();
  for (int mask = 1; mask < (1 << n); ++mask) {
    std::vector<int> on;
    for (int i = 0; i < n; ++i) {
      if ((mask >> i & 1) != 0) on.push_back(i);
    }
    const auto m = static_cast<Eigen::Index>(on.size());
    Eigen::MatrixXd kkt = Eigen::MatrixXd::Zero(m + 1, m + 1);
    Eigen::VectorXd rhs(m + 1);
    for (Eigen::Index a = 0; a < m; ++a) {
      for (Eigen::Index b = 0; b < m; ++b) kkt(a, b) = qp.G(on[a], on[b]);
      kkt(a, m) = kkt(m, a) = 1;
      rhs[a] = qp.g[on[a]];
    }
    rhs[m] = 1;
    const Eigen::VectorXd solution = kkt.completeOrthogonalDecomposition().solve(rhs);
    if ((kkt * solution - rhs).norm() > 1e-8 || solution.head(m).minCoeff() < -1e-12) continue;
    Eigen::VectorXd x = Eigen::VectorXd::Zero(n);
    for (Eigen::Index a = 0; a < m; ++a) x[on[a]] = solution[a];
    best = std::min(best, qp.objective(x));
  }
  return best;
}

TEST(SimplexLeastSquares, AgreesWithBruteForceOverThousandsOfProblems) {
  std::mt19937 random(21);
  std::uniform_real_distribution<double> uniform(0, 1);
  SimplexWorkspace workspace;
  for (int trial = 0; trial < 6000; ++trial) {
    const int n = 1 + trial % 7;
    const int rows = 1 + (trial / 7) % 9;
    const Qp qp = random_qp(random, n, rows, trial % 5 == 0);
    Eigen::VectorXd x = Eigen::VectorXd::NullaryExpr(n, [&] { return uniform(random) < 0.5 ? 0.0 : uniform(random); });
    const double value = simplex_least_squares(qp.G, qp.g, x, workspace);
    ASSERT_GE(x.minCoeff(), 0) << trial;
    ASSERT_NEAR(x.sum(), 1, 1e-12) << trial;
    ASSERT_NEAR(value, qp.objective(x), 1e-10 * (1 + qp.G.norm())) << trial;
    ASSERT_NEAR(value, brute_force(qp), 1e-9 * (1 + qp.G.norm())) << trial << " n " << n << " rows " << rows;
  }
}

TEST(SimplexLeastSquares, LargeProblemsSatisfyTheOptimalityConditions) {
  std::mt19937 random(22);
  SimplexWorkspace workspace;
  for (int trial = 0; trial < 60; ++trial) {
    const int n = 20 + 2 * trial;
    const Qp qp = random_qp(random, n, trial % 2 == 0 ? 30 : 400, trial % 3 == 0);
    Eigen::VectorXd x = Eigen::VectorXd::Ones(n);
    simplex_least_squares(qp.G, qp.g, x, workspace);
    const Eigen::VectorXd gradient = qp.G * x - qp.g;
    const double multiplier = x.dot(gradient);
    const double tolerance = 1e-8 * qp.G.norm();
    for (int i = 0; i < n; ++i) {
      EXPECT_GE(gradient[i], multiplier - tolerance) << trial << " entry " << i;
      if (x[i] > 1e-9) {
        EXPECT_NEAR(gradient[i], multiplier, tolerance) << trial << " entry " << i;
      }
    }
  }
}

TEST(SimplexLeastSquares, RecoversPlantedWeightsFromAnyStart) {
  std::mt19937 random(23);
  std::normal_distribution<double> normal;
  const Eigen::MatrixXd A = Eigen::MatrixXd::NullaryExpr(30, 9, [&] { return normal(random); });
  Eigen::VectorXd truth = Eigen::VectorXd::Zero(9);
  truth[1] = 0.1, truth[4] = 0.65, truth[7] = 0.25;
  const Eigen::MatrixXd G = A.transpose() * A;
  const Eigen::VectorXd g = A.transpose() * (A * truth);
  SimplexWorkspace workspace;
  for (int start = 0; start < 9; ++start) {
    Eigen::VectorXd x = Eigen::VectorXd::Unit(9, start);
    simplex_least_squares(G, g, x, workspace);
    EXPECT_LT((x - truth).cwiseAbs().maxCoeff(), 1e-12) << start;
  }
}

TEST(SimplexLeastSquares, AllZeroProblemAndStartStillGiveAPointOfTheSimplex) {
  SimplexWorkspace workspace;
  Eigen::VectorXd x = Eigen::VectorXd::Zero(4);
  simplex_least_squares(Eigen::MatrixXd::Zero(4, 4), Eigen::VectorXd::Zero(4), x, workspace);
  EXPECT_NEAR(x.sum(), 1, 1e-15);
  EXPECT_GE(x.minCoeff(), 0);
}

TEST(SimplexLeastSquares, ColumnsThatDifferByRoundingAloneGiveAPointOfTheSimplex) {
  // Of four bones that stand still: the differences of these numbers are rounding, some negative.
  Eigen::Matrix4d G;
  G << 3.1909731173801754, 3.1909731173801745, 3.1909731173801732, 3.1909731173801741,  //
      3.1909731173801745, 3.1909731173801732, 3.1909731173801719, 3.1909731173801732,   //
      3.1909731173801732, 3.1909731173801719, 3.1909731173801701, 3.1909731173801714,   //
      3.1909731173801741, 3.1909731173801732, 3.1909731173801714, 3.1909731173801723;
  const Eigen::Vector4d g(3.1909731173801745, 3.1909731173801732, 3.1909731173801719, 3.1909731173801728);
  Eigen::VectorXd x = Eigen::Vector4d(0.232236207, 0.207225889, 0.326315254, 0.234222651);
  SimplexWorkspace workspace;
  simplex_least_squares(G, g, x, workspace);
  EXPECT_GE(x.minCoeff(), 0);
  EXPECT_NEAR(x.sum(), 1, 1e-12);
}

TEST(SimplexLeastSquares, StepsThatAreNotNumbersStillGiveAPointOfTheSimplex) {
  std::mt19937 random(11);
  SimplexWorkspace workspace;
  for (const double scale : {1e-320, 1e-200, 1e200, 1e307, std::numeric_limits<double>::infinity()})
    for (int trial = 0; trial < 50; ++trial) {
      const Qp qp = random_qp(random, 6, 4, trial % 2 == 0);
      Eigen::VectorXd x = Eigen::VectorXd::Constant(6, 1.0 / 6);
      simplex_least_squares(scale * qp.G, scale * qp.g, x, workspace);
      ASSERT_NEAR(x.sum(), 1, 1e-12) << scale << ", trial " << trial;
      ASSERT_GE(x.minCoeff(), 0) << scale << ", trial " << trial;
    }
}

}  // namespace
}  // namespace sinew
