#pragma once

#include <array>
#include <limits>
#include <map>
#include <vector>

#include "sinew/core/mesh.h"

/// Meshes as players draw them: triangles over vertices that are split where corners differ.
namespace sinew::gltf {

constexpr Index kNone = std::numeric_limits<Index>::max();

/// A piece with its vertices split where corner attributes differ. The first vertices are the piece's control points in
/// order; copies follow.
struct SplitPiece {
  Piece piece;
  std::vector<Index> source;  // control point of each vertex, from the piece's first
  std::vector<Index> corner;  // a corner that has the attributes of each vertex; kNone for isolated vertices
  std::map<int, std::vector<Index>> triangles;  // vertices, by material

  bool split() const { return source.size() > piece.vertices; }
};

/// The pieces that have vertices; a mesh without pieces is one called "mesh". `triangulation` is triangulate_corners().
std::vector<SplitPiece> split_pieces(const Mesh& mesh, const std::vector<Index>& triangulation);

/// Values of a corner attribute at one corner for each vertex, `fallback` for kNone.
template <int N>
std::vector<float> vertex_values(const std::vector<Index>& corners, const CornerAttribute<N>& attribute,
                                 const std::array<float, N>& fallback) {
  std::vector<float> out;
  out.reserve(corners.size() * N);
  for (const Index corner : corners) {
    const float* value =
        corner == kNone ? fallback.data() : attribute.values.data() + std::size_t{attribute.indices[corner]} * N;
    out.insert(out.end(), value, value + N);
  }
  return out;
}

}  // namespace sinew::gltf
