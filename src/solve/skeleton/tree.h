#pragma once

#include <vector>

#include "solve/lbs/alternation.h"
#include "solve/lbs/problem.h"
#include "solve/skeleton/joint_tree.h"

/// Which bones share a joint, and where it is: §3.5 and §3.6 of [Le2014].
namespace sinew::skeleton {

using namespace lbs;

/// A joint between two bones.
struct TreeEdge {
  int from;
  int to;
  Eigen::Vector3d joint;
};

/// Centroid of every bone's share of the mesh (G_j), 3×B.
Eigen::Matrix3Xd bone_centroids(const FitState& state, const Problem& problem);

/// Where a joint goes as far as the motion leaves it free: the middle of the region in which the two bones blend, or
/// between their centroids where they hardly do [§3.5.2]. Needs the sums of the current weights.
Eigen::Vector3d joint_anchor(const FitState& state, const Eigen::Matrix3Xd& centroid, int j, int k);

struct JointFit {
  Eigen::Vector3d position;
  double error;  // Σ_f |T_j c − T_k c|²
};

/// Centre of rotation of two bones over all frames: eq. 3.4.
JointFit fit_joint(const Eigen::MatrixXd& D, const Eigen::Vector3d& anchor, int j, int k);

/// How much two bones blend: Σ w_j w_k.
inline double blend(const WeightSums& sums, int j, int k) {
  return sums.S(4 * j + 3, 4 * k + 3);
}

/// Minimum spanning tree of eq. 3.5, from the heaviest bone, each edge directed away from it and after its parent's.
/// Bones that never blend are joined last, near ones first.
std::vector<TreeEdge> spanning_tree(const FitState& state, const Problem& problem);

/// The same edges directed away from `root`, depth first, so that parents come first.
std::vector<TreeEdge> directed_edges(const std::vector<TreeEdge>& edges, int root);

std::vector<TreeEdge> edges_of(const JointTree& tree);

/// Renumbers the bones of the state, sums included, so that they follow directed edges, and returns the tree: bone 0 is
/// the root.
JointTree adopt_edges(const std::vector<TreeEdge>& edges, FitState& state);

}  // namespace sinew::skeleton
