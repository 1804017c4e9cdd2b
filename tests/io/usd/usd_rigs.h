#pragma once

#include <Eigen/Geometry>

#include "io/gltf/gltf_cases.h"
#include "io/gltf/gltf_rigs.h"
#include "sinew/core/rig.h"

/// Rigs for the tests of USD, whose joints turn and scale but do not shear.
namespace sinew::test {

/// Bones that scale along axes of their own, one of which mirrors and one vanishes.
inline Rig scaling_rig() {
  Rig rig = random_rig(6, 4, 3, 6, Transforms::rigid, 131);
  rig.transforms = Transforms::affine;
  for (std::size_t f = 0; f < rig.frame_count(); ++f)
    for (std::size_t b = 0; b < rig.bone_count(); ++b) {
      const auto t = static_cast<float>(f);
      const Eigen::Matrix3f axes =
          Eigen::AngleAxisf(0.4F * static_cast<float>(b), Eigen::Vector3f(0.6F, 0, 0.8F)).toRotationMatrix();
      const Eigen::Vector3f s(1 + 0.27F * t, b == 2 && f == 3 ? 0.0F : 0.7F, b == 1 ? -1.1F : 1.3F);
      Eigen::Affine3f stretch = Eigen::Affine3f::Identity();
      stretch.translate(rig.bones[b].head);
      stretch.linear() *= axes * s.asDiagonal() * axes.transpose();
      stretch.translate(-rig.bones[b].head);
      Eigen::Affine3f motion = Eigen::Affine3f::Identity();
      motion.affine() = rig.motion(f, b);
      rig.motion(f, b) = (motion * stretch).affine();
    }
  return rig;
}

/// The rigid ones of the glTF cases, and one that scales.
inline std::vector<GltfCase> usd_cases() {
  std::vector<GltfCase> out;
  for (GltfCase& entry : gltf_cases())
    if (entry.rig.transforms == Transforms::rigid) out.push_back(std::move(entry));
  out.push_back({"scaling", scaling_rig()});
  return out;
}

/// How far, over the diagonal, the written model may pose apart from the rig: scales are half floats.
inline double usd_tolerance(const Rig& rig) {
  return rig.transforms == Transforms::rigid ? 1e-6 : 0x1p-11;
}

}  // namespace sinew::test
