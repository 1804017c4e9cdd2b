// Primal-dual interior points (Mehrotra's predictor and corrector) for FacetProgram.
//
// Per constraint: slack s = aᵀx + ξ with multiplier λ, and with a finite cost ξ >= 0 with multiplier μ = cost - λ. The
// facets couple only in sum_j x_j = 1, so a Newton step is one h×h factorisation per facet and one for the coupling.

#include "math/facet_program.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>

#include "math/gemm.h"
#include "math/parallel.h"

namespace sinew {
namespace {

constexpr int kMaxNewton = 40;
constexpr int kMaxRounds = 4;  // what is violated then is met by a shorter step and generated for the next one
constexpr double kGapTolerance = 1e-10;
constexpr double kViolation = 1e-9;
constexpr double kWorthSharing = 1e6;  // multiplications of one step from which other threads help

}  // namespace

struct FacetProgram::Facet {
  int row = 0;
  bool soft = false;
  Eigen::MatrixXd A;          // n×h: constraint gradients
  Eigen::VectorXd x;          // h
  Eigen::VectorXd s, lambda;  // n
  Eigen::VectorXd xi, mu;     // n when soft
  Eigen::VectorXd dx, ds, dlambda, dxi, dmu;
  Eigen::VectorXd dual;    // gradient of the Lagrangian without the coupling multiplier
  Eigen::VectorXd primal;  // A x + ξ - s
  Eigen::VectorXd weight;  // θ
  Eigen::LLT<Eigen::MatrixXd> factor;

  void start(double cost) {
    const Eigen::Index n = A.rows();
    const double typical = 0.1;
    x = Eigen::VectorXd::Unit(A.cols(), row);
    s = (A * x).cwiseMax(typical * 0.1);
    const double multiplier = std::min(static_cast<double>(A.cols()) / static_cast<double>(n), 0.5 * cost);
    lambda = Eigen::VectorXd::Constant(n, multiplier);
    if (soft) {
      xi = Eigen::VectorXd::Constant(n, typical * 0.1);
      mu = (Eigen::VectorXd::Constant(n, cost) - lambda).cwiseMax(1e-3 * cost);
    }
  }

  void residuals() {
    dual = x;
    dual(row) -= 2;  // x - e_row - e_row
    dual.noalias() -= A.transpose() * lambda;
    primal = A * x - s;
    if (soft) {
      primal += xi;
      weight = (s.cwiseQuotient(lambda) + xi.cwiseQuotient(mu)).cwiseInverse();
    } else {
      weight = lambda.cwiseQuotient(s);
    }
    const Eigen::MatrixXd scaled = weight.cwiseSqrt().asDiagonal() * A;
    Eigen::MatrixXd H = Eigen::MatrixXd::Identity(A.cols(), A.cols());
    H.selfadjointView<Eigen::Lower>().rankUpdate(scaled.transpose());
    factor.compute(H);
  }

  // Constant part k of Δλ = k - θ aᵀΔx for complementarity targets r1 (s λ) and r2 (ξ μ).
  Eigen::VectorXd constant(const Eigen::VectorXd& r1, const Eigen::VectorXd& r2, double cost) const {
    if (!soft) return (r1 - lambda.cwiseProduct(primal)).cwiseQuotient(s);
    const Eigen::VectorXd rc = Eigen::VectorXd::Constant(s.size(), cost) - lambda - mu;
    const Eigen::VectorXd shift = primal + (r2 - xi.cwiseProduct(rc)).cwiseQuotient(mu);
    return (r1 - lambda.cwiseProduct(shift)).cwiseProduct(weight).cwiseQuotient(lambda);
  }

  void recover(const Eigen::VectorXd& k, const Eigen::VectorXd& r2, double cost) {
    const Eigen::VectorXd Adx = A * dx;
    dlambda = k - weight.cwiseProduct(Adx);
    ds = Adx + primal;
    if (!soft) return;
    dmu = Eigen::VectorXd::Constant(s.size(), cost) - lambda - mu - dlambda;
    dxi = (r2 - xi.cwiseProduct(dmu)).cwiseQuotient(mu);
    ds += dxi;
  }

  static double limit(const Eigen::VectorXd& value, const Eigen::VectorXd& change) {
    double step = 1e300;
    for (Eigen::Index i = 0; i < value.size(); ++i)
      if (change(i) < 0) step = std::min(step, -value(i) / change(i));
    return step;
  }
  double limit() const {
    double step = std::min(limit(s, ds), limit(lambda, dlambda));
    if (soft) step = std::min({step, limit(xi, dxi), limit(mu, dmu)});
    return step;
  }
  double gap(double step) const {
    double total = (s + step * ds).dot(lambda + step * dlambda);
    if (soft) total += (xi + step * dxi).dot(mu + step * dmu);
    return total;
  }
  double gap() const { return s.dot(lambda) + (soft ? xi.dot(mu) : 0); }
  Eigen::Index pairs() const { return s.size() * (soft ? 2 : 1); }
  void move(double step) {
    x += step * dx;
    s += step * ds;
    lambda += step * dlambda;
    if (!soft) return;
    xi += step * dxi;
    mu += step * dmu;
  }
};

bool FacetProgram::add_violated(const Eigen::MatrixXd& values) {
  bool added = false;
  const auto limit = 4 * static_cast<std::size_t>(h_);
  for (int j = 0; j < h_; ++j) {
    std::vector<Eigen::Index>& set = sets_[static_cast<std::size_t>(j)];
    std::vector<std::pair<double, Eigen::Index>> found;
    for (Eigen::Index i = 0; i < values.cols(); ++i)
      if (values(j, i) < -kViolation && !std::binary_search(set.begin(), set.end(), i))
        found.emplace_back(values(j, i), i);
    if (found.size() > limit) {
      std::nth_element(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(limit), found.end());
      if (std::isinf(cost_)) found.resize(limit);
    }
    for (const auto& [value, i] : found) set.push_back(i);
    std::sort(set.begin(), set.end());
    added = added || !found.empty();
  }
  return added;
}

Eigen::MatrixXd FacetProgram::solve_generated(const Eigen::MatrixXd& weights, int threads) {
  const Eigen::Index h = h_;
  std::vector<Facet> facets(static_cast<std::size_t>(h));
  Eigen::Index pairs = 0;
  for (Eigen::Index j = 0; j < h; ++j) {
    Facet& facet = facets[static_cast<std::size_t>(j)];
    const std::vector<Eigen::Index>& set = sets_[static_cast<std::size_t>(j)];
    facet.row = static_cast<int>(j);
    facet.soft = !std::isinf(cost_);
    facet.A.resize(static_cast<Eigen::Index>(set.size()), h);
    for (std::size_t n = 0; n < set.size(); ++n)
      facet.A.row(static_cast<Eigen::Index>(n)) = weights.col(set[n]).transpose();
    facet.start(cost_);
    pairs += facet.pairs();
  }
  // Waking other threads for every step costs more than small facets do.
  const int helpers = static_cast<double>(pairs) * static_cast<double>(h * h) < kWorthSharing ? 1 : threads;
  Eigen::VectorXd nu = Eigen::VectorXd::Ones(h);
  for (int n = 0; n < kMaxNewton; ++n) {
    std::vector<Eigen::MatrixXd> inverses(facets.size());
    parallel_for(facets.size(), 1, helpers, [&](std::size_t begin, std::size_t end) {
      for (std::size_t j = begin; j < end; ++j) {
        facets[j].residuals();
        inverses[j] = facets[j].factor.solve(Eigen::MatrixXd::Identity(h, h));
      }
    });
    Eigen::MatrixXd coupling = Eigen::MatrixXd::Zero(h, h);
    Eigen::VectorXd equality = Eigen::VectorXd::Ones(h);
    double gap = 0;
    double infeasible = 0;
    for (std::size_t j = 0; j < facets.size(); ++j) {
      coupling += inverses[j];
      equality -= facets[j].x;
      gap += facets[j].gap();
      infeasible = std::max({infeasible, (facets[j].dual + nu).cwiseAbs().maxCoeff(),
                             facets[j].primal.size() > 0 ? facets[j].primal.cwiseAbs().maxCoeff() : 0.0});
    }
    const double mean_gap = gap / static_cast<double>(pairs);
    if (gap < kGapTolerance * static_cast<double>(h) && infeasible < 1e-9) break;
    const Eigen::LLT<Eigen::MatrixXd> coupled(coupling);
    // One Newton direction towards complementarity `target`, with second-order terms of the previous direction.
    const auto direction = [&](double target, bool corrector) {
      std::vector<Eigen::VectorXd> k(facets.size()), r2(facets.size()), right(facets.size());
      Eigen::VectorXd sum = -equality;
      for (std::size_t j = 0; j < facets.size(); ++j) {
        Facet& facet = facets[j];
        Eigen::VectorXd r1 = Eigen::VectorXd::Constant(facet.s.size(), target) - facet.s.cwiseProduct(facet.lambda);
        if (corrector) r1 -= facet.ds.cwiseProduct(facet.dlambda);
        if (facet.soft) {
          r2[j] = Eigen::VectorXd::Constant(facet.s.size(), target) - facet.xi.cwiseProduct(facet.mu);
          if (corrector) r2[j] -= facet.dxi.cwiseProduct(facet.dmu);
        }
        k[j] = facet.constant(r1, r2[j], cost_);
        right[j] = -facet.dual - nu + facet.A.transpose() * k[j];
        sum += inverses[j] * right[j];
      }
      const Eigen::VectorXd dnu = coupled.solve(sum);
      double step = 1e300;
      for (std::size_t j = 0; j < facets.size(); ++j) {
        facets[j].dx = inverses[j] * (right[j] - dnu);
        facets[j].recover(k[j], r2[j], cost_);
        step = std::min(step, facets[j].limit());
      }
      return std::pair<Eigen::VectorXd, double>(dnu, step);
    };
    const auto [dnu_affine, reach] = direction(0, false);
    double affine_gap = 0;
    for (const Facet& facet : facets) affine_gap += facet.gap(std::min(1.0, reach));
    const double centring = std::pow(affine_gap / gap, 3);
    const auto [dnu, limit] = direction(centring * mean_gap, true);
    const double step = std::min(1.0, 0.995 * limit);
    for (Facet& facet : facets) facet.move(step);
    nu += step * dnu;
  }
  Eigen::MatrixXd X(h, h);
  for (Eigen::Index j = 0; j < h; ++j) X.row(j) = facets[static_cast<std::size_t>(j)].x.transpose();
  // The coupling holds exactly, whatever the interior-point method left.
  const Eigen::RowVectorXd miss = (Eigen::RowVectorXd::Ones(h) - X.colwise().sum()) / static_cast<double>(h);
  X.rowwise() += miss;
  return X;
}

Eigen::MatrixXd FacetProgram::solve(const Eigen::MatrixXd& weights, int threads) {
  // Seeds: the points nearest to each facet. Constraints far from their facet are forgotten.
  for (int j = 0; j < h_; ++j) {
    std::vector<Eigen::Index>& set = sets_[static_cast<std::size_t>(j)];
    std::erase_if(set, [&](Eigen::Index i) { return weights(j, i) > 0.2; });
    if (!set.empty()) continue;
    std::vector<Eigen::Index> order(static_cast<std::size_t>(weights.cols()));
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<Eigen::Index>(i);
    const auto count =
        static_cast<std::ptrdiff_t>(std::min<std::size_t>(order.size(), static_cast<std::size_t>(4 * h_)));
    std::partial_sort(order.begin(), order.begin() + count, order.end(), [&](Eigen::Index a, Eigen::Index b) {
      return weights(j, a) != weights(j, b) ? weights(j, a) < weights(j, b) : a < b;
    });
    set.assign(order.begin(), order.begin() + count);
    std::sort(set.begin(), set.end());
  }
  Eigen::MatrixXd X;
  Eigen::MatrixXd values(h_, weights.cols());
  for (int round = 0; round < kMaxRounds; ++round) {
    X = solve_generated(weights, threads);
    gemm(Op::none, Op::none, 1.0, X, weights, 0.0, values, threads);
    if (!add_violated(values)) break;
  }
  return X;
}

}  // namespace sinew
