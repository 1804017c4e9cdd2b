#pragma once

#include <algorithm>
#include <cmath>

#include "sinew/core/blendshapes.h"
#include "sinew/core/sliders.h"

/// A flat face of four patches whose sliders are known.
namespace sinew::test {

/// A sheet of 4×4 patches of vertices in four squares, 2 apart. Slider s moves a patch (0, 1, 2, 3) by a turn and a way
/// of its own; the last one moves patches 0 and 3. Five sliders over four bones: six pairs.
inline Blendshapes patch_face(float scale = 1, const Vector3& offset = Vector3::Zero()) {
  constexpr int kSide = 5;
  Blendshapes out;
  out.name = "patches";
  out.rest.positions.resize(3, 4 * kSide * kSide);
  for (int p = 0; p < 4; ++p)
    for (int i = 0; i < kSide; ++i)
      for (int j = 0; j < kSide; ++j)
        out.rest.positions.col((p * kSide + i) * kSide + j) =
            Vector3(2.5F * static_cast<float>(p % 2) + 0.3F * static_cast<float>(i),
                    3.0F * static_cast<float>(p / 2) + 0.25F * static_cast<float>(j),
                    0.1F * std::sin(static_cast<float>(i * j + p)));
  for (int p = 0; p < 4; ++p)
    for (int i = 0; i + 1 < kSide; ++i)
      for (int j = 0; j + 1 < kSide; ++j) {
        const auto v = static_cast<Index>((p * kSide + i) * kSide + j);
        out.rest.face_sizes.push_back(4);
        out.rest.corners.insert(out.rest.corners.end(), {v, v + kSide, v + kSide + 1, v + 1});
      }
  std::vector<Bone> bones(4);
  SliderMap map;
  for (int s = 0; s < 5; ++s) map.names.push_back("slider " + std::to_string(s));
  for (Index b = 0; b < 4; ++b) {
    bones[b].head = out.rest.positions.middleCols(b * kSide * kSide, kSide * kSide).rowwise().mean();
    const float sign = b % 2 == 0 ? 1.0F : -1.0F;
    map.entries.push_back({b, b, {0.1F * sign, 0.2F, 0.05F * static_cast<float>(b), 0.1F, -0.2F * sign, 0.3F}});
    if (b == 0 || b == 3) map.entries.push_back({b, 4, {-0.2F, 0.1F, 0.3F * sign, 0.2F, 0.1F, -0.1F}});
  }
  const Motion motion = slider_motion(map, bones, Eigen::MatrixXf::Identity(5, 5));
  for (std::size_t s = 0; s < 5; ++s) {
    Points offsets(3, out.rest.positions.cols());
    for (Eigen::Index v = 0; v < offsets.cols(); ++v)
      offsets.col(v) =
          scale * (motion(s, static_cast<std::size_t>(v / (kSide * kSide))) * out.rest.positions.col(v).homogeneous() -
                   out.rest.positions.col(v));
    out.rest.shapes.push_back({map.names[s], offsets, {}});
  }
  out.rest.positions = (scale * out.rest.positions).colwise() + offset;
  play_in_turn(out);
  return out;
}

}  // namespace sinew::test
