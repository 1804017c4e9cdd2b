#pragma once

#include "sinew/core/mesh.h"
#include "solve/skeleton/skeleton_fit.h"

namespace sinew::skeleton {

/// A bone lies on one side of a plane where at least this share of its surface does.
inline constexpr double kOneSide = 0.75;

/// What each bone moves, at rest: problem's units.
struct BoneShapes {
  Eigen::VectorXd area;     // B; of the surface, by weights; 1 for every vertex where there are no faces
  std::vector<bool> leads;  // B; whether it has half of some vertex
  Eigen::Matrix3Xd middle;  // 3×B; centroid of what it has half of, or of all that it moves
  Eigen::VectorXd lowest;   // B; height of what it mostly moves; its centroid's where it moves nothing mostly
  Eigen::VectorXd highest;  // B; the same
  Eigen::VectorXd left;     // B; share of the area on the side that a plane's normal points to; 1/2 without a plane
};

BoneShapes shapes_of_bones(const Mesh& rest, const Problem& problem, const FitState& state);

/// Measures `left` against a plane.
void divide(const Mesh& rest, const Problem& problem, const SparseWeights& weights, const MirrorPlane& plane,
            BoneShapes& shapes);

/// The tip of what a bone moves, seen from its head: the middle of the outermost tenth, in the body where the head is.
/// `middle`: where to look first. The head itself where the bone moves nothing.
Eigen::Vector3d tip_of(const SkeletonFit& fit, int bone, const Eigen::Vector3d& head, const Eigen::Vector3d& middle);

}  // namespace sinew::skeleton
