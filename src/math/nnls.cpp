#include "math/nnls.h"
#include "math/decompositions.h"

#include <algorithm>
#include <vector>

namespace sinew {
namespace {

/// The unconstrained minimiser over the free entries, zero elsewhere.
Eigen::VectorXd solve_free(const Eigen::Ref<const Eigen::MatrixXd>& G, const Eigen::Ref<const Eigen::VectorXd>& g,
                           const std::vector<char>& free) {
  std::vector<Eigen::Index> at;
  for (Eigen::Index i = 0; i < g.size(); ++i) {
    if (free[static_cast<std::size_t>(i)] != 0) at.push_back(i);
  }
  const auto n = static_cast<Eigen::Index>(at.size());
  Eigen::MatrixXd H(n, n);
  Eigen::VectorXd h(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    h[i] = g[at[static_cast<std::size_t>(i)]];
    for (Eigen::Index j = 0; j < n; ++j) H(i, j) = G(at[static_cast<std::size_t>(i)], at[static_cast<std::size_t>(j)]);
  }
  const Eigen::VectorXd y = solve_symmetric(H, h);
  Eigen::VectorXd x = Eigen::VectorXd::Zero(g.size());
  for (Eigen::Index i = 0; i < n; ++i) x[at[static_cast<std::size_t>(i)]] = y[i];
  return x;
}

double objective(const Eigen::Ref<const Eigen::MatrixXd>& G, const Eigen::Ref<const Eigen::VectorXd>& g,
                 const Eigen::VectorXd& x) {
  return x.dot(G * x) - 2 * g.dot(x);
}

/// The way from x to the minimiser over the free entries, entries that reach zero on it leaving the free set.
Eigen::VectorXd descend(const Eigen::Ref<const Eigen::MatrixXd>& G, const Eigen::Ref<const Eigen::VectorXd>& g,
                        Eigen::VectorXd x, std::vector<char>& free) {
  for (Eigen::Index pass = 0; pass <= g.size(); ++pass) {
    const Eigen::VectorXd y = solve_free(G, g, free);
    if (!y.allFinite()) return x;
    double step = 1;
    Eigen::Index blocking = -1;
    for (Eigen::Index i = 0; i < x.size(); ++i) {
      if (free[static_cast<std::size_t>(i)] == 0 || y[i] > 0) continue;
      const double t = x[i] > y[i] ? x[i] / (x[i] - y[i]) : 0;
      if (blocking < 0 || t < step) {
        step = t;
        blocking = i;
      }
    }
    x += step * (y - x);
    if (blocking < 0) return x;
    x[blocking] = 0;
    free[static_cast<std::size_t>(blocking)] = 0;
    for (Eigen::Index i = 0; i < x.size(); ++i) {
      if (x[i] <= 0) {
        x[i] = 0;
        free[static_cast<std::size_t>(i)] = 0;
      }
    }
  }
  return x;
}

}  // namespace

Eigen::VectorXd nonnegative_least_squares(const Eigen::Ref<const Eigen::MatrixXd>& G,
                                          const Eigen::Ref<const Eigen::VectorXd>& g) {
  const Eigen::Index n = g.size();
  Eigen::VectorXd x = Eigen::VectorXd::Zero(n);
  std::vector<char> free(static_cast<std::size_t>(n), 0);
  std::vector<char> refused(static_cast<std::size_t>(n), 0);  // freed at this x without gain
  const double scale = std::max(G.diagonal().maxCoeff(), g.cwiseAbs().maxCoeff());
  double value = 0;
  for (Eigen::Index round = 0; round < 10 * n + 10; ++round) {
    const Eigen::VectorXd slope = g - G * x;
    Eigen::Index best = -1;
    for (Eigen::Index i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (free[at] == 0 && refused[at] == 0 && slope[i] > 1e-12 * scale && (best < 0 || slope[i] > slope[best]))
        best = i;
    }
    if (best < 0) break;
    std::vector<char> tried = free;
    tried[static_cast<std::size_t>(best)] = 1;
    const Eigen::VectorXd next = descend(G, g, x, tried);
    const double next_value = objective(G, g, next);
    if (next_value < value) {
      x = next;
      free = tried;
      value = next_value;
      std::fill(refused.begin(), refused.end(), 0);
    } else {
      refused[static_cast<std::size_t>(best)] = 1;
    }
  }
  return x;
}

Eigen::VectorXd truncated_least_squares(const Eigen::Ref<const Eigen::MatrixXd>& G,
                                        const Eigen::Ref<const Eigen::VectorXd>& g, double threshold) {
  const SymmetricEigen eigen = symmetric_eigen(G);
  const double largest = eigen.values[G.rows() - 1];
  Eigen::VectorXd x = Eigen::VectorXd::Zero(g.size());
  for (Eigen::Index i = 0; i < g.size(); ++i) {
    const double value = eigen.values[i];
    if (value <= threshold * threshold * largest || value <= 0) continue;
    x += eigen.vectors.col(i) * (eigen.vectors.col(i).dot(g) / value);
  }
  return x;
}

}  // namespace sinew
