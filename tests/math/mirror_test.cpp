#include "sinew/math/mirror.h"

#include <gtest/gtest.h>

#include <Eigen/Geometry>

namespace sinew {
namespace {

/// Random points and their mirror images across a plane.
Eigen::Matrix3Xd mirrored_cloud(const MirrorPlane& plane) {
  std::srand(5);
  Eigen::Matrix3Xd points(3, 600);
  points.leftCols(300) = Eigen::Matrix3Xd::Random(3, 300);
  points.topLeftCorner(1, 300) *= 0.3;
  points.middleRows(1, 1).leftCols(300) *= 2;
  for (Eigen::Index v = 0; v < 300; ++v) points.col(300 + v) = plane.mirrored(points.col(v));
  return points;
}

TEST(Mirror, FindsAPlaneAcrossACoordinateAxisAwayFromTheOrigin) {
  const MirrorPlane plane{Eigen::Vector3d::UnitZ(), 1.7};
  const auto found = find_mirror_plane(mirrored_cloud(plane));
  ASSERT_TRUE(found);
  EXPECT_LT((found->normal - plane.normal).norm(), 1e-9);
  EXPECT_NEAR(found->offset, 1.7, 1e-9);
}

TEST(Mirror, FindsAPlaneAcrossAPrincipalAxis) {
  const Eigen::Matrix3d turn = Eigen::AngleAxisd(0.6, Eigen::Vector3d(1, 2, 2).normalized()).toRotationMatrix();
  const MirrorPlane plane{Eigen::Vector3d::UnitX(), 2.0};
  const auto found = find_mirror_plane(turn * mirrored_cloud(plane));
  ASSERT_TRUE(found);
  EXPECT_NEAR(std::abs(found->normal.dot(turn.col(0))), 1, 1e-6);
}

TEST(Mirror, AnAsymmetricOrFlatCloudHasNone) {
  std::srand(7);
  Eigen::Matrix3Xd points = Eigen::Matrix3Xd::Random(3, 400);
  points.row(0) = points.row(0).array().exp() * 3;
  points.row(1) = points.row(1).array().exp() * 2 + points.row(0).array().square();
  points.row(2) = (points.row(2).array() + points.row(0).array() * points.row(1).array()).eval();
  EXPECT_FALSE(find_mirror_plane(points));
  EXPECT_FALSE(find_mirror_plane(Eigen::Matrix3Xd::Zero(3, 50)));
  EXPECT_FALSE(find_mirror_plane(Eigen::Matrix3Xd::Random(3, 2)));
}

}  // namespace
}  // namespace sinew
