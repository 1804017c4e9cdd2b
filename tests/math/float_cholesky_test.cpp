#include "math/float_cholesky.h"

#include <gtest/gtest.h>

#include <random>

namespace sinew {
namespace {

Eigen::MatrixXd definite(Eigen::Index n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  const Eigen::MatrixXd M = Eigen::MatrixXd::NullaryExpr(n, n + 5, [&] { return normal(random); });
  return M * M.transpose() + Eigen::MatrixXd::Identity(n, n);
}

TEST(FloatCholesky, SolvesWhatItsLowerTriangleSays) {
  for (const Eigen::Index n : {1, 3, 24, 25, 117, 183}) {
    const Eigen::MatrixXd A = definite(n, static_cast<unsigned>(n));
    FloatCholesky factor;
    factor.begin(n) = A.cast<float>().triangularView<Eigen::Lower>();
    ASSERT_TRUE(factor.compute()) << n;
    ASSERT_EQ(factor.rows(), n);
    const Eigen::VectorXd expected = Eigen::VectorXd::LinSpaced(n, -1, 2);
    Eigen::VectorXf x = (A * expected).cast<float>();
    factor.solve_in_place(x);
    EXPECT_LT((x.cast<double>() - expected).norm(), 1e-3 * expected.norm()) << n;
  }
}

TEST(FloatCholesky, SaysWhereAMatrixIsNotPositiveDefinite) {
  for (const Eigen::Index bad : {0, 30, 49}) {
    Eigen::MatrixXd A = definite(50, 7);
    A(bad, bad) = -1;
    FloatCholesky factor;
    factor.begin(50) = A.cast<float>();
    EXPECT_FALSE(factor.compute()) << bad;
    EXPECT_EQ(factor.rows(), 0);
  }
}

}  // namespace
}  // namespace sinew
