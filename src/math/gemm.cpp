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

/// The innermost tile: two registers tall, and as many columns as there are registers for its sums.
template <int Bytes, int Columns>
struct TileShape {
  static constexpr int kBytes = Bytes;  // of a register
  static constexpr int kColumns = Columns;
  template <class Scalar>
  static constexpr int kRows = 2 * Bytes / static_cast<int>(sizeof(Scalar));
};
#ifdef __wasm__
using UsualTile = TileShape<16, 6>;
#else
using UsualTile = TileShape<32, 6>;
#endif
/// Vectors of so many bytes: the attribute takes no parameters of templates.
template <class Scalar, int Bytes>
struct VectorOf;
template <>
struct VectorOf<float, 16> {
  using Type = float __attribute__((vector_size(16)));
};
template <>
struct VectorOf<float, 32> {
  using Type = float __attribute__((vector_size(32)));
};
template <>
struct VectorOf<float, 64> {
  using Type = float __attribute__((vector_size(64)));
};
template <>
struct VectorOf<double, 16> {
  using Type = double __attribute__((vector_size(16)));
};
template <>
struct VectorOf<double, 32> {
  using Type = double __attribute__((vector_size(32)));
};
template <>
struct VectorOf<double, 64> {
  using Type = double __attribute__((vector_size(64)));
};

#if defined(__x86_64__) && defined(__FMA__)
#define SINEW_WIDE_TILE
using WideTile = TileShape<64, 8>;

/// Whether this processor has the registers of wide tiles. Sums run in the same order with them: only time differs.
bool has_wide_registers() {
  static const bool has = __builtin_cpu_supports("avx512f") != 0;
  return has;
}
#endif

/// A matrix as its transpose sees it: entry (i, k) is at i·along + k·across.
template <class Scalar>
struct View {
  const Scalar* data;
  std::ptrdiff_t along, across;
};

/// Four entries i of four k in a row, from `along` apart to `width` apart.
template <class Scalar>
[[gnu::always_inline]] inline void transpose_four(const Scalar* from, std::ptrdiff_t along, Scalar factor, Scalar* to,
                                                  std::ptrdiff_t width) {
  using Four = typename VectorOf<Scalar, 4 * static_cast<int>(sizeof(Scalar))>::Type;
  Four a, b, c, d;
  std::memcpy(&a, from, sizeof a);
  std::memcpy(&b, from + along, sizeof b);
  std::memcpy(&c, from + 2 * along, sizeof c);
  std::memcpy(&d, from + 3 * along, sizeof d);
  const Four ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5), ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Four cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5), cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  const Four rows[4] = {factor * __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5),
                        factor * __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7),
                        factor * __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5),
                        factor * __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7)};
  for (int k = 0; k < 4; ++k) std::memcpy(to + k * width, &rows[k], sizeof rows[k]);
}

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
      const bool fours = from.across == 1;
      const int whole_i = fours ? here / 4 * 4 : 0, whole_k = fours ? depth / 4 * 4 : 0;
      for (int k = 0; k < whole_k; k += 4)
        for (int i = 0; i < whole_i; i += 4)
          transpose_four(strip + i * from.along + k, from.along, factor, to + k * width + i, width);
      for (int i = 0; i < here; ++i)
        for (int k = i < whole_i ? whole_k : 0; k < depth; ++k)
          to[k * width + i] = factor * strip[i * from.along + k * from.across];
    }
    to += std::ptrdiff_t{depth} * width;
  }
}

/// sums = strip of A times strip of B, column after column of the tile.
template <class Shape, class Scalar>
[[gnu::always_inline]] inline void multiply_in(int depth, const Scalar* a, const Scalar* b, Scalar* sums) {
  using Register = typename VectorOf<Scalar, Shape::kBytes>::Type;
  constexpr int kRows = Shape::template kRows<Scalar>;
  constexpr int kHalf = kRows / 2;
  constexpr int kColumns = Shape::kColumns;
  Register upper[kColumns] = {};
  Register lower[kColumns] = {};
  for (int k = 0; k < depth; ++k, a += kRows, b += kColumns) {
    Register first, second;
    std::memcpy(&first, a, sizeof first);
    std::memcpy(&second, a + kHalf, sizeof second);
#pragma GCC unroll 8
    for (int j = 0; j < kColumns; ++j) {
      upper[j] += first * b[j];
      lower[j] += second * b[j];
    }
  }
#pragma GCC unroll 8
  for (int j = 0; j < kColumns; ++j) {
    std::memcpy(sums + j * kRows, &upper[j], sizeof upper[j]);
    std::memcpy(sums + j * kRows + kHalf, &lower[j], sizeof lower[j]);
  }
}

template <class Scalar>
[[gnu::noinline]] void multiply_tile(UsualTile, int depth, const Scalar* a, const Scalar* b, Scalar* sums) {
  multiply_in<UsualTile>(depth, a, b, sums);
}
#ifdef SINEW_WIDE_TILE
template <class Scalar>
[[gnu::noinline, gnu::target("avx512f")]] void multiply_tile(WideTile, int depth, const Scalar* a, const Scalar* b,
                                                             Scalar* sums) {
  multiply_in<WideTile>(depth, a, b, sums);
}
#endif

/// Adds the sums of `count` rows to a column, or to nothing where it is `fresh`.
template <class Scalar>
[[gnu::always_inline]] inline void add_sums(const Scalar* sums, int count, bool fresh, Scalar* column) {
  if (fresh) {
    for (int p = 0; p < count; ++p) column[p] = Scalar{0} + sums[p];
  } else {
    for (int p = 0; p < count; ++p) column[p] += sums[p];
  }
}

template <class Shape, class Scalar>
void add_block(int rows, int columns, int depth, const Scalar* a, const Scalar* b, bool fresh, Scalar* c, int ldc) {
  constexpr int kRows = Shape::template kRows<Scalar>;
  constexpr int kColumns = Shape::kColumns;
  Scalar sums[kRows * kColumns];
  for (int j = 0; j < columns; j += kColumns) {
    for (int i = 0; i < rows; i += kRows) {
      multiply_tile(Shape(), depth, a + std::ptrdiff_t{i} * depth, b + std::ptrdiff_t{j} * depth, sums);
      for (int q = 0; q < std::min(kColumns, columns - j); ++q) {
        Scalar* column = c + std::ptrdiff_t{j + q} * ldc + i;
        if (rows - i >= kRows) {
          add_sums(sums + q * kRows, kRows, fresh, column);
        } else {
          add_sums(sums + q * kRows, rows - i, fresh, column);
        }
      }
    }
  }
}

template <class Shape, class Scalar>
void multiply_by(Op op_a, Op op_b, int m, int n, int k, Scalar alpha, const Scalar* a, int lda, const Scalar* b,
                 int ldb, Scalar beta, Scalar* c, int ldc) {
  const bool fresh = beta == Scalar{0} && alpha != Scalar{0} && k > 0;
  for (int j = 0; j < n && !fresh; ++j) {
    Scalar* column = c + std::ptrdiff_t{j} * ldc;
    if (beta == Scalar{0}) {
      std::fill(column, column + m, Scalar{0});
    } else if (beta != Scalar{1}) {
      for (int i = 0; i < m; ++i) column[i] *= beta;
    }
  }
  if (alpha == Scalar{0}) return;
  constexpr int kRows = Shape::template kRows<Scalar>;
  const auto rounded = [](int count, int width) { return (count + width - 1) / width * width; };
  const int depth = std::min(k, kDepth);
  std::vector<Scalar> left(static_cast<std::size_t>(rounded(std::min(m, kTall), kRows)) *
                           static_cast<std::size_t>(depth));
  std::vector<Scalar> right(static_cast<std::size_t>(rounded(std::min(n, kWide), Shape::kColumns)) *
                            static_cast<std::size_t>(depth));
  const std::ptrdiff_t row_a = op_a == Op::none ? 1 : lda, inner_a = op_a == Op::none ? lda : 1;
  const std::ptrdiff_t inner_b = op_b == Op::none ? 1 : ldb, column_b = op_b == Op::none ? ldb : 1;
  for (int l = 0; l < k; l += kDepth) {
    const int here = std::min(kDepth, k - l);
    for (int j = 0; j < n; j += kWide) {
      const int columns = std::min(kWide, n - j);
      pack<Scalar>({b + l * inner_b + j * column_b, column_b, inner_b}, columns, here, Shape::kColumns, Scalar{1},
                   right.data());
      for (int i = 0; i < m; i += kTall) {
        const int rows = std::min(kTall, m - i);
        pack<Scalar>({a + i * row_a + l * inner_a, row_a, inner_a}, rows, here, kRows, alpha, left.data());
        add_block<Shape>(rows, columns, here, left.data(), right.data(), fresh && l == 0,
                         c + i + std::ptrdiff_t{j} * ldc, ldc);
      }
    }
  }
}

template <class Scalar>
void multiply(Op op_a, Op op_b, int m, int n, int k, Scalar alpha, const Scalar* a, int lda, const Scalar* b, int ldb,
              Scalar beta, Scalar* c, int ldc) {
#ifdef SINEW_WIDE_TILE
  if (has_wide_registers()) return multiply_by<WideTile>(op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
#endif
  multiply_by<UsualTile>(op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
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
