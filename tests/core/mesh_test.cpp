#include "sinew/core/mesh.h"

#include <algorithm>
#include <limits>

#include "support/support.h"

namespace sinew {
namespace {

/// A quad, an L-shaped hexagon and a triangle, none of them symmetric.
Mesh three_polygons() {
  Mesh mesh;
  mesh.positions.resize(3, 8);
  mesh.positions << 0, 2, 3, 0, 1, 1, 0.5F, -1,  //
      0, 0, 1, 2, 0.5F, 3, 3, 1,                 //
      0, 0, 0, 0, 0, 0, 0, 0.25F;
  mesh.face_sizes = {4, 6, 3};
  mesh.corners = {0, 1, 2, 3, 0, 1, 4, 5, 6, 3, 7, 0, 3};
  return mesh;
}

double area(const Mesh& mesh, const std::vector<Index>& triangles, std::size_t first, std::size_t last) {
  double sum = 0;
  for (std::size_t t = first; t < last; ++t) {
    const auto p = [&](std::size_t i) -> Vector3 { return mesh.positions.col(triangles[3 * t + i]); };
    const Vector3 a = p(1) - p(0);
    const Vector3 b = p(2) - p(0);
    sum += 0.5 * (a.x() * b.y() - a.y() * b.x());
  }
  return sum;
}

TEST(Mesh, AcceptsPolygonsAndCutsThemIntoTrianglesOfTheSameArea) {
  const Mesh mesh = three_polygons();
  mesh.check();
  const std::vector<Index> triangles = triangles_of(mesh);
  ASSERT_EQ(triangles.size(), 3U * (2 + 4 + 1));
  EXPECT_NEAR(area(mesh, triangles, 0, 2), 4.0, 1e-6);
  // Shoelace area of the non-convex polygon 0 1 4 5 6 3: all its triangles must be positively oriented.
  EXPECT_NEAR(area(mesh, triangles, 2, 6), 3.0, 1e-6);
  for (std::size_t t = 2; t < 6; ++t) EXPECT_GT(area(mesh, triangles, t, t + 1), 0) << "triangle " << t;
}

TEST(Mesh, DegeneratePolygonStillGivesItsNumberOfTriangles) {
  Mesh mesh;
  mesh.positions = Points::Constant(3, 5, 7.0F);
  mesh.face_sizes = {5};
  mesh.corners = {0, 1, 2, 3, 4};
  EXPECT_EQ(triangulate_corners(mesh).size(), 9U);
}

TEST(Mesh, NamesTheFirstViolation) {
  Mesh mesh = three_polygons();
  mesh.corners[5] = 8;
  test::expect_error(ErrorKind::input, "corner 5 refers to vertex 8, there are 8 vertices", [&] { mesh.check("m"); });
  mesh = three_polygons();
  mesh.positions(1, 6) = std::numeric_limits<float>::quiet_NaN();
  test::expect_error(ErrorKind::input, "vertex 6 is not finite", [&] { mesh.check(); });
  mesh = three_polygons();
  mesh.face_sizes = {4, 6, 2};
  test::expect_error(ErrorKind::input, "face 2 has 2 corners", [&] { mesh.check(); });
  mesh = three_polygons();
  mesh.face_sizes.pop_back();
  test::expect_error(ErrorKind::input, "10 corners, there are 13", [&] { mesh.check(); });
  mesh = three_polygons();
  mesh.face_materials = {0, 0, 0};
  test::expect_error(ErrorKind::input, "material 0, there are 0", [&] { mesh.check(); });
  mesh = three_polygons();
  mesh.normals.indices.assign(12, 0);
  test::expect_error(ErrorKind::input, "12 entries, the faces have 13", [&] { mesh.check(); });
  mesh = three_polygons();
  mesh.pieces = {{"a", 0, 8, 0, 2}};
  test::expect_error(ErrorKind::input, "8 vertices and 2 faces", [&] { mesh.check(); });
}

}  // namespace
}  // namespace sinew
