#pragma once

#include <functional>
#include <limits>

#include "solve/skeleton/skeleton_fit.h"

/// Joints that hold exactly: rotations, joints and weights in turn.
namespace sinew::skeleton {

/// Rounds of rotations, joints and weights under strict joints; the first with `steps` steps of the rotations.
void strict_rounds(SkeletonFit& fit, int rounds, int steps);

/// Called with E_RMS after every round; false stops.
using RoundDone = std::function<bool(double)>;

/// Alternates under strict joints with Nesterov extrapolation of rotations and joints, restarted when the error would
/// rise, until nothing is gained (converged) or `rounds` are done (limit), or until it is asked to stop (stopped).
RunEnd converge(SkeletonFit& fit, int rounds, const RoundDone& done = {});

/// Rotations alone, for the sums of weights and for joints that stay, until nothing is gained or `rounds` are done.
/// Returns as converge().
RunEnd turn_bones(SkeletonFit& fit, int rounds, const RoundDone& done = {});

/// Rotations and joints of another tree for the same weights: a few rounds. Returns the squared error but for the
/// constant of the data. Sums, not weights, are used: the cost does not depend on the number of vertices. Infinite, and
/// the fit is as it was, where the best joints for the rotations as they are leave more than `hopeless`.
double settle_tree(SkeletonFit& fit, int rounds, double hopeless = std::numeric_limits<double>::infinity());

}  // namespace sinew::skeleton
