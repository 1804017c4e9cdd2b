#pragma once

#include <vector>

#include "solve/flats/flat_problem.h"

/// The closest places on a flat, and the flat that is closest to given places [Liu2020 §4.2].
namespace sinew::flats {

/// Where the vertices sit on a flat, and how far from it.
struct FlatFit {
  int handles = 0;
  VertexBlocks<double> z;         // h-1 columns: minimises |y - x(z)ᵀΘ|² + ridge·|z|²
  VertexBlocks<double> residual;  // r columns: y - x(z)ᵀΘ
  VertexBlocks<double> factor;    // (h-1)h/2 columns: Cholesky factors of AᵀA + ridge·I, laid out for SIMD
  double distance = 0;            // sum |residual|²
  double objective = 0;           // distance + ridge·sum |z|²
};

/// Puts every vertex at its closest place on the flat [Liu2020 eq. 6].
void fit_flat(const FlatProblem& problem, const Eigen::MatrixXd& theta, double ridge, int threads, FlatFit& fit);

/// Moves the point of the flat to the mean of z and turns and scales its directions so that z has covariance I, in
/// order of decreasing importance. The flat stays the same set; `fit` is stale afterwards.
void whiten_flat(const FlatProblem& problem, const FlatFit& fit, int threads, Eigen::MatrixXd& theta);

/// One step of alternation: the flat that is best for the z of `fit`, every vertex counted `weights` times (V, or
/// empty: all once).
Eigen::MatrixXd alternate_flat(const FlatProblem& problem, const FlatFit& fit, int threads,
                               const std::vector<double>& weights = {});

/// Smallest eigenvalue of AᵀA at every vertex: how well its place on the flat is determined.
std::vector<double> least_stiffness(const FlatFit& fit, int threads);

/// The paper's alternation as it stands (§4.2, eq. 10): vertices weighted by the smallest singular value of the system
/// that gives their place, in a basis of the flat that only these steps change. `fit` belongs to `theta` on return.
void published_alternation(const FlatProblem& problem, int rounds, int threads, Eigen::MatrixXd& theta, FlatFit& fit);

}  // namespace sinew::flats
