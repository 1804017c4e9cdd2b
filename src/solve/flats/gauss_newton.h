#pragma once

#include "sinew/core/checkpoint.h"
#include "sinew/core/progress.h"
#include "solve/flats/flat_fit.h"

namespace sinew::flats {

struct GaussNewtonOptions {
  int max_steps = 30;
  int max_inner = 50;             // conjugate gradient iterations per step
  int max_products = 100000;      // conjugate gradient iterations in all
  double inner_tolerance = 0.05;  // stop the inner iteration at |r| <= inner_tolerance·|r0|
  double tolerance = 1e-3;        // stop when twice running (e[n-1] - e[n]) <= tolerance·e[n-1], e = sqrt(objective)
  double target = 0;              // stop when distance <= target
  int threads = 0;
  Checkpoint* checkpoint = nullptr;  // may be null: where the steps are kept, as phase "flat"
};

struct FlatTrace {
  std::vector<double> distance;  // after each step
  int inner = 0;                 // conjugate gradient iterations in all
  bool converged = false;
};

/// Variable projection with Kaufman's Jacobian, Gauss–Newton with Levenberg damping, normal equations by preconditioned
/// conjugate gradients. `theta` is improved in place; `fit` belongs to it on return.
FlatTrace gauss_newton_flat(const FlatProblem& problem, const GaussNewtonOptions& options, Eigen::MatrixXd& theta,
                            FlatFit& fit, const Progress& progress = {});

/// Product of Kaufman's Gauss–Newton matrix with a direction (4h×r): sum_v x (Π(v) Dᵀx)ᵀ. In double, for tests.
Eigen::MatrixXd gauss_newton_product(const FlatProblem& problem, const Eigen::MatrixXd& theta, const FlatFit& fit,
                                     const Eigen::MatrixXd& direction);

}  // namespace sinew::flats
