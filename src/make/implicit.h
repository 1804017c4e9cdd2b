#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <vector>

#include "math/adjacency.h"
#include "sinew/core/types.h"

/// An implicit surface of blended round cones, and its polygons.
namespace sinew::make {

/// The convex hull of two balls.
struct RoundCone {
  std::size_t bone = 0;
  Eigen::Vector3d a = Eigen::Vector3d::Zero();
  Eigen::Vector3d b = Eigen::Vector3d::Zero();
  double radius_a = 0;
  double radius_b = 0;
};

/// Signed distance to a round cone, negative inside; exact, so it changes by at most the distance moved.
double distance_to(const RoundCone& cone, const Eigen::Vector3d& p);

/// Round cones melted into each other: -k·log sum exp(-d_i / k), which is also Lipschitz with constant 1.
struct Field {
  std::vector<RoundCone> cones;
  double blend = 0.03;  // k

  double operator()(const Eigen::Vector3d& p) const;
  Eigen::Vector3d gradient(const Eigen::Vector3d& p) const;
};

struct QuadMesh {
  Eigen::Matrix3Xd positions;  // 3×V
  std::vector<Index> quads;    // 4 per face, counter-clockwise from outside
};

/// The zero set of a field by surface nets [Gibson1998] on a grid of this cell size, then relaxed along the surface.
QuadMesh polygonise(const Field& field, double cell, int threads);

/// The same with a cell size that gives about this many vertices.
QuadMesh polygonise_to_count(const Field& field, std::size_t vertices, int threads);

/// Vertices that share an edge with each vertex.
Adjacency quad_neighbours(const QuadMesh& mesh);

}  // namespace sinew::make
