#pragma once

#include "sinew/core/rig.h"
#include "solve/lbs/weights_pass.h"

namespace sinew::lbs {

/// The float model of a state: weights normalised and sorted, motions in the input's unit, bones named bone_0, bone_1,
/// … with their head at the centre of what they move.
Rig to_rig(const Sequence& sequence, const Problem& problem, const Eigen::MatrixXd& D, const SparseWeights& weights,
           Transforms transforms, int influences);

}  // namespace sinew::lbs
