#pragma once

#include "io/gltf/gltf_cases.h"
#include "io/gltf/gltf_rigs.h"

namespace sinew::test {

/// Bones that stretch along axes that are fixed in the rest pose, bone 1 along slanted ones.
inline Rig stretching_rig() {
  Rig rig = random_rig(5, 3, 3, 6, Transforms::rigid, 131);
  rig.transforms = Transforms::affine;
  const Eigen::Matrix3f slanted = Eigen::AngleAxisf(0.8F, Vector3(0.48F, 0.6F, 0.64F)).toRotationMatrix();
  for (std::size_t f = 0; f < rig.frame_count(); ++f)
    for (std::size_t b = 0; b < 3; ++b) {
      const auto t = static_cast<float>(f + 1);
      const Vector3 s(1 + 0.1F * t, 1 - 0.08F * t, b == 2 && f == 3 ? -0.5F : 1.3F - 0.05F * t);
      const Eigen::Matrix3f V = b == 1 ? slanted : Eigen::Matrix3f::Identity();
      Affine& T = rig.motion(f, b);
      const Vector3 moved = T * rig.bones[b].head.homogeneous();
      T.leftCols<3>() = T.leftCols<3>() * V * s.asDiagonal() * V.transpose();
      T.col(3) = moved - T.leftCols<3>() * rig.bones[b].head;
    }
  return rig;
}

/// A jointed chain whose bones grow evenly: a hierarchy with scale.
inline Rig growing_chain() {
  Rig rig = chain_rig(6, 4, 5, 141);
  rig.transforms = Transforms::affine;
  for (std::size_t f = 0; f < rig.frame_count(); ++f) {
    std::vector<Eigen::Affine3d> global;
    for (std::size_t b = 0; b < rig.bone_count(); ++b) {
      Eigen::Affine3d local = Eigen::Affine3d::Identity();
      local.translate(rig.bones[b].head.cast<double>());
      local.rotate(Eigen::AngleAxisd(0.9 * static_cast<double>(f + b), Eigen::Vector3d(0.6, 0, 0.8)));
      local.scale(0.8 + 0.1 * static_cast<double>(f) + 0.05 * static_cast<double>(b));
      local.translate(-rig.bones[b].head.cast<double>());
      const int parent = rig.bones[b].parent;
      global.push_back(parent < 0 ? local : global[static_cast<std::size_t>(parent)] * local);
      rig.motion(f, b) = global.back().affine().cast<float>();
    }
  }
  return rig;
}

/// Joints that turn far, through quarter turns about y and several times around.
inline Rig spinning_rig() {
  Rig rig = random_rig(4, 2, 2, 40, Transforms::rigid, 151);
  for (std::size_t f = 0; f < rig.frame_count(); ++f)
    for (std::size_t b = 0; b < 2; ++b) {
      const float turn = 0.5F * static_cast<float>(f) * (b == 0 ? 1.0F : -0.6F);
      const Eigen::Matrix3f A =
          b == 0 ? Eigen::AngleAxisf(turn, Vector3::UnitY()).toRotationMatrix()
                 : (Eigen::AngleAxisf(1.5707963F, Vector3::UnitY()) * Eigen::AngleAxisf(turn, Vector3::UnitX()))
                       .toRotationMatrix();
      rig.motion(f, b).leftCols<3>() = A;
      rig.motion(f, b).col(3) = rig.bones[b].head - A * rig.bones[b].head;
    }
  return rig;
}

/// The rigs of the glTF tests that have polygons, and those that FBX treats in a way of its own.
inline std::vector<GltfCase> fbx_cases() {
  std::vector<GltfCase> out;
  for (GltfCase& entry : gltf_cases()) out.push_back(std::move(entry));
  out.push_back({"stretching", stretching_rig()});
  out.push_back({"growing_chain", growing_chain()});
  out.push_back({"spinning", spinning_rig()});
  return out;
}

}  // namespace sinew::test
