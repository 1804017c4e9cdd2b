#pragma once

#include <Eigen/Core>
#include <vector>

namespace sinew {

/// The quadratic program of one step of minimum_volume_simplex, h rows x_j of h unknowns:
///   minimise   sum_j |x_j - e_j|²/2 - (x_j)_j + cost · sum hinge(-a_iᵀx_j)
///   subject to sum_j x_j = 1, and a_iᵀx_j >= 0 where the cost is infinite,
/// a_i the columns of `weights`. Remembers which points mattered from one solve to the next.
class FacetProgram {
 public:
  FacetProgram(int corners, double cost) : h_(corners), cost_(cost), sets_(static_cast<std::size_t>(corners)) {}

  /// The minimiser over the generated constraints; other points may be violated slightly when generation is cut short.
  Eigen::MatrixXd solve(const Eigen::MatrixXd& weights, int threads);

 private:
  struct Facet;

  bool add_violated(const Eigen::MatrixXd& values);
  Eigen::MatrixXd solve_generated(const Eigen::MatrixXd& weights, int threads);

  int h_;
  double cost_;
  std::vector<std::vector<Eigen::Index>> sets_;  // per facet, ascending
};

}  // namespace sinew
