#pragma once

#include <cstdint>
#include <vector>

#include "solve/skeleton/skeleton_fit.h"

namespace sinew::skeleton {

/// A bone that a tree might have.
struct ProposedBone {
  int parent;
  Eigen::Vector3d joint;
  Eigen::MatrixXd motion;  // 3F×4 block of D
};

/// `count` bones that would gain most, each the best of so many candidates.
std::vector<ProposedBone> propose_jointed(const SkeletonFit& fit, int count, int candidates, std::uint64_t seed);

}  // namespace sinew::skeleton
