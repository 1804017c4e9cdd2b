#include "math/gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace sinew {
namespace {

template <class Matrix>
Matrix random_matrix(Eigen::Index rows, Eigen::Index cols, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  return Matrix::NullaryExpr(rows, cols, [&] { return static_cast<typename Matrix::Scalar>(uniform(random)); });
}

TEST(Gemm, AgreesWithEigenForEveryPairOfTransposes) {
  for (const Op op_a : {Op::none, Op::transpose}) {
    for (const Op op_b : {Op::none, Op::transpose}) {
      const Eigen::MatrixXd A =
          random_matrix<Eigen::MatrixXd>(op_a == Op::none ? 13 : 37, op_a == Op::none ? 37 : 13, 1);
      const Eigen::MatrixXd B =
          random_matrix<Eigen::MatrixXd>(op_b == Op::none ? 37 : 1201, op_b == Op::none ? 1201 : 37, 2);
      Eigen::MatrixXd C = random_matrix<Eigen::MatrixXd>(13, 1201, 3);
      const Eigen::MatrixXd left = op_a == Op::none ? A : Eigen::MatrixXd(A.transpose());
      const Eigen::MatrixXd right = op_b == Op::none ? B : Eigen::MatrixXd(B.transpose());
      const Eigen::MatrixXd expected = 0.7 * left * right - 0.3 * C;
      gemm(op_a, op_b, 0.7, A, B, -0.3, C, 2);
      EXPECT_LT((C - expected).cwiseAbs().maxCoeff(), 1e-13);
    }
  }
}

TEST(Gemm, WorksOnPartsOfMatrices) {
  const Eigen::MatrixXf A = random_matrix<Eigen::MatrixXf>(20, 9, 4);
  const Eigen::MatrixXf B = random_matrix<Eigen::MatrixXf>(20, 30, 5);
  Eigen::MatrixXf C = Eigen::MatrixXf::Constant(11, 33, 7);
  gemm(Op::transpose, Op::none, 1.0F, A.middleRows(3, 14), B.middleRows(3, 14), 0.0F, C.block(1, 2, 9, 30));
  const Eigen::MatrixXf expected = A.middleRows(3, 14).transpose() * B.middleRows(3, 14);
  EXPECT_LT((C.block(1, 2, 9, 30) - expected).cwiseAbs().maxCoeff(), 1e-5F);
  EXPECT_EQ(C(0, 0), 7);
  EXPECT_EQ(C(10, 32), 7);
}

TEST(Gemm, AnEntryDoesNotDependOnWhichOthersAreFormedWithIt) {
  const Eigen::MatrixXf A = random_matrix<Eigen::MatrixXf>(600, 101, 8);
  const Eigen::MatrixXf B = random_matrix<Eigen::MatrixXf>(600, 250, 9);
  Eigen::MatrixXf all(101, 250);
  gemm(Op::transpose, Op::none, 1.0F, A, B, 0.0F, all);
  Eigen::MatrixXf some(7, 11);
  gemm(Op::transpose, Op::none, 1.0F, A.middleCols(90, 7), B.middleCols(233, 11), 0.0F, some);
  EXPECT_TRUE(some == all.block(90, 233, 7, 11));
}

TEST(Gemm, AgreesWithEigenWhereTheInnerSizeTakesSeveralBlocks) {
  const Eigen::MatrixXd A = random_matrix<Eigen::MatrixXd>(131, 700, 10);
  const Eigen::MatrixXd B = random_matrix<Eigen::MatrixXd>(700, 263, 11);
  Eigen::MatrixXd C(131, 263);
  C.setConstant(std::numeric_limits<double>::quiet_NaN());  // beta = 0 overwrites whatever was there
  gemm(Op::none, Op::none, 2.0, A, B, 0.0, C);
  EXPECT_LT((C - 2 * A * B).cwiseAbs().maxCoeff(), 1e-12);
}

/// C += 0.7 A B as any kernel forms it: one product after another, one sum for 256 of the inner dimension; products
/// rounded before they are added, or not.
template <class Matrix>
void add_plainly(const Matrix& A, const Matrix& B, bool rounded, Matrix& C) {
  using Scalar = typename Matrix::Scalar;
  for (Eigen::Index j = 0; j < C.cols(); ++j) {
    for (Eigen::Index i = 0; i < C.rows(); ++i) {
      for (Eigen::Index first = 0; first < A.cols(); first += 256) {
        Scalar sum = 0;
        for (Eigen::Index l = first; l < std::min<Eigen::Index>(A.cols(), first + 256); ++l) {
          const Scalar a = static_cast<Scalar>(0.7) * A(i, l);
          const volatile Scalar product = a * B(l, j);
          sum = rounded ? sum + product : std::fma(a, B(l, j), sum);
        }
        C(i, j) += sum;
      }
    }
  }
}

template <class Matrix>
void expect_bits_of_plain_sums(Op op_a, Op op_b, Eigen::Index m, Eigen::Index n, Eigen::Index k) {
  const auto A = random_matrix<Matrix>(m, k, 12);
  const auto B = random_matrix<Matrix>(k, n, 13);
  const auto before = random_matrix<Matrix>(m, n, 14);
  Matrix C = before, fused = before, rounded = before;
  gemm(op_a, op_b, static_cast<typename Matrix::Scalar>(0.7), op_a == Op::none ? A : Matrix(A.transpose()),
       op_b == Op::none ? B : Matrix(B.transpose()), typename Matrix::Scalar{1}, C);
  add_plainly(A, B, false, fused);
  add_plainly(A, B, true, rounded);
  EXPECT_TRUE(C == fused || C == rounded) << m << ' ' << n << ' ' << k;
}

TEST(Gemm, HasTheBitsOfPlainSumsWhateverTheRegisters) {
  for (const Op op_a : {Op::none, Op::transpose}) {
    for (const Op op_b : {Op::none, Op::transpose}) {
      expect_bits_of_plain_sums<Eigen::MatrixXf>(op_a, op_b, 101, 47, 259);
      expect_bits_of_plain_sums<Eigen::MatrixXd>(op_a, op_b, 101, 47, 259);
      expect_bits_of_plain_sums<Eigen::MatrixXf>(op_a, op_b, 3, 5, 1);
    }
  }
}
TEST(Gemm, SameBitsForAnyThreadCount) {
  const Eigen::MatrixXf A = random_matrix<Eigen::MatrixXf>(150, 80, 6);
  const Eigen::MatrixXf B = random_matrix<Eigen::MatrixXf>(150, 3000, 7);
  Eigen::MatrixXf one(80, 3000);
  gemm(Op::transpose, Op::none, 1.0F, A, B, 0.0F, one, 1);
  for (const int threads : {2, 7}) {
    Eigen::MatrixXf many(80, 3000);
    gemm(Op::transpose, Op::none, 1.0F, A, B, 0.0F, many, threads);
    EXPECT_TRUE(one == many) << threads;
  }
}

}  // namespace
}  // namespace sinew
