#pragma once

#include <Eigen/Geometry>
#include <cmath>
#include <numbers>

#include "sinew/core/rig.h"
#include "support/zoo.h"

namespace sinew::test {

/// An open tube along y: rings of `around` vertices, not quite round.
inline Mesh tube(const Vector3& foot, float radius, float height, Index around, Index rings) {
  Mesh mesh;
  mesh.positions.resize(3, static_cast<Eigen::Index>(around) * rings);
  for (Index i = 0; i < rings; ++i)
    for (Index k = 0; k < around; ++k) {
      const float angle = 2 * std::numbers::pi_v<float> * static_cast<float>(k) / static_cast<float>(around);
      mesh.positions.col(static_cast<Eigen::Index>(i) * around + k) =
          foot + Vector3(radius * std::cos(angle), height * static_cast<float>(i) / static_cast<float>(rings - 1),
                         -1.1F * radius * std::sin(angle));
      if (i + 1 == rings) continue;
      const Index a = i * around + k;
      const Index b = i * around + (k + 1) % around;
      for (const Index v : {a, b, b + around, a, b + around, a + around}) mesh.corners.push_back(v);
    }
  mesh.face_sizes.assign(mesh.corners.size() / 3, 3);
  return mesh;
}

/// Both meshes as one.
inline Mesh together(Mesh a, const Mesh& b) {
  const auto shift = static_cast<Index>(a.vertex_count());
  Points all(3, a.positions.cols() + b.positions.cols());
  all << a.positions, b.positions;
  a.positions = all;
  for (const Index v : b.corners) a.corners.push_back(v + shift);
  a.face_sizes.insert(a.face_sizes.end(), b.face_sizes.begin(), b.face_sizes.end());
  return a;
}

/// A tube that bends about joints at a third and two thirds of its height, blended smoothly, over some frames.
inline Rig bending_tube(Index around = 16, Index rings = 31, std::size_t frames = 7) {
  Rig rig;
  rig.rest = tube(Vector3(0.3F, -0.2F, 0.1F), 0.35F, 3, around, rings);
  rig.bones = {{"foot", -1, Vector3(0.3F, -0.2F, 0.1F), Vector3(0.3F, 0.8F, 0.1F)},
               {"knee", 0, Vector3(0.3F, 0.8F, 0.1F), Vector3(0.3F, 1.8F, 0.1F)},
               {"hip", 1, Vector3(0.3F, 1.8F, 0.1F), Vector3(0.3F, 2.8F, 0.1F)}};
  rig.jointed = true;
  rig.transforms = Transforms::rigid;
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> weights(rig.rest.positions.cols(), 3);
  for (Eigen::Index v = 0; v < weights.rows(); ++v) {
    const double y = static_cast<double>(rig.rest.positions(1, v)) + 0.2;
    const double one = std::clamp((y - 0.7) / 0.6, 0.0, 1.0);
    const double two = std::clamp((y - 1.7) / 0.6, 0.0, 1.0);
    weights.row(v) << 1 - one, one - two, two;
  }
  rig.weights = pack_weights(weights);
  rig.motion = Motion(frames, 3);
  rig.times = uniform_times(frames);
  for (std::size_t f = 0; f < frames; ++f) {
    const auto t = static_cast<float>(f);
    Eigen::Affine3f whole = Eigen::Affine3f::Identity();
    whole.translate(Vector3(0.2F * t, 0.05F * t * t, -0.1F));
    const Vector3 axes[] = {{0.1F, 0.9F, 0.2F}, {1, 0.1F, 0}, {0.2F, 0, 1}};
    for (std::size_t b = 0; b < 3; ++b) {
      const Vector3 head = rig.bones[b].head;
      whole = whole * Eigen::Translation3f(head) *
              Eigen::AngleAxisf(0.17F * t * (b == 0 ? 0.3F : 1), axes[b].normalized()) * Eigen::Translation3f(-head);
      rig.motion(f, b) = whole.matrix().topRows<3>();
    }
  }
  return rig;
}

/// The same motion by bones that know nothing of each other.
inline Rig with_free_bones(Rig rig) {
  rig.jointed = false;
  for (Bone& bone : rig.bones) bone.parent = -1;
  return rig;
}

/// A correction that swells the middle of a rig, differently in every frame.
inline void add_swelling(Rig& rig) {
  rig.corrections.emplace();
  Points offsets = Points::Zero(3, rig.rest.positions.cols());
  for (Eigen::Index v = 0; v < offsets.cols(); ++v)
    offsets.col(v) = 0.1F * std::exp(-std::pow(rig.rest.positions(1, v) - 1.2F, 2.0F)) *
                     Vector3(rig.rest.positions(0, v) - 0.3F, 0.1F, rig.rest.positions(2, v) - 0.1F);
  rig.corrections->offsets.push_back(offsets);
  rig.corrections->coefficients.resize(static_cast<Eigen::Index>(rig.frame_count()), 1);
  for (Eigen::Index f = 0; f < rig.corrections->coefficients.rows(); ++f)
    rig.corrections->coefficients(f, 0) = 0.3F * static_cast<float>(f);
}

/// A rig over any sequence of the zoo: two bones, blended along x.
inline Rig rig_over(const Sequence& sequence) {
  Rig rig;
  rig.rest = sequence.rest;
  rig.bones = {{"a", -1, Vector3(0, 0, 0), Vector3(1, 0, 0)}, {"b", -1, Vector3(1, 0, 0), Vector3(2, 0, 0)}};
  rig.times = sequence.times;
  rig.motion = Motion(sequence.frame_count(), 2);
  for (std::size_t f = 0; f < sequence.frame_count(); ++f) {
    rig.motion(f, 0).col(3) = Vector3(0.1F * static_cast<float>(f), 0.2F, 0);
    rig.motion(f, 1).leftCols<3>() =
        Eigen::AngleAxisf(0.2F * static_cast<float>(f), Vector3(0.6F, 0, 0.8F)).toRotationMatrix();
  }
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> weights(rig.rest.positions.cols(), 2);
  for (Eigen::Index v = 0; v < weights.rows(); ++v) {
    const double share = std::clamp(0.5 + 0.2 * static_cast<double>(rig.rest.positions(0, v)), 0.0, 1.0);
    weights.row(v) << share, 1 - share;
  }
  rig.weights = pack_weights(weights);
  return rig;
}

}  // namespace sinew::test
