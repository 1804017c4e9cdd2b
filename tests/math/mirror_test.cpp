#include "math/mirror.h"

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

TEST(Mirror, ImagesCombineNearPointsSoThatAffineMotionCarriesOver) {
  // Points of a bent sheet; the other half is sampled elsewhere, so that no point is the image of another.
  Eigen::Matrix3Xd points(3, 800);
  for (int v = 0; v < 800; ++v) {
    const double x = (0.5 + v % 20) / 20 * (v < 400 ? 1 : -1) + (v < 400 ? 0.0 : 0.013);
    const double y = (v % 400) / 20 * 0.05 + (v < 400 ? 0.0 : 0.021);
    points.col(v) << x, y, 0.3 * x * x + 0.2 * y;
  }
  const MirrorPlane plane;
  Eigen::Matrix3d A;
  A << 1.1, 0.2, -0.3, 0.1, 0.9, 0.4, 0.2, -0.1, 1.2;
  const std::vector<MirrorImage> images = mirror_images(points, plane);
  double worst = 0;
  for (int v = 0; v < 800; ++v) {
    Eigen::Vector3d moved = Eigen::Vector3d::Zero();
    double sum = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(images[v].count); ++i) {
      moved += images[v].weight[i] * (A * points.col(images[v].point[i]));
      sum += images[v].weight[i];
    }
    EXPECT_NEAR(sum, 1, 1e-9);
    const Eigen::Vector3d image = plane.mirrored(points.col(v));
    const bool inside = std::abs(image.x()) > 0.05 && std::abs(image.x()) < 0.9 && image.y() > 0.05 && image.y() < 0.9;
    if (inside) worst = std::max(worst, (moved - A * image).norm());
  }
  EXPECT_LT(worst, 2e-3) << "a twentieth of the distance between points";
}

}  // namespace
}  // namespace sinew
