#include "solve/flats/kernels.h"

#include <cmath>
#include <cstring>
#include <vector>

#include "math/decompositions.h"

namespace sinew::flats {
namespace {

using lanes::Double8;
using lanes::kLanes;

constexpr double kDependent = 1e-11;

}  // namespace

void factor_block(const double* u, const double* coefficients, int directions, double ridge, double* factor) {
  const std::size_t pairs = static_cast<std::size_t>(directions * (directions + 1) / 2);
  for (std::size_t first = 0; first < kBlock; first += kLanes) {
    Double8 monomials[10];
    Double8 point[4];
    for (int c = 0; c < 4; ++c) point[c] = lanes::load(u + static_cast<std::size_t>(c) * kBlock + first);
    for (int c = 0, n = 0; c < 4; ++c)
      for (int d = c; d < 4; ++d) monomials[n++] = point[c] * point[d];
    double* L = factor + first * pairs;
    const double* coefficient = coefficients;
    for (int j = 0; j < directions; ++j) {
      double* row = L + static_cast<std::size_t>(j * (j + 1) / 2) * kLanes;
      for (int k = 0; k <= j; ++k, coefficient += 10) {
        Double8 value = coefficient[0] * monomials[0];
        for (int n = 1; n < 10; ++n) value = value + coefficient[n] * monomials[n];
        const double* other = L + static_cast<std::size_t>(k * (k + 1) / 2) * kLanes;
        const Double8 whole = value + ridge;
        if (k == j) value = whole;
        value = value - lanes::dot(row, other, k);
        Double8 result;
        if (k < j) {
          result = value * lanes::load(other + static_cast<std::size_t>(k) * kLanes);
        } else {
          for (std::size_t l = 0; l < kLanes; ++l)
            lanes::set_lane(
                result, l,
                lanes::lane(value, l) > kDependent * lanes::lane(whole, l) ? 1 / std::sqrt(lanes::lane(value, l)) : 0);
        }
        lanes::store(row + static_cast<std::size_t>(k) * kLanes, result);
      }
    }
  }
}

void unpack_factor(const double* factor, int directions, std::size_t vertex, Eigen::MatrixXd& L) {
  const std::size_t pairs = static_cast<std::size_t>(directions * (directions + 1) / 2);
  const double* at = factor + vertex / kLanes * kLanes * pairs + vertex % kLanes;
  L.setZero(directions, directions);
  for (Eigen::Index j = 0; j < directions; ++j)
    for (Eigen::Index k = 0; k <= j; ++k, at += kLanes) L(j, k) = k < j || *at == 0 ? *at : 1 / *at;
}

template <class T>
void solve_block(const double* factor, int directions, T* z) {
  const std::size_t pairs = static_cast<std::size_t>(directions * (directions + 1) / 2);
  std::vector<double> scratch(static_cast<std::size_t>(directions) * kLanes + kLanes);
  double* w = scratch.data();
  for (std::size_t first = 0; first < kBlock; first += kLanes) {
    const double* L = factor + first * pairs;
    for (int j = 0; j < directions; ++j) {
      const double* row = L + static_cast<std::size_t>(j * (j + 1) / 2) * kLanes;
      Double8 value = lanes::load(z + static_cast<std::size_t>(j) * kBlock + first);
      value = value - lanes::dot(row, w, j);
      lanes::store(w + static_cast<std::size_t>(j) * kLanes,
                   value * lanes::load(row + static_cast<std::size_t>(j) * kLanes));
    }
    // Column-oriented back substitution: row j of L is column j of Lᵀ.
    for (int j = directions - 1; j >= 0; --j) {
      const double* row = L + static_cast<std::size_t>(j * (j + 1) / 2) * kLanes;
      const Double8 value = lanes::load(w + static_cast<std::size_t>(j) * kLanes) *
                            lanes::load(row + static_cast<std::size_t>(j) * kLanes);
      lanes::store(z + static_cast<std::size_t>(j) * kBlock + first, value);
      for (int m = 0; m < j; ++m) {
        double* target = w + static_cast<std::size_t>(m) * kLanes;
        lanes::store(target, lanes::load(target) - lanes::load(row + static_cast<std::size_t>(m) * kLanes) * value);
      }
    }
  }
}

namespace {

using Float8 = float __attribute__((vector_size(32)));

[[gnu::always_inline]] inline Float8 eight(const float* from) {
  Float8 value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// Sixteen vertices: two groups of eight keep two sums each.
void solve_two_groups(const float* L, std::size_t pairs, int directions, float* w, float* z) {
  const float* const M = L + pairs * kLanes;
  const auto at = [](int j, int k) { return (static_cast<std::size_t>(j * (j + 1) / 2 + k)) * kLanes; };
  float* const v = w + static_cast<std::size_t>(directions) * kLanes;
  const auto keep = [&](int j, const Float8& first, const Float8& second) {
    std::memcpy(w + at(0, j), &first, sizeof first);
    std::memcpy(v + at(0, j), &second, sizeof second);
  };
  for (int j = 0; j < directions; ++j) {
    Float8 a = {}, b = {}, c = {}, d = {};
    int k = 0;
    for (; k + 1 < j; k += 2) {
      a += eight(L + at(j, k)) * eight(w + at(0, k));
      b += eight(M + at(j, k)) * eight(v + at(0, k));
      c += eight(L + at(j, k + 1)) * eight(w + at(0, k + 1));
      d += eight(M + at(j, k + 1)) * eight(v + at(0, k + 1));
    }
    if (k < j) {
      a += eight(L + at(j, k)) * eight(w + at(0, k));
      b += eight(M + at(j, k)) * eight(v + at(0, k));
    }
    const float* const right = z + static_cast<std::size_t>(j) * kBlock;
    keep(j, (eight(right) - (a + c)) * eight(L + at(j, j)), (eight(right + kLanes) - (b + d)) * eight(M + at(j, j)));
  }
  for (int j = directions - 1; j >= 0; --j) {
    Float8 a = {}, b = {}, c = {}, d = {};
    int k = j + 1;
    for (; k + 1 < directions; k += 2) {
      a += eight(L + at(k, j)) * eight(w + at(0, k));
      b += eight(M + at(k, j)) * eight(v + at(0, k));
      c += eight(L + at(k + 1, j)) * eight(w + at(0, k + 1));
      d += eight(M + at(k + 1, j)) * eight(v + at(0, k + 1));
    }
    if (k < directions) {
      a += eight(L + at(k, j)) * eight(w + at(0, k));
      b += eight(M + at(k, j)) * eight(v + at(0, k));
    }
    const Float8 first = (eight(w + at(0, j)) - (a + c)) * eight(L + at(j, j));
    const Float8 second = (eight(v + at(0, j)) - (b + d)) * eight(M + at(j, j));
    keep(j, first, second);
    float* const out = z + static_cast<std::size_t>(j) * kBlock;
    std::memcpy(out, &first, sizeof first);
    std::memcpy(out + kLanes, &second, sizeof second);
  }
}

}  // namespace

void solve_block_in_float(const float* factor, int directions, float* z) {
  static_assert(kBlock % (2 * kLanes) == 0);
  const std::size_t pairs = static_cast<std::size_t>(directions * (directions + 1) / 2);
  std::vector<float> scratch(2 * static_cast<std::size_t>(directions) * kLanes);
  for (std::size_t first = 0; first < kBlock; first += 2 * kLanes)
    solve_two_groups(factor + first * pairs, pairs, directions, scratch.data(), z + first);
}

template <class T>
void contract_block(const T* u, const T* wide, int directions, T* q) {
  for (int k = 0; k < directions; ++k) {
    const T* columns = wide + static_cast<std::size_t>(4 * k) * kBlock;
    T* out = q + static_cast<std::size_t>(k) * kBlock;
    for (std::size_t i = 0; i < kBlock; ++i)
      out[i] = u[i] * columns[i] + u[kBlock + i] * columns[kBlock + i] + u[2 * kBlock + i] * columns[2 * kBlock + i] +
               u[3 * kBlock + i] * columns[3 * kBlock + i];
  }
}

template <class T>
void expand_block(const T* u, const T* z, int directions, T* wide) {
  for (int k = 0; k < directions; ++k) {
    const T* in = z + static_cast<std::size_t>(k) * kBlock;
    for (int c = 0; c < 4; ++c) {
      T* out = wide + static_cast<std::size_t>(4 * k + c) * kBlock;
      const T* coordinate = u + static_cast<std::size_t>(c) * kBlock;
      for (std::size_t i = 0; i < kBlock; ++i) out[i] = coordinate[i] * in[i];
    }
  }
}

double squared_norm(const double* values, std::size_t count) {
  Double8 total;
  for (std::size_t i = 0; i < count; i += kLanes) {
    const Double8 value = lanes::load(values + i);
    total = total + value * value;
  }
  return lanes::sum(total);
}

Eigen::MatrixXd whitening(const Eigen::MatrixXd& S) {
  Eigen::VectorXd scale = S.diagonal().cwiseMax(0).cwiseSqrt();
  for (double& value : scale) value = value > 0 ? 1 / value : 0;
  const SymmetricEigen eigen = symmetric_eigen(scale.asDiagonal() * S * scale.asDiagonal());
  const Eigen::VectorXd& values = eigen.values;
  Eigen::Index first = 0;
  while (first < values.size() && values(first) <= 1e-13 * values(values.size() - 1)) ++first;
  const Eigen::Index kept = values.size() - first;
  return scale.asDiagonal() * eigen.vectors.rightCols(kept) * values.tail(kept).cwiseSqrt().cwiseInverse().asDiagonal();
}

template void solve_block(const double*, int, double*);
template void solve_block(const double*, int, float*);
template void contract_block(const double*, const double*, int, double*);
template void contract_block(const float*, const float*, int, float*);
template void expand_block(const double*, const double*, int, double*);
template void expand_block(const float*, const float*, int, float*);

}  // namespace sinew::flats
