#include "math/simplex.h"

#include <cassert>

#include "math/simplex_text.h"

namespace sinew {

double simplex_least_squares(const double* G, int ldg, const double* g, int n, double* x, SimplexWorkspace& workspace) {
  assert(n >= 1);
  const auto size = static_cast<std::size_t>(n);
  const std::size_t doubles = simplex::scratch_doubles(size);
  if (workspace.numbers.size() < doubles) workspace.numbers.resize(doubles);
  if (workspace.indices.size() < size) workspace.indices.resize(size);
  return simplex::solve(G, ldg, g, n, x, workspace.numbers.data(), workspace.indices.data());
}

double simplex_least_squares(const Eigen::Ref<const Eigen::MatrixXd>& G, const Eigen::Ref<const Eigen::VectorXd>& g,
                             Eigen::Ref<Eigen::VectorXd> x, SimplexWorkspace& workspace) {
  assert(G.rows() == G.cols() && G.rows() == g.size() && g.size() == x.size());
  return simplex_least_squares(G.data(), static_cast<int>(G.outerStride()), g.data(), static_cast<int>(g.size()),
                               x.data(), workspace);
}

}  // namespace sinew
