#pragma once

#include "sinew/core/rig.h"
#include "solve/sma/cores.h"

namespace sinew::sma {

/// The middle of a triangle in the columns of a matrix of points.
template <class Points>
Eigen::Vector3d centroid(const Points& points, const std::array<Index, 3>& corners) {
  return ((points.col(corners[0]) + points.col(corners[1]) + points.col(corners[2])).template cast<double>()) / 3;
}

/// The transform of one bone in frame f, fitted to these of the triangles (§4.3, §4.4, appendix A).
Affine core_transform(const Sequence& sequence, const Triangles& triangles, const std::vector<std::size_t>& core,
                      std::size_t f, Transforms transforms);

/// Transforms fitted to the core triangles in every frame.
Motion fit_bones(const Sequence& sequence, const Triangles& triangles, const Cores& cores, Transforms transforms,
                 int threads);

}  // namespace sinew::sma
