#pragma once

#include <Eigen/Geometry>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "sinew/core/sequence.h"

/// Small sequences that break assumptions. A function over sequences is run over all of them:
///   for (const Sequence& sequence : test::zoo()) { SCOPED_TRACE(sequence.name); ... }
namespace sinew::test {

/// Gives a rest mesh frames that bend and move it: no symmetry, frame 0 is not the rest pose.
inline Sequence bend(std::string name, Mesh rest, std::size_t frames = 5) {
  Sequence out;
  out.name = std::move(name);
  out.frames = Frames(frames, rest.vertex_count());
  for (std::size_t f = 0; f < frames; ++f) {
    const auto t = static_cast<float>(f + 1);
    for (Eigen::Index v = 0; v < rest.positions.cols(); ++v) {
      const Vector3 p = rest.positions.col(v);
      const Eigen::AngleAxisf turn(0.15F * t * (1 + 0.3F * std::sin(p.x() + 0.2F * t)), Vector3(0.48F, 0.6F, 0.64F));
      out.frames[f].col(v) = turn * p + Vector3(0.1F * t, -0.05F * t * t, 0.02F * p.y() * t);
    }
  }
  out.rest = std::move(rest);
  out.times = uniform_times(frames);
  return out;
}

/// A mesh from positions (3 numbers per vertex) and triangles (3 vertex numbers per face).
inline Mesh triangle_mesh(const std::vector<float>& positions, std::vector<Index> corners) {
  Mesh mesh;
  mesh.positions = ConstPointsMap(positions.data(), 3, static_cast<Eigen::Index>(positions.size() / 3));
  mesh.face_sizes.assign(corners.size() / 3, 3);
  mesh.corners = std::move(corners);
  return mesh;
}

/// A flat grid of columns×rows vertices at unequal distances, as triangles.
inline Mesh grid_mesh(Index columns, Index rows) {
  Mesh mesh;
  mesh.positions.resize(3, static_cast<Eigen::Index>(columns) * rows);
  for (Index i = 0; i < columns * rows; ++i) {
    const auto x = static_cast<float>(i % columns);
    const auto y = static_cast<float>(i / columns);
    mesh.positions.col(i) = Vector3(x + 0.1F * std::sin(x), 1.3F * y, 0);
  }
  for (Index y = 0; y + 1 < rows; ++y)
    for (Index x = 0; x + 1 < columns; ++x) {
      const Index a = y * columns + x;
      mesh.corners.insert(mesh.corners.end(), {a, a + 1, a + columns, a + 1, a + columns + 1, a + columns});
    }
  mesh.face_sizes.assign(mesh.corners.size() / 3, 3);
  return mesh;
}

/// Many tetrahedra of different sizes that do not touch.
inline Mesh scattered_tetrahedra(Index count) {
  Mesh mesh;
  mesh.positions.resize(3, 4 * static_cast<Eigen::Index>(count));
  for (Index i = 0; i < count; ++i) {
    const auto t = static_cast<float>(i);
    const Vector3 at(3 * std::sin(1.7F * t), 0.8F * t, 3 * std::cos(2.3F * t));
    const float size = 0.3F + 0.1F * static_cast<float>(i % 4);
    mesh.positions.col(4 * i) = at;
    mesh.positions.col(4 * i + 1) = at + Vector3(size, 0, 0);
    mesh.positions.col(4 * i + 2) = at + Vector3(0, 1.2F * size, 0);
    mesh.positions.col(4 * i + 3) = at + Vector3(0, 0, 0.8F * size);
    for (const Index corner : {0U, 2U, 1U, 0U, 1U, 3U, 0U, 3U, 2U, 1U, 2U, 3U}) mesh.corners.push_back(4 * i + corner);
  }
  mesh.face_sizes.assign(mesh.corners.size() / 3, 3);
  return mesh;
}

/// All of them; each satisfies Sequence::check().
inline std::vector<Sequence> zoo() {
  std::vector<Sequence> out;
  out.push_back(bend("one vertex", triangle_mesh({1, 2, 3}, {})));
  out.push_back(bend("two vertices", triangle_mesh({1, 2, 3, -1, 0, 2}, {})));
  out.push_back(bend("one triangle", triangle_mesh({0, 0, 0, 2, 0, 0.5F, 0, 1, 0}, {0, 1, 2})));
  out.push_back(bend("isolated vertices", triangle_mesh({0, 0, 0, 2, 0, 0.5F, 0, 1, 0, 5, 5, 5, -3, 1, 2}, {0, 1, 2})));
  out.push_back(bend("degenerate faces", triangle_mesh({0, 0, 0, 1, 0, 0, 2, 0, 0, 0, 3, 1, 1, 1, 4},
                                                       {0, 1, 2, 0, 0, 3, 3, 3, 3, 1, 4, 3})));
  out.push_back(bend("one frame", grid_mesh(4, 3), 1));
  out.push_back(bend("planar", grid_mesh(6, 5)));
  out.push_back(bend("line", triangle_mesh({0, 0, 0, 1, 1, 1, 2, 2, 2, 3.5F, 3.5F, 3.5F}, {0, 1, 2, 1, 2, 3})));
  out.push_back(bend("many components", scattered_tetrahedra(12)));
  out.push_back(bend("non-manifold edge", triangle_mesh({0, 0, 0, 1, 0, 0, 0.5F, 1, 0, 0.5F, -1, 0.2F, 0.5F, 0, 1},
                                                        {0, 1, 2, 1, 0, 3, 0, 1, 4})));
  out.push_back(bend("non-manifold vertex",
                     triangle_mesh({0, 0, 0, 1, 0, 0, 0, 1, 0, -1, 0, 0.3F, 0, -1, 0}, {0, 1, 2, 0, 3, 4})));
  Mesh twice = grid_mesh(4, 3);
  twice.positions.col(5) = twice.positions.col(6);
  twice.positions.col(1) = twice.positions.col(6);
  out.push_back(bend("duplicate vertices", std::move(twice)));
  Sequence still = bend("static", scattered_tetrahedra(3));
  for (std::size_t f = 0; f < still.frame_count(); ++f) still.frames[f] = still.rest.positions;
  out.push_back(std::move(still));
  Sequence collapsed = bend("collapsed to a point", grid_mesh(4, 3));
  for (std::size_t f = 0; f < collapsed.frame_count(); ++f) collapsed.frames[f].colwise() = Vector3(1, 2, 3);
  out.push_back(std::move(collapsed));
  Sequence far_away = bend("far from the origin", grid_mesh(5, 4));
  far_away.rest.positions.colwise() += Vector3(1000, -2000, 500);
  for (std::size_t f = 0; f < far_away.frame_count(); ++f) far_away.frames[f].colwise() += Vector3(1000, -2000, 500);
  out.push_back(std::move(far_away));
  Sequence polygons = bend("polygons", grid_mesh(3, 3));
  polygons.rest.face_sizes = {4, 5, 3};
  polygons.rest.corners = {0, 1, 4, 3, 1, 2, 5, 8, 4, 4, 7, 3};
  out.push_back(std::move(polygons));
  return out;
}

}  // namespace sinew::test
