#pragma once

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

#include "sinew/core/sequence.h"
#include "support/zoo.h"

namespace sinew::test {

/// A bar of three stiff pieces with short bends between, each piece on its own path.
inline Sequence jointed_bar(std::size_t frames = 7) {
  Sequence out;
  out.name = "bar";
  out.rest = grid_mesh(61, 9);
  const Eigen::Index V = out.rest.positions.cols();
  const float length = out.rest.positions.row(0).maxCoeff();
  // Off the plane, so that flexible bones are determined in all directions.
  for (Eigen::Index v = 0; v < V; ++v)
    out.rest.positions(2, v) = 0.3F * std::sin(1.7F * out.rest.positions(0, v) + 2.1F * out.rest.positions(1, v));
  out.frames = Frames(frames, static_cast<std::size_t>(V));
  out.times = uniform_times(frames);
  for (std::size_t f = 0; f < frames; ++f) {
    for (Eigen::Index v = 0; v < V; ++v) {
      Vector3 p = out.rest.positions.col(v);
      // Bend at one third, then at two thirds of the length.
      for (const float at : {2.0F / 3, 1.0F / 3}) {
        const float x = at * length;
        const float share = std::clamp((p.x() - x) / (0.03F * length) + 0.5F, 0.0F, 1.0F);
        const float angle = share * (at > 0.5F ? 0.9F : -0.7F) * std::sin(0.8F * static_cast<float>(f) + at);
        const Vector3 pivot(x, 0, 0);
        p = pivot + Eigen::AngleAxisf(angle, Vector3(0.1F, 0.3F, 1).normalized()) * (p - pivot);
      }
      out.frames[f].col(v) = p + Vector3(0.2F * static_cast<float>(f), 0, 0);
    }
  }
  return out;
}

}  // namespace sinew::test
