#include "math/assignment.h"

#include <algorithm>
#include <limits>

namespace sinew {
namespace {

/// With no more rows than columns: rows join one by one, each by the shortest augmenting path for the potentials u, v.
std::vector<int> assign_rows(const Eigen::MatrixXd& cost) {
  const Eigen::Index n = cost.rows();
  const Eigen::Index m = cost.cols();
  Eigen::VectorXd u = Eigen::VectorXd::Zero(n + 1);
  Eigen::VectorXd v = Eigen::VectorXd::Zero(m + 1);
  std::vector<Eigen::Index> row(static_cast<std::size_t>(m) + 1, 0);  // of every column, from 1; 0: none yet
  std::vector<Eigen::Index> way(static_cast<std::size_t>(m) + 1, 0);
  for (Eigen::Index i = 1; i <= n; ++i) {
    row[0] = i;
    Eigen::Index column = 0;
    Eigen::VectorXd least = Eigen::VectorXd::Constant(m + 1, std::numeric_limits<double>::infinity());
    std::vector<bool> used(static_cast<std::size_t>(m) + 1, false);
    while (row[static_cast<std::size_t>(column)] != 0) {
      used[static_cast<std::size_t>(column)] = true;
      const Eigen::Index from = row[static_cast<std::size_t>(column)];
      double delta = std::numeric_limits<double>::infinity();
      Eigen::Index next = 0;
      for (Eigen::Index j = 1; j <= m; ++j) {
        if (used[static_cast<std::size_t>(j)]) continue;
        const double reduced = cost(from - 1, j - 1) - u[from] - v[j];
        if (reduced < least[j]) {
          least[j] = reduced;
          way[static_cast<std::size_t>(j)] = column;
        }
        if (least[j] < delta) {
          delta = least[j];
          next = j;
        }
      }
      for (Eigen::Index j = 0; j <= m; ++j) {
        if (used[static_cast<std::size_t>(j)]) {
          u[row[static_cast<std::size_t>(j)]] += delta;
          v[j] -= delta;
        } else {
          least[j] -= delta;
        }
      }
      column = next;
    }
    while (column != 0) {
      const Eigen::Index before = way[static_cast<std::size_t>(column)];
      row[static_cast<std::size_t>(column)] = row[static_cast<std::size_t>(before)];
      column = before;
    }
  }
  std::vector<int> out(static_cast<std::size_t>(n), -1);
  for (Eigen::Index j = 1; j <= m; ++j)
    if (const Eigen::Index i = row[static_cast<std::size_t>(j)]; i > 0)
      out[static_cast<std::size_t>(i) - 1] = static_cast<int>(j) - 1;
  return out;
}

}  // namespace

std::vector<int> least_assignment(const Eigen::MatrixXd& cost) {
  if (cost.rows() <= cost.cols()) return assign_rows(cost);
  std::vector<int> out(static_cast<std::size_t>(cost.rows()), -1);
  const std::vector<int> rows = assign_rows(cost.transpose());
  for (std::size_t j = 0; j < rows.size(); ++j) out[static_cast<std::size_t>(rows[j])] = static_cast<int>(j);
  return out;
}

}  // namespace sinew
