#pragma once

#include <Eigen/Geometry>
#include <cmath>
#include <numbers>
#include <random>

#include "sinew/core/rig.h"

namespace sinew::test {

/// A tube of `rings` rings of eight vertices along a bent axis, moved by `bones` affine bones whose weights fall off
/// smoothly and never vanish: dense, smooth weights, as compression expects them.
inline Rig dense_tube(int rings, int bones, int frames, unsigned seed = 3) {
  constexpr int kSides = 8;
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> real(-1, 1);
  Rig rig;
  rig.rest.positions.resize(3, rings * kSides);
  for (int r = 0; r < rings; ++r)
    for (int s = 0; s < kSides; ++s) {
      const float along = static_cast<float>(r) / static_cast<float>(rings - 1);
      const float angle = 2 * std::numbers::pi_v<float> * (static_cast<float>(s) + 0.3F * along) / kSides;
      rig.rest.positions.col(r * kSides + s) =
          Vector3(3 * along, 0.3F * std::cos(angle) + 0.4F * along * along, (0.3F - 0.1F * along) * std::sin(angle));
    }
  for (int r = 0; r + 1 < rings; ++r)
    for (int s = 0; s < kSides; ++s) {
      const int t = (s + 1) % kSides;
      rig.rest.face_sizes.push_back(4);
      for (const int v : {r * kSides + s, r * kSides + t, (r + 1) * kSides + t, (r + 1) * kSides + s})
        rig.rest.corners.push_back(static_cast<Index>(v));
    }
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> W(rings * kSides, bones);
  for (int v = 0; v < W.rows(); ++v) {
    for (int b = 0; b < bones; ++b) {
      const double place = 3.0 * b / (bones - 1);
      const double far = rig.rest.positions(0, v) - place + 0.3 * rig.rest.positions(1, v) * (b % 3 - 1);
      W(v, b) = 0.01 + std::exp(-2 * far * far);
    }
    W.row(v) /= W.row(v).sum();
  }
  rig.weights = pack_weights(W);
  rig.motion = Motion(static_cast<std::size_t>(frames), static_cast<std::size_t>(bones));
  for (int b = 0; b < bones; ++b) {
    rig.bones.push_back({"bone" + std::to_string(b), -1, {0, 0, 0}, {0, 1, 0}});
    for (int f = 0; f < frames; ++f) {
      Affine& T = rig.motion(static_cast<std::size_t>(f), static_cast<std::size_t>(b));
      const Vector3 axis = Vector3(real(random), real(random), real(random) + 1.5F).normalized();
      T.leftCols<3>() = Eigen::AngleAxisf(0.6F * real(random), axis).toRotationMatrix() * (1 + 0.1F * real(random));
      T.col(3) = 0.2F * Vector3(real(random), real(random), real(random));
    }
  }
  for (int f = 0; f < frames; ++f) rig.times.push_back(f / 30.0);
  return rig;
}

}  // namespace sinew::test
