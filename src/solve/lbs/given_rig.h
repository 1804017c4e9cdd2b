#pragma once

#include <vector>

#include "sinew/core/rig.h"
#include "solve/lbs/weights_pass.h"

/// A rig that is given rather than found, in the terms of the solvers.
namespace sinew::lbs {

/// Its weights, with room for at least `capacity` per vertex.
SparseWeights weights_in(const Rig& given, int capacity);

/// D of a motion in the problem's units; zero, the common motion for every bone, where it has another number of frames.
Eigen::MatrixXd motion_in(const Problem& problem, const Motion& motion);

/// Motions of the given rig in the problem's units; bones that may move start rigid where that is asked for.
Eigen::MatrixXd motion_in(const Problem& problem, const Rig& given, const std::vector<std::uint8_t>& locked,
                          Transforms transforms);

}  // namespace sinew::lbs
