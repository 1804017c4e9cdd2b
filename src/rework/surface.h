#pragma once

#include <Eigen/Core>
#include <vector>

#include "math/adjacency.h"
#include "sinew/core/mesh.h"

namespace sinew {

/// Unit normals of the vertices, area-weighted; zero where a vertex has none.
Eigen::Matrix3Xd unit_normals(const Eigen::Matrix3Xd& positions, const std::vector<Index>& triangles);

}  // namespace sinew
