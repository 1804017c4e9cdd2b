#pragma once

#include <Eigen/Core>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace sinew {

/// Points x with normal·x = offset; the normal's largest component is positive.
struct MirrorPlane {
  Eigen::Vector3d normal = Eigen::Vector3d::UnitX();
  double offset = 0;

  Eigen::Vector3d mirrored(const Eigen::Vector3d& x) const { return x - 2 * (normal.dot(x) - offset) * normal; }
};

/// A plane, and the share of the points that have a point of the shape within 1.5 % of the diagonal of their mirror
/// image.
struct MirrorFit {
  MirrorPlane plane;
  double share = 0;
};

/// Share of the points that a mirror plane must have.
inline constexpr double kMirroredShare = 0.95;

/// The best mirror plane through the middle, across a coordinate or a principal axis; the first of at least
/// kMirroredShare counts as best, coordinate axes first. Points that all lie on the plane are no symmetry.
MirrorFit best_mirror_plane(const Eigen::Matrix3Xd& points);

/// The mirror plane of a shape, if it has one: the best if at least kMirroredShare of the points fit it.
std::optional<MirrorPlane> find_mirror_plane(const Eigen::Matrix3Xd& points);

/// A point of a shape as a combination of points near its mirror image: weights sum to 1, and the combination is the
/// image, as far as the points near it span it. point[0] is the nearest of them.
struct MirrorImage {
  static constexpr int kMost = 6;
  int count = 0;
  std::array<std::uint32_t, kMost> point{};
  std::array<double, kMost> weight{};
};

/// The mirror image of every point. Where a point lies at the image, it is the only one.
std::vector<MirrorImage> mirror_images(const Eigen::Matrix3Xd& points, const MirrorPlane& plane);

}  // namespace sinew
