#include "math/nnls.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <random>

#include "math/simplex.h"

namespace sinew {
namespace {

Eigen::MatrixXd random_matrix(Eigen::Index rows, Eigen::Index cols, std::mt19937& random) {
  std::normal_distribution<double> normal;
  Eigen::MatrixXd A(rows, cols);
  for (double& a : A.reshaped()) a = normal(random);
  return A;
}

/// The best of all supports whose unconstrained solution is not negative.
double brute_force(const Eigen::MatrixXd& A, const Eigen::VectorXd& b) {
  double best = b.squaredNorm();
  for (unsigned support = 1; support < (1U << A.cols()); ++support) {
    std::vector<Eigen::Index> at;
    for (Eigen::Index i = 0; i < A.cols(); ++i) {
      if ((support >> i & 1U) != 0) at.push_back(i);
    }
    const Eigen::MatrixXd sub = A(Eigen::all, at);
    const Eigen::VectorXd x = sub.completeOrthogonalDecomposition().solve(b);
    if (x.minCoeff() >= 0) best = std::min(best, (sub * x - b).squaredNorm());
  }
  return best;
}

TEST(Nnls, ReachesTheBestOfAllSupports) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 300; ++trial) {
    const Eigen::Index n = 1 + trial % 6;
    Eigen::MatrixXd A = random_matrix(12, n, random);
    if (trial % 5 == 0 && n > 1) A.col(n - 1) = A.col(0);  // repeated columns
    const Eigen::VectorXd b = random_matrix(12, 1, random);
    const Eigen::VectorXd x = nonnegative_least_squares(A.transpose() * A, A.transpose() * b);
    ASSERT_GE(x.minCoeff(), 0);
    EXPECT_NEAR((A * x - b).squaredNorm(), brute_force(A, b), 1e-8) << "trial " << trial;
  }
}

TEST(Nnls, WithARowOfOnesAndDifferencesItIsTheSimplexSolutionAfterScaling) {
  std::mt19937 random(2);
  SimplexWorkspace workspace;
  for (int trial = 0; trial < 100; ++trial) {
    const Eigen::MatrixXd D = random_matrix(15, 4, random).array() + 0.3;
    const Eigen::MatrixXd G = D.transpose() * D;
    Eigen::VectorXd w = nonnegative_least_squares(G + Eigen::MatrixXd::Ones(4, 4), Eigen::VectorXd::Ones(4));
    w /= w.sum();
    Eigen::VectorXd x = Eigen::VectorXd::Constant(4, 0.25);
    const double best = simplex_least_squares(G, Eigen::VectorXd::Zero(4), x, workspace);
    EXPECT_NEAR(w.dot(G * w), best, 1e-9 * (1 + best));
  }
}

TEST(TruncatedLeastSquares, IsTheSvdSolutionWithSmallSingularValuesLeftOut) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 50; ++trial) {
    Eigen::MatrixXd A = random_matrix(10, 4, random);
    if (trial % 2 == 0) A.col(3) = A.col(1) + 1e-7 * random_matrix(10, 1, random);
    const Eigen::VectorXd b = random_matrix(10, 1, random);
    Eigen::JacobiSVD<Eigen::MatrixXd> svd(A, Eigen::ComputeThinU | Eigen::ComputeThinV);
    svd.setThreshold(1e-5);
    const Eigen::VectorXd expected = svd.solve(b);
    const Eigen::VectorXd x = truncated_least_squares(A.transpose() * A, A.transpose() * b, 1e-5);
    EXPECT_LT((x - expected).norm(), 1e-6 * (1 + expected.norm())) << "trial " << trial;
  }
}

}  // namespace
}  // namespace sinew
