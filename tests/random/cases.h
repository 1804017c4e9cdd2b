#pragma once

#include <Eigen/Geometry>
#include <cmath>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "sinew/core/sequence.h"

/// Random small sequences of every awkward shape, and what is done with them.
namespace sinew::test {

/// Everything about a case follows from these numbers, so that one that fails can be shown and made smaller.
struct Case {
  int topology = 0;  // 0 grid, 1 tetrahedra, 2 any triangles, 3 polygons, 4 no faces, 5 a fan with degenerate faces
  int vertices = 1;
  int frames = 1;
  int motion = 0;         // 0 static, 1 one rigid motion, 2 parts, 3 bending, 4 noise, 5 collapsing, 6 growing
  int scale = 0;          // 10^scale, -6..6
  bool far_away = false;  // 1e5 from the origin (times the scale)
  int repeated = 0;       // vertices that repeat another
  int method = 0;         // 0 ssdr rigid, 1 ssdr affine, 2 kavan, 3 flats, 4 skeleton, 5 sma, 6 clusters, 7 sma signed
  int bones = 1;
  int influences = 4;  // 0: all
  int effort = 0;      // 0 fast, 1 balanced
  int refinement = 0;  // 0 none, 1 fewer influences, 2 corrections, 3 two layers
  int output = 0;      // 0 pc2, 1 mdd, 2 npz, 3 abc, 4 OBJ folder, 5 morphs in a GLB
  unsigned seed = 1;
};

inline std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << "{.topology=" << c.topology << ", .vertices=" << c.vertices << ", .frames=" << c.frames
             << ", .motion=" << c.motion << ", .scale=" << c.scale << ", .far_away=" << c.far_away
             << ", .repeated=" << c.repeated << ", .method=" << c.method << ", .bones=" << c.bones
             << ", .influences=" << c.influences << ", .effort=" << c.effort << ", .refinement=" << c.refinement
             << ", .output=" << c.output << ", .seed=" << c.seed << "}";
}

inline Mesh random_mesh(const Case& c, std::mt19937& random) {
  Mesh mesh;
  const auto V = static_cast<Index>(c.vertices);
  std::normal_distribution<float> normal;
  mesh.positions = Points::NullaryExpr(3, V, [&] { return normal(random); });
  const Index wide = std::max<Index>(1, static_cast<Index>(std::sqrt(V)));
  if (c.topology == 0 || c.topology == 3)
    for (Index v = 0; v < V; ++v)
      mesh.positions.col(v) += Vector3(3.0F * static_cast<float>(v % wide), 2.0F * static_cast<float>(v / wide), 0);
  for (int i = 0; i < c.repeated; ++i) mesh.positions.col(random() % V) = mesh.positions.col(random() % V);
  const auto face = [&](std::initializer_list<Index> corners) {
    mesh.face_sizes.push_back(static_cast<Index>(corners.size()));
    mesh.corners.insert(mesh.corners.end(), corners);
  };
  for (Index v = 0; c.topology == 0 && v + wide + 1 < V; ++v)
    if (v % wide + 1 < wide) face({v, v + 1, v + wide}), face({v + 1, v + wide + 1, v + wide});
  for (Index v = 0; c.topology == 1 && v + 3 < V; v += 4)
    face({v, v + 1, v + 2}), face({v, v + 3, v + 1}), face({v, v + 2, v + 3}), face({v + 1, v + 3, v + 2});
  for (Index i = 0; c.topology == 2 && i < V; ++i)  // non-manifold, repeated corners and all
    face({static_cast<Index>(random() % V), static_cast<Index>(random() % V), static_cast<Index>(random() % V)});
  for (Index v = 0; c.topology == 3 && v + wide + 1 < V; ++v)
    if (v % wide + 1 < wide) face({v, v + 1, v + wide + 1, v + wide});
  for (Index v = 1; c.topology == 5 && v + 1 < V; ++v) face({0, v, v % 3 == 0 ? v : v + 1});
  return mesh;
}

inline Sequence random_sequence(const Case& c) {
  std::mt19937 random(c.seed);
  Sequence out;
  out.name = "case";
  out.rest = random_mesh(c, random);
  const auto F = static_cast<std::size_t>(c.frames);
  out.frames = Frames(F, out.rest.vertex_count());
  std::normal_distribution<float> normal;
  const int parts = 1 + static_cast<int>(random() % 4);
  for (std::size_t f = 0; f < F; ++f) {
    const auto t = static_cast<float>(f + 1);
    for (Eigen::Index v = 0; v < out.rest.positions.cols(); ++v) {
      const Vector3 p = out.rest.positions.col(v);
      const int part = c.motion == 2 ? static_cast<int>(v) * parts / c.vertices : 0;
      const float angle = 0.2F * t * static_cast<float>(1 + part) + (c.motion == 3 ? 0.3F * std::sin(p.y() + t) : 0);
      Vector3 x = c.motion == 0 ? p : Vector3(Eigen::AngleAxisf(angle, Vector3(0.36F, 0.48F, 0.8F)) * p);
      if (c.motion != 0) x += Vector3(0.1F * t, static_cast<float>(part), -0.2F * t);
      if (c.motion == 4) x += Vector3(normal(random), normal(random), normal(random));
      if (c.motion == 5) x *= f % 2 == 0 ? 0.0F : 1.0F;
      if (c.motion == 6) x *= std::exp2(t);
      out.frames[f].col(v) = x;
    }
  }
  const auto scale = static_cast<float>(std::pow(10.0, c.scale));
  const Vector3 offset = c.far_away ? Vector3(1e5F, -7e4F, 3e4F) : Vector3(0, 0, 0);
  const auto place = [&](auto&& points) { points = ((points.colwise() + offset) * scale).eval(); };
  place(out.rest.positions);
  for (std::size_t f = 0; f < F; ++f) place(out.frames[f]);
  out.times = uniform_times(F);
  return out;
}

}  // namespace sinew::test
