#include "solve/lbs/vertex_weight_solver.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sinew::lbs {
namespace {

/// Products are single precision: reduced gradients below this, relative to G, are noise.
constexpr double kNoise = 2e-7;

}  // namespace

VertexWeightSolver::VertexWeightSolver(const BoneGram& gram, int influences)
    : gram_(gram), influences_(std::min(influences, gram.bones)), stride_(static_cast<std::size_t>(gram.padded)) {
  // A support may hold one bone too many while it is being exchanged, and all bones before it is pruned.
  const auto slots = static_cast<std::size_t>(gram.bones) + 1;
  g_.resize(stride_);
  gradient_.resize(stride_);
  rows_.resize(slots * stride_);
  weight_.resize(slots);
  small_.resize(slots * slots);
  small_g_.resize(slots);
  inverse_.resize(slots * slots);
  bone_.resize(slots);
  row_of_.resize(slots);
  bone_in_row_.resize(slots, -1);
  free_rows_.reserve(slots);
  slope_.resize(stride_);
  schur_.resize(stride_);
  reach_.resize(stride_);
  total_.resize(stride_);
  gains_.resize(stride_);
  diagonal_.resize(stride_);
  solved_.resize(slots * stride_);
  base_.resize(slots);
  base_weight_.resize(slots);
  saved_weight_.resize(slots);
  saved_bone_.resize(slots);
  saved_row_.resize(slots);
  saved_free_.reserve(slots);
  best_weight_.resize(slots);
  best_bone_.resize(slots);
  tried_.reserve(slots);
}

template <class Scalar>
void VertexWeightSolver::load(const Eigen::Vector3d& u, const Scalar* products, double ridge, const double* pull) {
  const double x = u[0], y = u[1], z = u[2];
  const double values[kMonomials] = {x * x, y * y, z * z, x * y, x * z, y * z, x, y, z, 1};
  std::copy(values, values + kMonomials, monomials_);
  const Scalar* qx = products;
  const Scalar* qy = qx + stride_;
  const Scalar* qz = qy + stride_;
  const Scalar* q1 = qz + stride_;
  for (std::size_t j = 0; j < stride_; ++j) g_[j] = x * qx[j] + y * qy[j] + z * qz[j] + q1[j];
  if (pull != nullptr) {
    for (std::size_t j = 0; j < stride_; ++j) g_[j] += pull[j];
  }
  std::fill(diagonal_.begin(), diagonal_.end(), ridge);
  for (std::size_t m = 0; m < kMonomials; ++m) {
    const double* c = gram_.diagonal.data() + m * stride_;
    for (std::size_t j = 0; j < stride_; ++j) diagonal_[j] += monomials_[m] * c[j];
  }
  ridge_ = ridge;
  pull_ = pull;
  count_ = 0;
  banned_ = -1;
  free_rows_.clear();
  for (int r = gram_.bones; r >= 0; --r) free_rows_.push_back(r);
}

template void VertexWeightSolver::load(const Eigen::Vector3d&, const float*, double, const double*);
template void VertexWeightSolver::load(const Eigen::Vector3d&, const double*, double, const double*);

/// Row `bone` of G, into buffer r.
void VertexWeightSolver::fill_row(int r, int bone) {
  double* out = rows_.data() + static_cast<std::size_t>(r) * stride_;
  const double* c = gram_.coefficients.data() + static_cast<std::size_t>(bone) * kMonomials * stride_;
  const std::size_t n = stride_;
  const double m0 = monomials_[0], m1 = monomials_[1], m2 = monomials_[2], m3 = monomials_[3], m4 = monomials_[4];
  const double m5 = monomials_[5], m6 = monomials_[6], m7 = monomials_[7], m8 = monomials_[8];
  for (std::size_t j = 0; j < n; ++j) {
    out[j] = c[j] * m0 + c[n + j] * m1 + c[2 * n + j] * m2 + c[3 * n + j] * m3 + c[4 * n + j] * m4 + c[5 * n + j] * m5 +
             c[6 * n + j] * m6 + c[7 * n + j] * m7 + c[8 * n + j] * m8 + c[9 * n + j];
  }
  out[bone] += ridge_;
  bone_in_row_[r] = bone;
}

void VertexWeightSolver::enter(int bone, double weight) {
  const int r = free_rows_.back();
  free_rows_.pop_back();
  fill_row(r, bone);
  bone_[count_] = bone;
  row_of_[count_] = r;
  weight_[count_] = weight;
  ++count_;
}

void VertexWeightSolver::leave(int slot) {
  free_rows_.push_back(row_of_[slot]);
  --count_;
  bone_[slot] = bone_[count_];
  row_of_[slot] = row_of_[count_];
  weight_[slot] = weight_[count_];
}

void VertexWeightSolver::set_support(const std::uint16_t* bones, const float* values, int count) {
  for (int k = 0; k < count; ++k) {
    if (values[k] > 0) enter(bones[k], values[k]);
  }
  if (count_ > 0) return;
  int best = 0;
  double lowest = std::numeric_limits<double>::infinity();
  for (int b = 0; b < gram_.bones; ++b) {
    const double value = diagonal_[b] - 2 * g_[b];
    if (value < lowest) lowest = value, best = b;
  }
  enter(best, 1);
}

/// The exact simplex problem on the support; bones whose weight becomes zero leave it.
double VertexWeightSolver::solve_support() {
  const int n = count_;
  scale_ = 0;
  for (int a = 0; a < n; ++a) {
    const double* r = row(a);
    for (int b = 0; b < n; ++b) small_[a * n + b] = r[bone_[b]];
    small_g_[a] = g_[bone_[a]];
    scale_ = std::max(scale_, r[bone_[a]]);
  }
  objective_ = simplex_least_squares(small_.data(), n, small_g_.data(), n, weight_.data(), workspace_);
  for (int a = n - 1; a >= 0; --a) {
    if (weight_[a] <= 0) leave(a);
  }
  return objective_;
}

void VertexWeightSolver::compute_gradient() {
  for (std::size_t j = 0; j < stride_; ++j) gradient_[j] = -g_[j];
  for (int a = 0; a < count_; ++a) {
    const double* r = row(a);
    const double w = weight_[a];
    for (std::size_t j = 0; j < stride_; ++j) gradient_[j] += w * r[j];
  }
}

/// The bone outside the support whose reduced gradient is lowest, or -1 when no bone can lower the objective.
int VertexWeightSolver::most_promising(double& violation) const {
  double mean = 0;
  for (int a = 0; a < count_; ++a) mean += weight_[a] * gradient_[bone_[a]];
  int best = -1;
  double lowest = mean - kNoise * scale_;
  for (int j = 0; j < gram_.bones; ++j) {
    if (gradient_[j] >= lowest || j == banned_) continue;
    bool inside = false;
    for (int a = 0; a < count_; ++a) inside = inside || bone_[a] == j;
    if (inside) continue;
    lowest = gradient_[j];
    best = j;
  }
  violation = mean - lowest;
  return best;
}

double VertexWeightSolver::improve(int swaps) {
  exchanged_ = false;
  solve_support();
  if (count_ > influences_) drop_to(influences_);
  for (int round = 0; round < 4 * influences_ + 8; ++round) {
    compute_gradient();
    double violation = 0;
    const int entering = most_promising(violation);
    if (entering < 0) break;
    if (count_ < influences_) {
      enter(entering, 0);
      // A newcomer starts at zero; the solver lets it in by its gradient.
      const double before = objective_;
      if (!(solve_support() < before)) break;
    } else if (swaps-- <= 0 || !exchange()) {
      break;
    } else {
      exchanged_ = true;
    }
  }
  return objective_;
}

void VertexWeightSolver::keep_best() {
  best_ = {count_, objective_};
  std::copy(weight_.begin(), weight_.begin() + count_, best_weight_.begin());
  std::copy(bone_.begin(), bone_.begin() + count_, best_bone_.begin());
}

void VertexWeightSolver::take_best() {
  while (count_ > 0) leave(count_ - 1);
  for (int a = 0; a < best_.count; ++a) enter(best_bone_[a], best_weight_[a]);
  objective_ = best_.objective;
}

double VertexWeightSolver::improve_thoroughly(int swaps) {
  improve(swaps);
  if (count_ < 2 || gram_.bones <= influences_) return objective_;
  keep_best();
  tried_.assign(bone_.begin(), bone_.begin() + count_);
  for (const int bone : tried_) {
    const auto at = std::find(bone_.begin(), bone_.begin() + count_, bone);
    if (at == bone_.begin() + count_) continue;
    leave(static_cast<int>(at - bone_.begin()));
    banned_ = bone;
    improve(swaps);
    banned_ = -1;
    improve(swaps);
    if (objective_ < best_.objective) {
      keep_best();
    } else {
      take_best();
    }
  }
  return objective_;
}

/// What each bone j would gain when added to the bones `base` with optimal weights `w`: the step along the direction
/// that the others readjust to at best, cut where a weight would turn negative. Fills gains_; H⁻¹ by Cholesky.
void VertexWeightSolver::gains_over(const int* base, const double* w, int m) {
  const std::size_t n = stride_;
  const double* last = row(base[m - 1]);
  const int r = bone_[base[m - 1]];
  double* slope = slope_.data();
  for (std::size_t j = 0; j < n; ++j) slope[j] = -g_[j];
  for (int a = 0; a < m; ++a) {
    const double* row_a = row(base[a]);
    for (std::size_t j = 0; j < n; ++j) slope[j] += w[a] * row_a[j];
  }
  const double flat = slope[r];
  double* schur = schur_.data();
  const double corner = last[r];
  for (std::size_t j = 0; j < n; ++j) schur[j] = diagonal_[j] - 2 * last[j] + corner;
  // Forward substitution of every a_j = <t − r, j − r> at once.
  double* L = small_.data();
  for (int a = 0; a + 1 < m; ++a) {
    const double* row_a = row(base[a]);
    const double shift = corner - row_a[r];
    double* z = solved_.data() + static_cast<std::size_t>(a) * n;
    for (std::size_t j = 0; j < n; ++j) z[j] = row_a[j] - last[j] + shift;
    double pivot = row_a[bone_[base[a]]] - 2 * row_a[r] + corner;
    for (int c = 0; c < a; ++c) {
      const double* z_c = solved_.data() + static_cast<std::size_t>(c) * n;
      const double l = z_c[bone_[base[a]]];
      L[a * m + c] = l;
      pivot -= l * l;
      for (std::size_t j = 0; j < n; ++j) z[j] -= l * z_c[j];
    }
    const double d = pivot > 1e-10 * scale_ ? 1 / std::sqrt(pivot) : 0;
    L[a * m + a] = d;
    for (std::size_t j = 0; j < n; ++j) {
      z[j] *= d;
      schur[j] -= z[j] * z[j];
    }
  }
  double* reach = reach_.data();
  double* total = total_.data();
  std::fill(total, total + n, 1.0);
  for (std::size_t j = 0; j < n; ++j) {
    const double s = schur[j] > 1e-9 * scale_ ? schur[j] : 1e-9 * scale_;
    const double d = slope[j] - flat;
    schur[j] = s;
    slope[j] = d;
    reach[j] = d < 0 ? -d / s : 0;
  }
  // Back substitution: how much of weight t the newcomer takes per unit of its own.
  for (int a = m - 2; a >= 0; --a) {
    double* z = solved_.data() + static_cast<std::size_t>(a) * n;
    for (int c = a + 1; c + 1 < m; ++c) {
      const double* z_c = solved_.data() + static_cast<std::size_t>(c) * n;
      const double l = L[c * m + a];
      for (std::size_t j = 0; j < n; ++j) z[j] -= l * z_c[j];
    }
    const double d = L[a * m + a];
    const double limit = w[a];
    for (std::size_t j = 0; j < n; ++j) {
      z[j] *= d;
      total[j] -= z[j];
      const double most = z[j] > 1e-12 ? limit / z[j] : 1e12;
      reach[j] = reach[j] < most ? reach[j] : most;
    }
  }
  double* gain = gains_.data();
  for (std::size_t j = 0; j < n; ++j) {
    const double most = total[j] > 1e-12 ? w[m - 1] / total[j] : 1e12;
    const double t = reach[j] < most ? reach[j] : most;
    gain[j] = -t * (2 * slope[j] + t * schur[j]);
  }
}

/// The best exchange of one bone for another, found by trying to leave out each in turn; undone unless it pays.
bool VertexWeightSolver::exchange() {
  const int n = count_;
  const double before = objective_;
  double best = before - kNoise * kNoise * scale_;
  int out = -1, in = -1;
  if (n == 1) {
    // Nothing stays to add to: another bone may be better alone.
    for (int j = 0; j < gram_.bones; ++j) {
      const double alone = diagonal_[j] - 2 * g_[j];
      if (j != banned_ && j != bone_[0] && alone < best) best = alone, out = 0, in = j;
    }
  }
  for (int k = 0; k < n && n > 1; ++k) {
    int m = 0;
    for (int a = 0; a < n; ++a) {
      if (a != k) base_[m++] = a;
    }
    for (int a = 0; a < m; ++a) {
      const double* r = row(base_[a]);
      for (int b = 0; b < m; ++b) small_[a * m + b] = r[bone_[base_[b]]];
      small_g_[a] = g_[bone_[base_[a]]];
      base_weight_[a] = weight_[base_[a]];
    }
    const double without = simplex_least_squares(small_.data(), m, small_g_.data(), m, base_weight_.data(), workspace_);
    int kept = 0;
    for (int a = 0; a < m; ++a) {
      if (base_weight_[a] > 0) base_[kept] = base_[a], base_weight_[kept++] = base_weight_[a];
    }
    gains_over(base_.data(), base_weight_.data(), kept);
    for (int a = 0; a < n; ++a) gains_[bone_[a]] = 0;
    if (banned_ >= 0) gains_[banned_] = 0;
    for (int j = 0; j < gram_.bones; ++j) {
      if (without - gains_[j] < best) best = without - gains_[j], out = k, in = j;
    }
  }
  if (out < 0) return false;
  save();
  leave(out);
  enter(in, 0);
  solve_support();
  if (objective_ < before) return true;
  restore();
  return false;
}

/// Drops bones, the one whose absence costs least first, until at most `most` remain.
void VertexWeightSolver::drop_to(int most) {
  while (count_ > most) {
    leave(cheapest_to_drop());
    solve_support();
  }
}

/// Setting weight k to zero while the others readjust (signs ignored) costs w_k² / (H⁻¹)_kk, H the Hessian on Σ w = 1.
int VertexWeightSolver::cheapest_to_drop() {
  const int m = count_ - 1;
  const double* last = row(m);
  const int r = bone_[m];
  double* L = small_.data();
  double* inverse = inverse_.data();
  double largest = 0;
  for (int a = 0; a < m; ++a) {
    const double* row_a = row(a);
    for (int b = 0; b <= a; ++b) L[a * m + b] = row_a[bone_[b]] - row_a[r] - last[bone_[b]] + last[r];
    largest = std::max(largest, L[a * m + a]);
  }
  const double ridge = 1e-12 * largest + 1e-300;
  for (int a = 0; a < m; ++a) {
    for (int b = 0; b < a; ++b) {
      double value = L[a * m + b];
      for (int c = 0; c < b; ++c) value -= L[a * m + c] * L[b * m + c];
      L[a * m + b] = value / L[b * m + b];
    }
    double pivot = L[a * m + a] + ridge;
    for (int c = 0; c < a; ++c) pivot -= L[a * m + c] * L[a * m + c];
    L[a * m + a] = std::sqrt(std::max(pivot, ridge));
  }
  // Column a of L⁻¹ in `inverse`; (H⁻¹)_aa is its squared norm.
  double best_cost = std::numeric_limits<double>::infinity();
  int best = 0;
  double* total = inverse + static_cast<std::ptrdiff_t>(m) * m;
  std::fill(total, total + m, 0.0);
  for (int a = 0; a < m; ++a) {
    double norm = 0;
    for (int i = a; i < m; ++i) {
      double value = i == a ? 1.0 : 0.0;
      for (int c = a; c < i; ++c) value -= L[i * m + c] * inverse[c];
      inverse[i] = value / L[i * m + i];
      norm += inverse[i] * inverse[i];
      total[i] += inverse[i];
    }
    const double cost = weight_[a] * weight_[a] / norm;
    if (cost < best_cost) best_cost = cost, best = a;
  }
  double norm = 0;  // of the eliminated bone: 1ᵀ H⁻¹ 1
  for (int i = 0; i < m; ++i) norm += total[i] * total[i];
  if (weight_[m] * weight_[m] / norm < best_cost) best = m;
  return best;
}

double VertexWeightSolver::objective_without(int slot) {
  save();
  const int bone = bone_[slot];
  leave(slot);
  banned_ = bone;
  if (count_ == 0) {
    // Every remaining bone alone, the best of them.
    int best = -1;
    double lowest = std::numeric_limits<double>::infinity();
    for (int b = 0; b < gram_.bones; ++b) {
      if (b == bone) continue;
      const double value = diagonal_[b] - 2 * g_[b];
      if (value < lowest) lowest = value, best = b;
    }
    if (best < 0) {
      restore();
      return std::numeric_limits<double>::infinity();
    }
    enter(best, 1);
  }
  solve_support();
  compute_gradient();
  double violation = 0;
  const int entering = most_promising(violation);
  if (entering >= 0) {
    enter(entering, 0);
    solve_support();
  }
  const double result = objective_;
  banned_ = -1;
  restore();
  return result;
}

double VertexWeightSolver::data_objective() {
  double value = 0;
  for (int a = 0; a < count_; ++a) {
    const double* r = row(a);
    const double g = g_[bone_[a]] - (pull_ != nullptr ? pull_[bone_[a]] : 0);
    double product = -2 * g - ridge_ * weight_[a];
    for (int b = 0; b < count_; ++b) product += r[bone_[b]] * weight_[b];
    value += weight_[a] * product;
  }
  return value;
}

double VertexWeightSolver::gain_towards(int bone) {
  // Along d = e_bone − w: f(w + s d) = f + 2 s p + s² q.
  double p = -g_[bone], cross = 0, square = 0, along = 0;
  for (int a = 0; a < count_; ++a) {
    const double* r = row(a);
    cross += weight_[a] * r[bone];
    along += weight_[a] * g_[bone_[a]];
    for (int b = 0; b < count_; ++b) square += weight_[a] * weight_[b] * r[bone_[b]];
  }
  p += cross - (square - along);
  const double q = diagonal_[bone] - 2 * cross + square;
  if (p >= 0 || q <= 0) return 0;
  const double s = std::min(1.0, -p / q);
  return -(2 * s * p + s * s * q);
}

void VertexWeightSolver::save() {
  saved_ = {count_, objective_};
  std::copy(weight_.begin(), weight_.begin() + count_, saved_weight_.begin());
  std::copy(bone_.begin(), bone_.begin() + count_, saved_bone_.begin());
  std::copy(row_of_.begin(), row_of_.begin() + count_, saved_row_.begin());
  saved_free_ = free_rows_;
}

/// Buffers of the saved support that a newcomer took in the meantime are filled again.
void VertexWeightSolver::restore() {
  count_ = saved_.count;
  objective_ = saved_.objective;
  std::copy(saved_weight_.begin(), saved_weight_.begin() + count_, weight_.begin());
  std::copy(saved_bone_.begin(), saved_bone_.begin() + count_, bone_.begin());
  std::copy(saved_row_.begin(), saved_row_.begin() + count_, row_of_.begin());
  free_rows_ = saved_free_;
  for (int a = 0; a < count_; ++a) {
    if (bone_in_row_[row_of_[a]] != bone_[a]) fill_row(row_of_[a], bone_[a]);
  }
}

}  // namespace sinew::lbs
