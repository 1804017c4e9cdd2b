#include "math/float_cholesky.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "math/gemm.h"

namespace sinew {
namespace {

constexpr int kPanel = 24;  // columns that are taken together from those before; the tiles of products divide it

/// to −= factor · from
[[gnu::always_inline]] inline void take_off(int count, float factor, const float* __restrict from,
                                            float* __restrict to) {
  for (int i = 0; i < count; ++i) to[i] -= factor * from[i];
}

/// Sums run in sixteen lanes: an order that does not depend on the processor.
float dot(int count, const float* a, const float* b) {
  constexpr int kLanes = 16;
  float sums[kLanes] = {};
  int i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (int l = 0; l < kLanes; ++l) sums[l] += a[i + l] * b[i + l];
  for (; i < count; ++i) sums[0] += a[i] * b[i];
  for (int half = kLanes / 2; half > 0; half /= 2)
    for (int l = 0; l < half; ++l) sums[l] += sums[l + half];
  return sums[0];
}

/// Factors `width` columns of `rows` rows, whose upper part is square, in place.
bool factor_panel(int rows, int width, int stride, float* a) {
  for (int j = 0; j < width; ++j) {
    float* column = a + j * stride;
    if (!(column[j] > 0) || !std::isfinite(column[j])) return false;
    const float scale = 1 / std::sqrt(column[j]);
    for (int i = j; i < rows; ++i) column[i] *= scale;
    for (int k = j + 1; k < width; ++k) take_off(rows - k, column[k], column + k, a + k * stride + k);
  }
  return true;
}

}  // namespace

Eigen::MatrixXf& FloatCholesky::begin(Eigen::Index n) {
  factor_.resize(n, n);
  return factor_;
}

bool FloatCholesky::compute() {
  const auto n = static_cast<int>(factor_.rows());
  float* const a = factor_.data();
  for (int j = 0; j < n; j += kPanel) {
    const int width = std::min(kPanel, n - j);
    float* const panel = a + std::ptrdiff_t{j} * n + j;
    if (j > 0) gemm_block(Op::none, Op::transpose, n - j, width, j, -1.0F, a + j, n, a + j, n, 1.0F, panel, n);
    if (factor_panel(n - j, width, n, panel)) continue;
    factor_.resize(0, 0);
    return false;
  }
  return true;
}

void FloatCholesky::solve_in_place(Eigen::VectorXf& x) const {
  const auto n = static_cast<int>(factor_.rows());
  assert(x.size() == n);
  const float* const a = factor_.data();
  for (int j = 0; j < n; ++j) {
    const float* column = a + std::ptrdiff_t{j} * n;
    x[j] /= column[j];
    take_off(n - j - 1, x[j], column + j + 1, x.data() + j + 1);
  }
  for (int j = n - 1; j >= 0; --j) {
    const float* column = a + std::ptrdiff_t{j} * n;
    x[j] = (x[j] - dot(n - j - 1, column + j + 1, x.data() + j + 1)) / column[j];
  }
}

}  // namespace sinew
