#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

#include "io/gltf/write_motion.h"
#include "sinew/core/rig.h"

namespace sinew::usd {

/// A rig's bones as the joints of a UsdSkel skeleton, whose animation is translation · rotation · scale.
///
/// Joint b is bound at translate(head) · axes[b]. Rigid bones have their axes along the world's. A bone that scales has
/// the axes along which it does so in every frame; one that shears has none.
struct Joints {
  bool hierarchy = false;                // parents as in the rig; else all joints are roots
  std::vector<Eigen::Matrix3d> axes;     // B rotations
  std::vector<gltf::BoneTracks> tracks;  // B; rotations x y z w, scales empty for rigid rigs and rounded to half
};

/// `name` stands for the file in sentences. Throws Error{output} naming the bone and the frame that shear.
Joints joints_of(const Rig& rig, const std::string& name);

}  // namespace sinew::usd
