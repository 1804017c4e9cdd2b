#include "solve/skeleton/soft.h"

#include <Eigen/Geometry>
#include <algorithm>

#include "solve/skeleton/tree.h"

namespace sinew::skeleton {
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

void update_soft_joints(SkeletonFit& fit) {
  const Eigen::Matrix3Xd centroid = bone_centroids(fit.state, *fit.problem);
  for (int b = 0; b < fit.tree.bones(); ++b)
    if (const int p = fit.tree.parent[static_cast<std::size_t>(b)]; p >= 0)
      fit.tree.joint.col(b) = fit_joint(fit.state.D, joint_anchor(fit.state, centroid, p, b), p, b).position;
}

/// Bones with the joints as extra points of weight λ [§3.8.3]. The joint terms are quadratic in the same blocks as the
/// data, so they only add to S.
void update_soft_bones(SkeletonFit& fit, double lambda) {
  WeightSums sums = fit.state.sums;
  const double weight = lambda * static_cast<double>(fit.problem->vertex_count());
  for (int b = 0; b < fit.tree.bones(); ++b) {
    const int p = fit.tree.parent[static_cast<std::size_t>(b)];
    if (p < 0) continue;
    const Eigen::Vector4d c = fit.tree.joint.col(b).homogeneous();
    const Eigen::Matrix4d term = weight * c * c.transpose();
    sums.S.block<4, 4>(4 * b, 4 * b) += term;
    sums.S.block<4, 4>(4 * p, 4 * p) += term;
    sums.S.block<4, 4>(4 * b, 4 * p) -= term;
    sums.S.block<4, 4>(4 * p, 4 * b) -= term;
  }
  BoneOptions bones;
  bones.sweeps = 3;
  update_bones(*fit.problem, sums, bones, fit.state.D);
}

}  // namespace

bool soft_rigging(SkeletonFit& fit, int iterations, int fewest, const Progress& progress) {
  double lambda = 1;
  for (int i = 0; i < iterations; ++i) {
    update_weights(fit);
    update_soft_joints(fit);
    update_soft_bones(fit, lambda);
    lambda *= kLambdaGrowth;
    if (const int pruned = fit.state.bones() > fewest ? degenerate_bone(fit.state) : -1; pruned >= 0) {
      // A new tree, and a few steps back in the schedule: what was reached stays.
      remove_bone(fit.state, pruned);
      update_weights(fit);
      fit.tree = adopt_edges(spanning_tree(fit.state, *fit.problem), fit.state);
      lambda = std::max(1.0, lambda / (kLambdaGrowth * kLambdaGrowth * kLambdaGrowth));
      i = std::max(-1, i - 4);
    }
    if (!tell(progress, "soft joints", static_cast<double>(i + 1) / iterations)) return false;
  }
  update_weights(fit);
  return true;
}

}  // namespace sinew::skeleton
