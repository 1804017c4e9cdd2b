#pragma once

#include <Eigen/Core>

namespace sinew {

struct VolumeOptions {
  double outliers = 0;      // at most this fraction of the points may lie beyond each facet; 0: all are enclosed
  int max_iterations = 60;  // quadratic programs
  double tolerance = 1e-6;  // stop when log volume (plus penalty) falls by <= tolerance
  int threads = 1;
};

/// A simplex of h = d + 1 corners around (most of) N points in d dimensions.
struct EnclosingSimplex {
  Eigen::MatrixXd corners;  // d×h
  Eigen::MatrixXd weights;  // h×N barycentric coordinates, columns sum to 1; >= 0 when no outliers are allowed
  double log_volume = 0;    // log |det| of the corners in homogeneous form
  int iterations = 0;
  bool converged = false;
};

/// Encloses points (d×N) in a simplex of (locally) minimal volume [Liu2020 §5, Craig 1994].
///
/// Sequential quadratic programs over the barycentric functionals: with X = (I + E) X0 the step minimises
/// -tr E + |E|²/2, an affinely invariant majoriser of -log det X to second order, subject to X D >= 0 and 1ᵀX = 1ᵀX0.
/// Each program splits by facet up to h coupling equations and is solved by a primal-dual interior-point method over
/// the few constraints that matter, generated as they are violated. `outliers` > 0 softens X D >= 0 by a hinge penalty
/// whose weight (h-1)/(outliers·N) makes the stated fraction a bound at the optimum. Points that span fewer than d
/// dimensions throw Error{input}; h = 1 gives the single corner of no coordinates.
EnclosingSimplex minimum_volume_simplex(const Eigen::Ref<const Eigen::MatrixXd>& points, const VolumeOptions& options);

}  // namespace sinew
