#pragma once

#include <Eigen/Core>
#include <cstdint>

/// Index letters used everywhere: v vertex, b bone, f frame, k influence slot; sizes V, B, F, K.
/// Vectors are columns, matrices act from the left, transforms are 3×4 affines that take rest to posed positions.
namespace sinew {

using Index = std::uint32_t;

using Vector3 = Eigen::Vector3f;
using Affine = Eigen::Matrix<float, 3, 4>;  // [A | t], column-major: A's columns, then t
using Points = Eigen::Matrix3Xf;            // 3×V, one column per vertex: xyz contiguous
using PointsMap = Eigen::Map<Points>;
using ConstPointsMap = Eigen::Map<const Points>;

}  // namespace sinew
