#include <Eigen/Geometry>
#include <algorithm>

#include "solve/skeleton_rigging.h"

namespace sinew {
namespace {

constexpr double kLambdaGrowth = 1.5;  // [§3.3]
constexpr double kPruneShare = 1e-2;   // eq. 3.36

/// The bone to prune by eq. 3.36, or -1.
int degenerate_bone(const FitState& state) {
  int least = 0;
  double most = 0;
  for (int b = 0; b < state.bones(); ++b) {
    most = std::max(most, blend(state.sums, b, b));
    if (blend(state.sums, b, b) < blend(state.sums, least, least)) least = b;
  }
  return state.bones() > 1 && blend(state.sums, least, least) < kPruneShare * most ? least : -1;
}

void update_soft_joints(Rigging& rig) {
  const Eigen::Matrix3Xd centroid = bone_centroids(rig.state, *rig.problem);
  for (int b = 0; b < rig.tree.bones(); ++b)
    if (const int p = rig.tree.parent[static_cast<std::size_t>(b)]; p >= 0)
      rig.tree.joint.col(b) = fit_joint(rig.state.D, joint_anchor(rig.state, centroid, p, b), p, b).position;
}

/// Bones with the joints as extra points of weight λ [§3.8.3]. The joint terms are quadratic in the same blocks as the
/// data, so they only add to S.
void update_soft_bones(Rigging& rig, double lambda) {
  WeightSums sums = rig.state.sums;
  const double weight = lambda * static_cast<double>(rig.problem->vertex_count());
  for (int b = 0; b < rig.tree.bones(); ++b) {
    const int p = rig.tree.parent[static_cast<std::size_t>(b)];
    if (p < 0) continue;
    const Eigen::Vector4d c = rig.tree.joint.col(b).homogeneous();
    const Eigen::Matrix4d term = weight * c * c.transpose();
    sums.S.block<4, 4>(4 * b, 4 * b) += term;
    sums.S.block<4, 4>(4 * p, 4 * p) += term;
    sums.S.block<4, 4>(4 * b, 4 * p) -= term;
    sums.S.block<4, 4>(4 * p, 4 * b) -= term;
  }
  BoneOptions bones;
  bones.sweeps = 3;
  update_bones(*rig.problem, sums, bones, rig.state.D);
}

}  // namespace

bool soft_rigging(Rigging& rig, int iterations, int fewest, const Progress& progress) {
  double lambda = 1;
  for (int i = 0; i < iterations; ++i) {
    update_weights(rig);
    update_soft_joints(rig);
    update_soft_bones(rig, lambda);
    lambda *= kLambdaGrowth;
    if (const int pruned = rig.state.bones() > fewest ? degenerate_bone(rig.state) : -1; pruned >= 0) {
      // A new tree, and a few steps back in the schedule: what was reached stays.
      remove_bone(rig.state, pruned);
      update_weights(rig);
      rig.tree = adopt_edges(spanning_tree(rig.state, *rig.problem), rig.state);
      lambda = std::max(1.0, lambda / (kLambdaGrowth * kLambdaGrowth * kLambdaGrowth));
      i = std::max(-1, i - 4);
    }
    if (!report(progress, "soft joints", static_cast<double>(i + 1) / iterations)) return false;
  }
  update_weights(rig);
  return true;
}

}  // namespace sinew
