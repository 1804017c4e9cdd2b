#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <random>

#include "sinew/core/bounds.h"

namespace sinew {
namespace {

Points random_points(int count, std::uint32_t seed) {
  std::mt19937 random(seed);
  Points points(3, count);
  for (Eigen::Index i = 0; i < points.size(); ++i)
    points.data()[i] = static_cast<float>(random() >> 8) / 16777216.0F * static_cast<float>(1 + i % 3);
  return points;
}

double farthest(const Points& points, const Eigen::Vector3d& center) {
  return (points.cast<double>().colwise() - center).colwise().norm().maxCoeff();
}

/// The farthest distance is a convex function of the centre: a sphere is smallest when no small step lowers it.
void expect_smallest(const Points& points) {
  const Sphere sphere = smallest_enclosing_sphere(points);
  EXPECT_LE(farthest(points, sphere.center), sphere.radius * (1 + 2e-12));
  for (int i = 0; i < 200; ++i) {
    const Eigen::Vector3d step = Eigen::Vector3d(std::sin(1.7 * i), std::cos(2.3 * i), std::sin(0.9 * i + 1));
    EXPECT_GE(farthest(points, sphere.center + 1e-4 * sphere.radius * step), sphere.radius * (1 - 1e-12)) << i;
  }
}

TEST(EnclosingSphere, IsTheSmallestForRandomPoints) {
  for (const int count : {2, 3, 4, 5, 17, 1000})
    for (std::uint32_t seed = 1; seed <= 5; ++seed) expect_smallest(random_points(count, seed));
}

TEST(EnclosingSphere, IsNotThatOfTheBoundingBox) {
  Points points(3, 3);
  points << 0, 4, 2, 0, 0, 1, 0, 0, 0;  // the third point is inside the sphere over the first two
  const Sphere sphere = smallest_enclosing_sphere(points);
  EXPECT_NEAR(sphere.radius, 2, 1e-12);
  EXPECT_LT((sphere.center - Eigen::Vector3d(2, 0, 0)).norm(), 1e-12);
}

TEST(EnclosingSphere, FindsTheSphereOfPointsOnASphere) {
  Points points = random_points(500, 3);
  const Eigen::Vector3d center(7, -2, 0.5);
  for (Eigen::Index v = 0; v < points.cols(); ++v)
    points.col(v) =
        (center + 3 * (points.col(v).cast<double>() - Eigen::Vector3d(0.5, 1, 1.5)).normalized()).cast<float>();
  const Sphere sphere = smallest_enclosing_sphere(points);
  EXPECT_NEAR(sphere.radius, 3, 1e-6);
  EXPECT_LT((sphere.center - center).norm(), 1e-6);
}

TEST(EnclosingSphere, HandlesDuplicatesLinesAndPlanes) {
  EXPECT_EQ(smallest_enclosing_sphere(Points(3, 0)).radius, 0);
  Points one(3, 4);
  one.colwise() = Vector3(1, -2, 3);
  EXPECT_EQ(smallest_enclosing_sphere(one).radius, 0);
  Points line(3, 5);
  line << 0, 1, 2, 3, 3, 0, 2, 4, 6, 6, 0, 2, 4, 6, 6;
  EXPECT_NEAR(smallest_enclosing_sphere(line).radius, 4.5, 1e-12);
  Points grid(3, 100);
  for (int i = 0; i < 100; ++i) grid.col(i) = Vector3(static_cast<float>(i % 10), static_cast<float>(i / 10), 5);
  EXPECT_NEAR(smallest_enclosing_sphere(grid).radius, 4.5 * std::sqrt(2), 1e-12);
}

TEST(EnclosingSphere, ScalesAndMovesWithItsPoints) {
  const Points points = random_points(300, 9);
  const Sphere sphere = smallest_enclosing_sphere(points);
  const Points moved = (points * 1024).colwise() + Vector3(4096, -512, 64);
  EXPECT_NEAR(smallest_enclosing_sphere(moved).radius, 1024 * sphere.radius, 1e-3);
}

}  // namespace
}  // namespace sinew
