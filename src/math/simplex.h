#pragma once

#include <Eigen/Core>
#include <vector>

namespace sinew {

/// Scratch of simplex_least_squares: grows on first use, then no call allocates. One per thread.
struct SimplexWorkspace {
  std::vector<double> numbers;
  std::vector<int> indices;
};

/// Minimises xᵀ G x − 2 gᵀ x over the simplex {x ≥ 0, Σ x = 1}, exactly: the constrained least squares of
/// [Le2014 §3.7.1] with G = AᵀA (n×n, positive semi-definite, column-major with leading dimension ldg), g = Aᵀb.
///
/// A primal active-set method warm-started from `x` (any x ≥ 0 that is not all zero; scaled to sum 1): when the set of
/// positive entries is right already it costs one Cholesky factorisation of that size. On return x satisfies the
/// optimality conditions within 1e-10 of the scale of G. Where the minimiser is not unique the one reached is returned.
/// Returns the objective.
double simplex_least_squares(const double* G, int ldg, const double* g, int n, double* x, SimplexWorkspace& workspace);

/// The same for Eigen matrices.
double simplex_least_squares(const Eigen::Ref<const Eigen::MatrixXd>& G, const Eigen::Ref<const Eigen::VectorXd>& g,
                             Eigen::Ref<Eigen::VectorXd> x, SimplexWorkspace& workspace);

}  // namespace sinew
