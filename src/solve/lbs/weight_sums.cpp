#include "solve/lbs/weight_sums.h"

#include <algorithm>

#include "core/index.h"
#include "math/gemm.h"
#include "math/lanes.h"

namespace sinew::lbs {
namespace {

using lanes::Double8;
using lanes::kLanes;

}  // namespace

SumBuilder::SumBuilder(std::size_t rows, int bones, SumsPart& part)
    : rows_(rows), bones_(static_cast<std::size_t>(bones)), part_(part), shares_(bones_) {
  part.S.assign(bones_ * bones_ * kMonomials, 0);
  part.C.setZero(index(rows), 4 * bones);
}

void SumBuilder::add(const float* y, const Eigen::Vector3d& u, std::span<const double, kMonomials> monomials,
                     const int* bones, const double* weights, int count, double importance) {
  double here[kMonomials];  // known to lie apart from the sums
  std::copy(monomials.begin(), monomials.end(), here);
  for (int a = 0; a < count; ++a) {
    const auto bone = static_cast<std::size_t>(bones[a]);
    const double own = importance * weights[a];
    shares_[bone].push_back({y, {own * u[0], own * u[1], own * u[2], own}});
    for (int b = 0; b < count; ++b) {
      if (bones[b] < bones[a]) continue;
      double* s = part_.S.data() + (bone * bones_ + static_cast<std::size_t>(bones[b])) * kMonomials;
      const double w = own * weights[b];
      for (std::size_t m = 0; m < kMonomials; ++m) s[m] += w * here[m];
    }
  }
}

/// Eight rows of a bone's four columns stay in registers while all its vertices are added.
void SumBuilder::flush() {
  for (std::size_t bone = 0; bone < bones_; ++bone) {
    std::vector<Share>& shares = shares_[bone];
    if (shares.empty()) continue;
    double* const columns[4] = {part_.C.data() + (4 * bone + 0) * rows_, part_.C.data() + (4 * bone + 1) * rows_,
                                part_.C.data() + (4 * bone + 2) * rows_, part_.C.data() + (4 * bone + 3) * rows_};
    std::size_t r = 0;
    for (; r + kLanes <= rows_; r += kLanes) {
      Double8 x = lanes::load(columns[0] + r), y = lanes::load(columns[1] + r);
      Double8 z = lanes::load(columns[2] + r), one = lanes::load(columns[3] + r);
      for (const Share& share : shares) {
        const Double8 value = lanes::load(share.y + r);
        x = x + share.x[0] * value;
        y = y + share.x[1] * value;
        z = z + share.x[2] * value;
        one = one + share.x[3] * value;
      }
      lanes::store(columns[0] + r, x);
      lanes::store(columns[1] + r, y);
      lanes::store(columns[2] + r, z);
      lanes::store(columns[3] + r, one);
    }
    for (; r < rows_; ++r)
      for (const Share& share : shares)
        for (std::size_t c = 0; c < 4; ++c) columns[c][r] += share.x[c] * static_cast<double>(share.y[r]);
    shares.clear();
  }
}

void join_parts(const Problem& problem, int bones, const std::vector<SumsPart>& parts, WeightSums& sums) {
  const auto B = static_cast<std::size_t>(bones);
  std::vector<double> packed(B * (B + 1) / 2 * kMonomials, 0);  // bones a ≤ b
  Eigen::MatrixXd C = Eigen::MatrixXd::Zero(index(problem.row_count()), 4 * bones);
  double counts[2] = {0, 0};  // squares, exchanges
  const std::span<double> all[] = {packed, {C.data(), static_cast<std::size_t>(C.size())}, counts};
  for (const std::span<double> sum : all) problem.ranks().take(sum);
  for (const SumsPart& part : parts) {
    double* to = packed.data();
    for (std::size_t a = 0; a < B; ++a) {
      const double* const from = part.S.data() + (a * B + a) * kMonomials;
      const std::size_t count = (B - a) * kMonomials;
      for (std::size_t i = 0; i < count; ++i) to[i] += from[i];
      to += count;
    }
    C += part.C;
    counts[0] += part.squares;
    counts[1] += static_cast<double>(part.exchanges);
  }
  for (const std::span<double> sum : all) problem.ranks().hand_on(sum);
  for (const std::span<double> sum : all) problem.ranks().total(sum);
  sums.squares = counts[0];
  sums.exchanges = static_cast<std::uint64_t>(counts[1]);
  static constexpr int kRow[kMonomials] = {0, 1, 2, 0, 0, 1, 0, 1, 2, 3};
  static constexpr int kColumn[kMonomials] = {0, 1, 2, 1, 2, 2, 3, 3, 3, 3};
  sums.S.setZero(4 * bones, 4 * bones);
  const double* s = packed.data();
  for (std::size_t a = 0; a < B; ++a) {
    for (std::size_t b = a; b < B; ++b, s += kMonomials) {
      for (int m = 0; m < kMonomials; ++m) {
        sums.S(index(4 * a) + kRow[m], index(4 * b) + kColumn[m]) = s[m];
        sums.S(index(4 * a) + kColumn[m], index(4 * b) + kRow[m]) = s[m];
        sums.S(index(4 * b) + kRow[m], index(4 * a) + kColumn[m]) = s[m];
        sums.S(index(4 * b) + kColumn[m], index(4 * a) + kRow[m]) = s[m];
      }
    }
  }
  if (problem.reduced()) {
    sums.C.resize(index(3 * problem.frame_count()), 4 * bones);
    gemm(Op::none, Op::none, 1.0, problem.basis().cast<double>(), C, 0.0, sums.C, problem.threads());
  } else {
    sums.C = std::move(C);
  }
}

}  // namespace sinew::lbs
