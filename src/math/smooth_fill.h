#pragma once

#include <Eigen/Core>
#include <vector>

#include "sinew/core/types.h"

namespace sinew {

/// Fills in values over a surface: the smoothest that agree with those known.
///
/// Minimises tr Xᵀ (L + D² L M⁻¹ L) X with the rows of known vertices held: L the cotangent Laplacian, its edge weights
/// kept positive, M the areas of the vertices, D the diagonal of the bounding box, so that size does not matter.
/// `values` is V×n; rows of unknown vertices without a known one in their component stay as they came.
Eigen::MatrixXd smooth_fill(const Eigen::Matrix3Xd& positions, const std::vector<Index>& triangles,
                            const std::vector<bool>& known, Eigen::MatrixXd values);

}  // namespace sinew
