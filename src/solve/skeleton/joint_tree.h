#pragma once

#include <Eigen/Core>
#include <functional>
#include <vector>

#include "math/float_cholesky.h"

namespace sinew::skeleton {

/// Strict forward kinematics for least squares: bones that rotate about joints fixed on their parents.
///
/// Bone b of frame f moves rest points by x ↦ R_b x + t_b. With the joint c_b (rest position) that b shares with its
/// parent p, t_b = t_p + (R_p − R_b) c_b, so that for given joints all transforms are linear in
/// Z = [R_0 … R_{B−1} | t_root], and for given rotations they are linear in the joints.
///
/// Data enter only through the Gram products of the LBS model over a fixed set of weights: S = X Xᵀ (4B×4B) and, per
/// frame, C = V Xᵀ (3×4B), where x_v = w_v ⊗ (u_v, 1). Costs here do not depend on the number of vertices.
struct JointTree {
  std::vector<int> parent;  // B; -1 for the root, parents come first
  Eigen::Matrix3Xd joint;   // 3×B; the root's is where its translation is anchored for display only

  int bones() const { return static_cast<int>(parent.size()); }
};

/// Rotations of all bones and the root's translation in every frame.
struct JointPoses {
  std::vector<Eigen::Matrix3Xd> rotation;  // F of 3×3B
  Eigen::Matrix3Xd root;                   // 3×F: t of the root bone (R x + t)

  std::size_t frames() const { return rotation.size(); }
};

/// Rest→posed transforms of every bone, F of 3×4B, bones in order.
std::vector<Eigen::Matrix3Xd> transforms_of(const JointTree& tree, const JointPoses& poses);

/// Poses whose rotations are those of given rigid transforms and whose root follows bone 0; what the joints cannot
/// express is dropped.
JointPoses poses_of(const std::vector<Eigen::Matrix3Xd>& transforms);

/// Squared error of one frame but for the constant |V|²: tr(T S Tᵀ) − 2 tr(Tᵀ C).
double gram_objective(const Eigen::Matrix3Xd& T, const Eigen::MatrixXd& S, const Eigen::Matrix3Xd& C);

/// Of the normal equations of one frame. It costs most of a step and serves the next as well where little has changed.
using RotationFactor = FloatCholesky;

/// So many bones have factors that cost more than all else in a round of rotations, joints and weights: they are kept
/// for the next rounds as well.
inline constexpr int kKeepsFactors = 40;

/// Levenberg–Marquardt steps on all rotations and the root translation of every frame; never raises the error. Factors
/// may be kept (one per frame) from one call for the next: a step that they do not serve is done anew.
void update_rotations(const JointTree& tree, const Eigen::MatrixXd& S, const std::vector<Eigen::Matrix3Xd>& C,
                      int steps, int threads, JointPoses& poses, std::vector<RotationFactor>* kept = nullptr);

/// Where joint a goes instead of c; c itself where it may stay.
using JointPlace = std::function<Eigen::Vector3d(int a, const Eigen::Vector3d& c)>;

/// Least-squares joint positions and root translations for given rotations. A joint that the motion leaves free along
/// some direction is drawn towards `anchor` (3×B) with weight `mu` relative to its own stiffness; root
/// translations are re-fitted with the joints: the exact minimum of the error plus that pull. Joints that `place` moves
/// are held where it puts them and the others are found anew.
void update_joints(const Eigen::MatrixXd& S, const std::vector<Eigen::Matrix3Xd>& C, const Eigen::Matrix3Xd& anchor,
                   double mu, JointTree& tree, JointPoses& poses, const JointPlace& place = {});

}  // namespace sinew::skeleton
