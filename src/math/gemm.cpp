#include "math/gemm.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <vector>

#include "math/parallel.h"

// The usual layers of a product: blocks of A and B are packed into strips as wide as the innermost tile, which stays in
// registers while it runs along the inner dimension. Sums run in the same order wherever an entry lies in its tile.
namespace sinew {
namespace {

constexpr std::size_t kShared = 480;  // columns of C that one thread works on at a time
constexpr int kDepth = 256;           // inner dimension of a packed block
constexpr int kTall = 96;             // rows of a packed block of A
constexpr int kWide = 240;            // columns of a packed block of B

#ifdef __wasm__
constexpr int kRegister = 16;  // bytes
#else
constexpr int kRegister = 32;
#endif
constexpr int kTileColumns = 6;
template <class Scalar>
constexpr int kTileRows = 2 * kRegister / static_cast<int>(sizeof(Scalar));

using Floats = float __attribute__((vector_size(kRegister)));
using Doubles = double __attribute__((vector_size(kRegister)));
template <class Scalar>
struct RegisterOf;
template <>
struct RegisterOf<float> {
  using Type = Floats;
};
template <>
struct RegisterOf<double> {
  using Type = Doubles;
};

/// A matrix as its transpose sees it: entry (i, k) is at i·along + k·across.
template <class Scalar>
struct View {
  const Scalar* data;
  std::ptrdiff_t along, across;
};

/// Strips of `width` entries i, one after another; within a strip k after k. What is missing in the last one is zero.
template <class Scalar>
void pack(const View<Scalar>& from, int count, int depth, int width, Scalar factor, Scalar* to) {
  for (int first = 0; first < count; first += width) {
    const int here = std::min(width, count - first);
    const Scalar* strip = from.data + first * from.along;
    if (here < width) std::fill(to, to + std::ptrdiff_t{depth} * width, Scalar{0});
    if (from.along == 1) {
      for (int k = 0; k < depth; ++k)
        for (int i = 0; i < here; ++i) to[k * width + i] = factor * strip[k * from.across + i];
    } else {
      for (int i = 0; i < here; ++i)
        for (int k = 0; k < depth; ++k) to[k * width + i] = factor * strip[i * from.along + k * from.across];
    }
    to += std::ptrdiff_t{depth} * width;
  }
}

/// sums = strip of A times strip of B, column after column of the tile.
template <class Scalar>
[[gnu::noinline]] void multiply_tile(int depth, const Scalar* a, const Scalar* b, Scalar* sums) {
  using Register = typename RegisterOf<Scalar>::Type;
  constexpr int kHalf = kTileRows<Scalar> / 2;
  Register upper[kTileColumns] = {};
  Register lower[kTileColumns] = {};
  for (int k = 0; k < depth; ++k, a += kTileRows<Scalar>, b += kTileColumns) {
    Register first, second;
    std::memcpy(&first, a, sizeof first);
    std::memcpy(&second, a + kHalf, sizeof second);
#pragma GCC unroll 6
    for (int j = 0; j < kTileColumns; ++j) {
      upper[j] += first * b[j];
      lower[j] += second * b[j];
    }
  }
#pragma GCC unroll 6
  for (int j = 0; j < kTileColumns; ++j) {
    std::memcpy(sums + j * kTileRows<Scalar>, &upper[j], sizeof upper[j]);
    std::memcpy(sums + j * kTileRows<Scalar> + kHalf, &lower[j], sizeof lower[j]);
  }
}

template <class Scalar>
void add_block(int rows, int columns, int depth, const Scalar* a, const Scalar* b, Scalar* c, int ldc) {
  constexpr int kRows = kTileRows<Scalar>;
  Scalar sums[kRows * kTileColumns];
  for (int j = 0; j < columns; j += kTileColumns) {
    for (int i = 0; i < rows; i += kRows) {
      multiply_tile(depth, a + std::ptrdiff_t{i} * depth, b + std::ptrdiff_t{j} * depth, sums);
      for (int q = 0; q < std::min(kTileColumns, columns - j); ++q) {
        Scalar* column = c + std::ptrdiff_t{j + q} * ldc + i;
        for (int p = 0; p < std::min(kRows, rows - i); ++p) column[p] += sums[q * kRows + p];
      }
    }
  }
}

template <class Scalar>
void multiply(Op op_a, Op op_b, int m, int n, int k, Scalar alpha, const Scalar* a, int lda, const Scalar* b, int ldb,
              Scalar beta, Scalar* c, int ldc) {
  for (int j = 0; j < n; ++j) {
    Scalar* column = c + std::ptrdiff_t{j} * ldc;
    if (beta == Scalar{0}) {
      std::fill(column, column + m, Scalar{0});
    } else if (beta != Scalar{1}) {
      for (int i = 0; i < m; ++i) column[i] *= beta;
    }
  }
  if (alpha == Scalar{0}) return;
  const auto rounded = [](int count, int width) { return (count + width - 1) / width * width; };
  const int depth = std::min(k, kDepth);
  std::vector<Scalar> left(static_cast<std::size_t>(rounded(std::min(m, kTall), kTileRows<Scalar>)) *
                           static_cast<std::size_t>(depth));
  std::vector<Scalar> right(static_cast<std::size_t>(rounded(std::min(n, kWide), kTileColumns)) *
                            static_cast<std::size_t>(depth));
  const std::ptrdiff_t row_a = op_a == Op::none ? 1 : lda, inner_a = op_a == Op::none ? lda : 1;
  const std::ptrdiff_t inner_b = op_b == Op::none ? 1 : ldb, column_b = op_b == Op::none ? ldb : 1;
  for (int l = 0; l < k; l += kDepth) {
    const int here = std::min(kDepth, k - l);
    for (int j = 0; j < n; j += kWide) {
      const int columns = std::min(kWide, n - j);
      pack<Scalar>({b + l * inner_b + j * column_b, column_b, inner_b}, columns, here, kTileColumns, Scalar{1},
                   right.data());
      for (int i = 0; i < m; i += kTall) {
        const int rows = std::min(kTall, m - i);
        pack<Scalar>({a + i * row_a + l * inner_a, row_a, inner_a}, rows, here, kTileRows<Scalar>, alpha, left.data());
        add_block(rows, columns, here, left.data(), right.data(), c + i + std::ptrdiff_t{j} * ldc, ldc);
      }
    }
  }
}

template <class Matrix, class Scalar>
void gemm_chunked(Op op_a, Op op_b, Scalar alpha, const Eigen::Ref<const Matrix>& A, const Eigen::Ref<const Matrix>& B,
                  Scalar beta, Eigen::Ref<Matrix> C, int threads) {
  const Eigen::Index inner = op_a == Op::none ? A.cols() : A.rows();
  assert((op_a == Op::none ? A.rows() : A.cols()) == C.rows());
  assert((op_b == Op::none ? B.rows() : B.cols()) == inner);
  assert((op_b == Op::none ? B.cols() : B.rows()) == C.cols());
  if (C.size() == 0) return;
  const auto stride = [](const auto& M) { return static_cast<int>(std::max<Eigen::Index>(1, M.outerStride())); };
  parallel_for(static_cast<std::size_t>(C.cols()), kShared, threads, [&](std::size_t begin, std::size_t end) {
    const auto first = static_cast<Eigen::Index>(begin);
    const Scalar* b = B.data() + (op_b == Op::none ? first * B.outerStride() : first);
    multiply(op_a, op_b, static_cast<int>(C.rows()), static_cast<int>(end - begin), static_cast<int>(inner), alpha,
             A.data(), stride(A), b, stride(B), beta, C.data() + first * C.outerStride(), stride(C));
  });
}

}  // namespace

void gemm_block(Op op_a, Op op_b, int m, int n, int k, float alpha, const float* a, int lda, const float* b, int ldb,
                float beta, float* c, int ldc) {
  multiply(op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void gemm_block(Op op_a, Op op_b, int m, int n, int k, double alpha, const double* a, int lda, const double* b, int ldb,
                double beta, double* c, int ldc) {
  multiply(op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
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
