#include "math/float_cholesky.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "math/gemm.h"

namespace sinew {
namespace {

constexpr int kPanel = 24;  // columns that are taken together from those before; the tiles of products divide it

/// to −= factor · from
[[gnu::always_inline]] inline void take_off(int count, float factor, const float* __restrict from,
                                            float* __restrict to) {
  for (int i = 0; i < count; ++i) to[i] -= factor * from[i];
}

/// to −= Σ factors · four columns that are `stride` apart
void take_off_four(int count, const float* factors, const float* __restrict from, std::ptrdiff_t stride,
                   float* __restrict to) {
  const float a = factors[0], b = factors[1], c = factors[2], d = factors[3];
  for (int i = 0; i < count; ++i)
    to[i] -= (a * from[i] + b * from[stride + i]) + (c * from[2 * stride + i] + d * from[3 * stride + i]);
}

/// Products of x with four columns that are `stride` apart. Sums run in eight lanes, on any processor.
void four_dots(int count, const float* from, std::ptrdiff_t stride, const float* x, float* dots) {
  using Eight = float __attribute__((vector_size(32)));
  const auto eight = [](const float* at) {
    Eight value;
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  Eight sums[4] = {};
  int i = 0;
  for (; i + 8 <= count; i += 8) {
    const Eight value = eight(x + i);
    for (int c = 0; c < 4; ++c) sums[c] += value * eight(from + c * stride + i);
  }
  for (int c = 0; c < 4; ++c) {
    const Eight& s = sums[c];
    dots[c] = ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
    for (int rest = i; rest < count; ++rest) dots[c] += x[rest] * from[c * stride + rest];
  }
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
  constexpr int kFour = 4;
  const auto n = static_cast<int>(factor_.rows());
  assert(x.size() == n);
  const auto stride = std::ptrdiff_t{n};
  const float* const a = factor_.data();
  const int whole = n / kFour * kFour;  // columns that are taken four at a time
  for (int j = 0; j < whole; j += kFour) {
    const float* corner = a + j * stride + j;
    for (int k = 0; k < kFour; ++k) {
      x[j + k] /= corner[k * stride + k];
      for (int i = k + 1; i < kFour; ++i) x[j + i] -= x[j + k] * corner[k * stride + i];
    }
    take_off_four(n - j - kFour, x.data() + j, corner + kFour, stride, x.data() + j + kFour);
  }
  for (int j = whole; j < n; ++j) {
    x[j] /= a[j * stride + j];
    take_off(n - j - 1, x[j], a + j * stride + j + 1, x.data() + j + 1);
  }
  for (int j = n - 1; j >= whole; --j) {
    for (int i = j + 1; i < n; ++i) x[j] -= a[j * stride + i] * x[i];
    x[j] /= a[j * stride + j];
  }
  for (int j = whole - kFour; j >= 0; j -= kFour) {
    const float* corner = a + j * stride + j;
    float dots[kFour];
    four_dots(n - j - kFour, corner + kFour, stride, x.data() + j + kFour, dots);
    for (int k = kFour - 1; k >= 0; --k) {
      x[j + k] -= dots[k];
      for (int i = k + 1; i < kFour; ++i) x[j + k] -= corner[k * stride + i] * x[j + i];
      x[j + k] /= corner[k * stride + k];
    }
  }
}

}  // namespace sinew
