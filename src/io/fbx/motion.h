#pragma once

#include <Eigen/Geometry>
#include <string>
#include <vector>

#include "sinew/core/rig.h"

namespace sinew::fbx {

/// A node that carries motion: translation · rotation · scale relative to the node above. Rotations are degrees about
/// x, then y, then z, each key on the turn nearest to the one before it, so that nothing spins between keys.
struct MotionNode {
  std::string name;
  int parent = -1;                                     // an earlier node, or -1: the scene or the common root
  Eigen::Affine3d bind = Eigen::Affine3d::Identity();  // in the world, at rest
  Eigen::Matrix<float, 3, 3> rest;                     // columns: translation, rotation, scale
  std::vector<float> translation;                      // F×3
  std::vector<float> rotation;                         // F×3
  std::vector<float> scale;                            // F×3; empty where it is 1 throughout
};

/// The nodes of a rig, parents first, and the one that each bone is. Free bones lie side by side.
struct MotionNodes {
  std::vector<MotionNode> nodes;
  std::vector<std::size_t> of_bone;
  bool hierarchy = false;  // the rig's parents are those of the nodes
};

/// Bones that turn and move are one node; so are those that stretch along axes that stay put in the rest pose, which
/// are then the axes of the node. Others shear. With `bake_shear` they become two nodes, translation · U · s above Vᵀ
/// from A = U·diag(s)·Vᵀ; without it Error{output} names the bone and what to do. A hierarchy is kept where no bone
/// that holds others stretches unevenly.
MotionNodes motion_nodes(const Rig& rig, const std::vector<Clip>& clips, bool bake_shear);

/// Degrees about x, y and z (R = Rz·Ry·Rx) nearest to `previous`.
Eigen::Vector3d euler_degrees(const Eigen::Matrix3d& R, const Eigen::Vector3d& previous);

/// The rotation of such degrees.
Eigen::Matrix3d rotation_of(const Eigen::Vector3d& degrees);

}  // namespace sinew::fbx
