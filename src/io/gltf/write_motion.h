#pragma once

#include <Eigen/Core>
#include <vector>

#include "sinew/core/rig.h"

namespace sinew::gltf {

/// A = U · diag(s) · Vᵀ with proper rotations U and V; a reflection shows as one negative s.
struct Stretch {
  Eigen::Matrix3d U = Eigen::Matrix3d::Identity();
  Eigen::Vector3d s = Eigen::Vector3d::Ones();
  Eigen::Matrix3d V = Eigen::Matrix3d::Identity();
};

/// Decomposes A so that order and signs follow `previous` (one-sided Jacobi started from its V): over a motion the
/// factors change as little as the matrices allow, and V stays put while A is a rotation times a uniform scale.
/// Accurate to `noise`·|A|: by default the size of float rounding.
constexpr double kFloatNoise = 2e-7;
Stretch decompose(const Eigen::Matrix3d& A, const Stretch& previous, double noise = kFloatNoise);

/// What the animation of one bone says in every frame: translation · rotation · scale of the bone's node and, for
/// affine rigs, the rotation of the joint node under it. Quaternions are x y z w and keep to one side.
struct BoneTracks {
  std::vector<float> translation;  // F×3
  std::vector<float> rotation;     // F×4
  std::vector<float> scale;        // F×3; empty for rigid rigs
  std::vector<float> inner;        // F×4; empty for rigid rigs
};

/// The clips of a rig, one called "motion" where it has none. Throws Error{input} when they do not partition its
/// frames.
std::vector<Clip> clips_of(const Rig& rig);

/// True when the rig's parents can be written as a node hierarchy: there are some, and they are well enough conditioned
/// in every frame to express their children in. Joints need not hold: children then have tracks of translations.
bool has_hierarchy(const Rig& rig);

/// Rest place of a bone's node relative to the node that holds it.
Vector3 rest_translation(const Rig& rig, std::size_t bone, bool hierarchy);

/// Tracks of every bone. A child is expressed relative to its parent as written, so that rounding does not add up
/// along a chain. Shear below `noise` of a bone's size is taken for what floats leave along a chain of joints.
std::vector<BoneTracks> bone_tracks(const Rig& rig, bool hierarchy, double noise = kFloatNoise);

}  // namespace sinew::gltf
