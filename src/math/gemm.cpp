#include "math/gemm.h"

#include <cblas.h>

#include <algorithm>
#include <cassert>
#include <mutex>

#include "math/parallel.h"

namespace sinew {
namespace {

/// Columns of C per BLAS call: wide enough for OpenBLAS to reach its speed, narrow enough to share among cores.
constexpr std::size_t kColumns = 512;

/// While one exists, OpenBLAS works in the calling thread alone. The number of its threads belongs to the whole
/// process: the first one notes it, the last one gives it back.
class SingleThreadedBlas {
 public:
  SingleThreadedBlas() {
    const std::lock_guard lock(shared().mutex);
    if (shared().users++ > 0) return;
    shared().threads = openblas_get_num_threads();
    if (shared().threads != 1) openblas_set_num_threads(1);
  }
  ~SingleThreadedBlas() {
    const std::lock_guard lock(shared().mutex);
    if (--shared().users == 0 && shared().threads != 1) openblas_set_num_threads(shared().threads);
  }
  SingleThreadedBlas(const SingleThreadedBlas&) = delete;
  SingleThreadedBlas& operator=(const SingleThreadedBlas&) = delete;

 private:
  struct Shared {
    std::mutex mutex;
    int users = 0;
    int threads = 1;
  };
  static Shared& shared() {
    static Shared one;
    return one;
  }
};

/// Where OpenBLAS was built without threads (Debian's libopenblas0-serial), its buffers are guarded by nobody: calls of
/// several threads at once would write into each other's. They take turns then.
std::unique_lock<std::mutex> turn() {
  static std::mutex one_at_a_time;
  static const bool unguarded = openblas_get_parallel() == OPENBLAS_SEQUENTIAL;
  return unguarded ? std::unique_lock(one_at_a_time) : std::unique_lock<std::mutex>();
}

CBLAS_TRANSPOSE cblas_op(Op op) {
  return op == Op::transpose ? CblasTrans : CblasNoTrans;
}

template <class Matrix, class Scalar>
void gemm_chunked(Op op_a, Op op_b, Scalar alpha, const Eigen::Ref<const Matrix>& A, const Eigen::Ref<const Matrix>& B,
                  Scalar beta, Eigen::Ref<Matrix> C, int threads) {
  const Eigen::Index inner = op_a == Op::none ? A.cols() : A.rows();
  assert((op_a == Op::none ? A.rows() : A.cols()) == C.rows());
  assert((op_b == Op::none ? B.rows() : B.cols()) == inner);
  assert((op_b == Op::none ? B.cols() : B.rows()) == C.cols());
  if (C.size() == 0) return;
  const SingleThreadedBlas alone;
  const auto stride = [](const auto& M) { return static_cast<int>(std::max<Eigen::Index>(1, M.outerStride())); };
  parallel_for(static_cast<std::size_t>(C.cols()), kColumns, threads, [&](std::size_t begin, std::size_t end) {
    const auto first = static_cast<Eigen::Index>(begin);
    const Scalar* b = B.data() + (op_b == Op::none ? first * B.outerStride() : first);
    gemm_block(op_a, op_b, static_cast<int>(C.rows()), static_cast<int>(end - begin), static_cast<int>(inner), alpha,
               A.data(), stride(A), b, stride(B), beta, C.data() + first * C.outerStride(), stride(C));
  });
}

}  // namespace

void gemm_block(Op op_a, Op op_b, int m, int n, int k, float alpha, const float* a, int lda, const float* b, int ldb,
                float beta, float* c, int ldc) {
  const SingleThreadedBlas alone;
  const auto guard = turn();
  cblas_sgemm(CblasColMajor, cblas_op(op_a), cblas_op(op_b), m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void gemm_block(Op op_a, Op op_b, int m, int n, int k, double alpha, const double* a, int lda, const double* b, int ldb,
                double beta, double* c, int ldc) {
  const SingleThreadedBlas alone;
  const auto guard = turn();
  cblas_dgemm(CblasColMajor, cblas_op(op_a), cblas_op(op_b), m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void gemm(Op op_a, Op op_b, float alpha, const Eigen::Ref<const Eigen::MatrixXf>& A,
          const Eigen::Ref<const Eigen::MatrixXf>& B, float beta, Eigen::Ref<Eigen::MatrixXf> C, int threads) {
  gemm_chunked<Eigen::MatrixXf, float>(op_a, op_b, alpha, A, B, beta, C, threads);
}

void gemm(Op op_a, Op op_b, double alpha, const Eigen::Ref<const Eigen::MatrixXd>& A,
          const Eigen::Ref<const Eigen::MatrixXd>& B, double beta, Eigen::Ref<Eigen::MatrixXd> C, int threads) {
  gemm_chunked<Eigen::MatrixXd, double>(op_a, op_b, alpha, A, B, beta, C, threads);
}

}  // namespace sinew
