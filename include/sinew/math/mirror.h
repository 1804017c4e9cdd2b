#pragma once

#include <Eigen/Core>
#include <optional>

namespace sinew {

/// Points x with normal·x = offset; the normal's largest component is positive.
struct MirrorPlane {
  Eigen::Vector3d normal = Eigen::Vector3d::UnitX();
  double offset = 0;

  Eigen::Vector3d mirrored(const Eigen::Vector3d& x) const { return x - 2 * (normal.dot(x) - offset) * normal; }
};

/// The mirror plane of a shape, if it has one: the plane through the middle, across a coordinate or a principal axis,
/// for which at least 95 % of the points have a point of the shape within 1.5 % of the diagonal of their mirror image.
/// Coordinate axes are preferred. Points that all lie on the plane are no symmetry.
std::optional<MirrorPlane> find_mirror_plane(const Eigen::Matrix3Xd& points);

}  // namespace sinew
