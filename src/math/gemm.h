#pragma once

#include <Eigen/Core>

namespace sinew {

enum class Op { none, transpose };

/// C = alpha · op(A) · op(B) + beta · C over column-major matrices.
///
/// C is cut into fixed blocks of columns that `threads` share, so the result has the same bits for any thread count;
/// and there is one kernel for all processors, so they are the same on any of them.
/// beta = 0 overwrites C, whatever it held. Inner sizes must agree (asserted).
void gemm(Op op_a, Op op_b, float alpha, const Eigen::Ref<const Eigen::MatrixXf>& A,
          const Eigen::Ref<const Eigen::MatrixXf>& B, float beta, Eigen::Ref<Eigen::MatrixXf> C, int threads = 1);
void gemm(Op op_a, Op op_b, double alpha, const Eigen::Ref<const Eigen::MatrixXd>& A,
          const Eigen::Ref<const Eigen::MatrixXd>& B, double beta, Eigen::Ref<Eigen::MatrixXd> C, int threads = 1);

/// The same in this thread for code that does its own chunking: C (m×n) = alpha · op(A) · op(B) + beta · C with
/// inner size k and leading dimensions lda, ldb, ldc.
void gemm_block(Op op_a, Op op_b, int m, int n, int k, float alpha, const float* a, int lda, const float* b, int ldb,
                float beta, float* c, int ldc);
void gemm_block(Op op_a, Op op_b, int m, int n, int k, double alpha, const double* a, int lda, const double* b, int ldb,
                double beta, double* c, int ldc);

}  // namespace sinew
