#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/index.h"
#include "math/decompositions.h"
#include "refine/two_layer_solver.h"

namespace sinew::two_layer {
namespace {

// Coefficients beyond these would make the model extrapolate far from any atom.
constexpr double kLowest = -1;
constexpr double kHighest = 2;

constexpr double kDictionaryRidge = 1e-7;  // of the mean diagonal

/// min over x of f(x a + (1 − x) b), with x kept within bounds.
std::pair<double, double> best_pair(double aa, double ab, double bb) {
  const double curvature = aa - 2 * ab + bb;
  const double x = curvature > 1e-30 ? std::clamp((bb - ab) / curvature, kLowest, kHighest) : 0.5;
  return {std::max(0.0, x * x * aa + 2 * x * (1 - x) * ab + (1 - x) * (1 - x) * bb), x};
}

/// Optimal affine coefficients of the chosen atoms: K α = μ 1, Σ α = 1. Returns f; infinite when out of bounds.
double solve_affine(const Eigen::Ref<const MatrixXd>& K, Code& code) {
  const int count = code.count;
  Eigen::Matrix4d M = Eigen::Matrix4d::Identity();
  Eigen::Vector4d one = Eigen::Vector4d::Zero();
  double trace = 0;
  for (int a = 0; a < count; ++a) trace += K(code.atoms[a], code.atoms[a]);
  for (int a = 0; a < count; ++a) {
    one[a] = 1;
    for (int b = 0; b < count; ++b) M(a, b) = K(code.atoms[a], code.atoms[b]);
    M(a, a) += 1e-12 * trace + 1e-300;
  }
  Eigen::Vector4d x = solve_symmetric(M, one);
  const double sum = x.sum();
  if (!(std::abs(sum) > 0) || !std::isfinite(sum)) return HUGE_VAL;
  x /= sum;
  for (int a = 0; a < count; ++a) {
    if (!(x[a] >= kLowest && x[a] <= kHighest)) return HUGE_VAL;
    code.values[a] = x[a];
  }
  double f = 0;
  for (int a = 0; a < count; ++a)
    for (int b = 0; b < count; ++b) f += x[a] * x[b] * K(code.atoms[a], code.atoms[b]);
  return std::max(0.0, f);
}

/// Atom j's part taken out of v's blend: Σ_{l ≠ j} α_l d_l.
void others(const State& state, Index v, std::size_t j, VectorXd& out) {
  out.setZero();
  const Code& code = state.codes[v];
  for (int s = 0; s < code.count; ++s)
    if (code.atoms[s] != j) out += code.values[s] * state.D.col(index(code.atoms[s]));
}

}  // namespace

double best_code(const Eigen::Ref<const MatrixXd>& K, int slots, double error, Code& code) {
  const auto P = static_cast<int>(K.cols());
  double best = error;
  const auto improves = [&best](double f) { return f < best * (1 - 1e-9); };
  if (P == 1 && improves(K(0, 0))) {
    best = K(0, 0);
    code = Code{};
  }
  for (int a = 0; a < P; ++a)
    for (int b = a + 1; b < P; ++b) {
      const auto [f, x] = best_pair(K(a, a), K(a, b), K(b, b));
      if (!improves(f)) continue;
      best = f;
      code.count = 2;
      code.atoms[0] = static_cast<Index>(a);
      code.atoms[1] = static_cast<Index>(b);
      code.values[0] = x;
      code.values[1] = 1 - x;
    }
  if (slots == 2 || code.count != 2 || !(best < error)) return best;
  for (int extra = 3; extra <= std::min(slots, P); ++extra) {
    const Code before = code;
    for (int a = 0; a < P; ++a) {
      if (std::find(before.atoms, before.atoms + before.count, static_cast<Index>(a)) != before.atoms + before.count)
        continue;
      Code trial = before;
      trial.atoms[trial.count++] = static_cast<Index>(a);
      const double f = solve_affine(K, trial);
      if (!improves(f)) continue;
      best = f;
      code = trial;
    }
    if (code.count == before.count) break;
  }
  return best;
}

void sparsify(Eigen::Ref<VectorXd> atom, std::size_t masters) {
  const auto B = static_cast<std::size_t>(atom.size());
  if (masters<B&& static_cast<std::size_t>((atom.array() != 0).count())> masters) {
    std::vector<Eigen::Index> order(B);
    std::iota(order.begin(), order.end(), Eigen::Index{0});
    std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(masters), order.end(),
                     [&](Eigen::Index a, Eigen::Index b) {
                       const double x = std::abs(atom[a]);
                       const double y = std::abs(atom[b]);
                       return x != y ? x > y : a < b;
                     });
    for (std::size_t i = masters; i < B; ++i) atom[order[i]] = 0;
  }
  // The closest vector with these entries and sum 1.
  const double missing = (1 - atom.sum()) / static_cast<double>((atom.array() != 0).count());
  atom.array() += (atom.array() != 0).select(Eigen::ArrayXd::Constant(atom.size(), missing), 0.0);
}

Users users_of(const State& state) {
  Users users;
  users.starts.assign(state.atoms() + 1, 0);
  for (const Code& code : state.codes)
    for (int s = 0; s < code.count; ++s) ++users.starts[code.atoms[s] + 1];
  std::partial_sum(users.starts.begin(), users.starts.end(), users.starts.begin());
  users.entries.resize(users.starts.back());
  std::vector<std::size_t> next(users.starts.begin(), users.starts.end() - 1);
  for (std::size_t v = 0; v < state.codes.size(); ++v)
    for (int s = 0; s < state.codes[v].count; ++s)
      users.entries[next[state.codes[v].atoms[s]]++] = {static_cast<Index>(v), state.codes[v].values[s]};
  return users;
}

void update_dictionary(const WeightMetric& metric, State& state) {
  const Users users = users_of(state);
  VectorXd sum(state.D.rows());
  for (std::size_t j = 0; j < state.atoms(); ++j) {
    sum.setZero();
    double square = 0;
    for (const auto& [v, value] : users[j]) {
      const Code& code = state.codes[v];
      sum += value * metric.targets().col(index(v)).cast<double>();
      for (int s = 0; s < code.count; ++s)
        if (code.atoms[s] != j) sum -= value * code.values[s] * state.D.col(index(code.atoms[s]));
      square += value * value;
    }
    if (!(square > 1e-12)) continue;
    sum /= square;
    sparsify(sum, state.masters);
    state.D.col(index(j)) = sum;
  }
}

namespace {

/// min dᵀ H d + 2 linearᵀ d with Σ d = 1 and at most `masters` entries. Entries are taken out one at a time, each time
/// the one that costs least: with P the inverse of H on the plane Σ d = 0, taking b out costs d_b² / P_bb and moves d
/// along P's column b [the optimal-brain-surgeon rule].
class SparseAffineMinimiser {
 public:
  bool minimise(const MatrixXd& H, const VectorXd& linear, std::size_t masters, VectorXd& d) {
    const Eigen::Index B = H.rows();
    if (!factor_.compute(H)) return false;
    P_ = factor_.inverse();
    const VectorXd shift = P_.rowwise().sum();
    const double sum = shift.sum();
    d = -(P_ * linear);
    d += shift * ((1 - d.sum()) / sum);
    if (!d.allFinite()) return false;
    if (masters >= static_cast<std::size_t>(B)) return true;
    P_ -= shift * shift.transpose() / sum;
    gone_.assign(static_cast<std::size_t>(B), false);
    for (std::size_t left = static_cast<std::size_t>(B); left > masters; --left) take_out_one(d);
    return true;
  }

 private:
  void take_out_one(VectorXd& d) {
    Eigen::Index cheapest = -1;
    double cost = HUGE_VAL;
    for (Eigen::Index b = 0; b < d.size(); ++b) {
      if (gone_[static_cast<std::size_t>(b)]) continue;
      const double here = P_(b, b) > 0 ? d[b] * d[b] / P_(b, b) : HUGE_VAL;
      if (cheapest >= 0 && !(here < cost)) continue;
      cheapest = b;
      cost = here;
    }
    gone_[static_cast<std::size_t>(cheapest)] = true;
    const VectorXd column = P_.col(cheapest);
    const double pivot = column[cheapest];
    if (pivot > 0) {
      d -= column * (d[cheapest] / pivot);
      P_ -= column * column.transpose() / pivot;
    }
    d[cheapest] = 0;  // exactly; it does not come back
    P_.col(cheapest).setZero();
    P_.row(cheapest).setZero();
  }

  Cholesky factor_;
  MatrixXd P_;
  std::vector<bool> gone_;
};

double objective(const MatrixXd& H, const VectorXd& linear, const VectorXd& d) {
  return d.dot(H * d) + 2 * linear.dot(d);
}

}  // namespace

void update_dictionary(const ExampleMetric& metric, State& state) {
  const Users users = users_of(state);
  const Eigen::Index B = state.D.rows();
  MatrixXd Q(B, B);
  MatrixXd H(B, B);
  VectorXd linear(B);
  VectorXd rest(B);
  VectorXd next(B);
  SparseAffineMinimiser minimiser;
  for (std::size_t j = 0; j < state.atoms(); ++j) {
    if (users[j].empty()) continue;
    H.setZero();
    linear.setZero();
    for (const auto& [v, value] : users[j]) {
      metric.form(v, Q);
      others(state, v, j, rest);
      H += value * value * Q;
      linear.noalias() += value * (Q * rest);
    }
    // The ridge keeps what the examples do not determine where it was.
    auto d = state.D.col(index(j));
    const double ridge = kDictionaryRidge * H.trace() / static_cast<double>(B) + 1e-300;
    H.diagonal().array() += ridge;
    linear -= ridge * VectorXd(d);
    if (minimiser.minimise(H, linear, state.masters, next) && objective(H, linear, next) < objective(H, linear, d))
      d = next;
  }
}

}  // namespace sinew::two_layer
