#pragma once

#include "sinew/core/rig.h"
#include "solve/flats/flat_problem.h"

namespace sinew::flats {

/// A skinning model in the reduced coordinates of a flat problem.
struct FlatModel {
  Eigen::MatrixXd handles;  // 4h×r: map of each handle
  Eigen::MatrixXd weights;  // h×V, columns >= 0 with sum 1
};

/// Sum of squared distances of the model in reduced coordinates.
double model_distance(const FlatProblem& problem, const FlatModel& model, int threads);

/// The best convex weights for the handles, at most `influences` of them per vertex (0: any number). Warm-started.
void fit_weights(const FlatProblem& problem, int influences, int threads, FlatModel& model);

/// The best handles for the weights.
void fit_handles(const FlatProblem& problem, int threads, FlatModel& model);

/// The best rest positions (first three columns of problem.rest) for handles and weights.
void fit_rest(const FlatModel& model, int threads, FlatProblem& problem);

/// The float model: weights packed, handles fitted once more to the unreduced frames, in the input's unit.
Rig flat_rig(const FlatProblem& problem, const FlatModel& model, const Sequence& sequence, int influences, int threads);

}  // namespace sinew::flats
