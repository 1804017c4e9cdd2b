#include "io/scene/split_mesh.h"

#include <algorithm>

namespace sinew::gltf {
namespace {

template <int N>
bool same_value(const CornerAttribute<N>& attribute, Index a, Index b) {
  if (attribute.empty() || attribute.indices[a] == attribute.indices[b]) return true;
  const float* values = attribute.values.data();
  return std::equal(values + std::size_t{attribute.indices[a]} * N, values + std::size_t{attribute.indices[a] + 1} * N,
                    values + std::size_t{attribute.indices[b]} * N);
}

bool same_corner(const Mesh& mesh, Index a, Index b) {
  const auto same = [&](const auto& attribute) { return same_value(attribute, a, b); };
  return same(mesh.normals) && std::all_of(mesh.uv_sets.begin(), mesh.uv_sets.end(), same) &&
         std::all_of(mesh.color_sets.begin(), mesh.color_sets.end(), same);
}

/// Splits one piece. `first_corner` is the piece's first corner, `triangulation` the whole mesh's, from
/// `first_triangle`; both advance to the next piece.
SplitPiece split(const Mesh& mesh, const Piece& piece, const std::vector<Index>& triangulation, Index& first_corner,
                 std::size_t& first_triangle) {
  SplitPiece out{piece, std::vector<Index>(piece.vertices), std::vector<Index>(piece.vertices, kNone), {}};
  for (Index v = 0; v < piece.vertices; ++v) out.source[v] = v;
  std::vector<Index> next(piece.vertices, kNone);  // the next vertex of the same control point
  std::vector<Index> vertex_of;                    // per corner of the piece
  Index corner = first_corner;
  for (Index face = piece.first_face; face < piece.first_face + piece.faces; ++face)
    for (Index i = 0; i < mesh.face_sizes[face]; ++i, ++corner) {
      Index at = mesh.corners[corner] - piece.first_vertex;
      while (out.corner[at] != kNone && !same_corner(mesh, out.corner[at], corner)) {
        if (next[at] == kNone) {
          next[at] = static_cast<Index>(out.source.size());
          out.source.push_back(mesh.corners[corner] - piece.first_vertex);
          out.corner.push_back(kNone);
          next.push_back(kNone);
        }
        at = next[at];
      }
      if (out.corner[at] == kNone) out.corner[at] = corner;
      vertex_of.push_back(at);
    }
  for (Index face = piece.first_face; face < piece.first_face + piece.faces; ++face) {
    const std::size_t count = 3 * (std::size_t{mesh.face_sizes[face]} - 2);
    std::vector<Index>& group = out.triangles[mesh.face_materials.empty() ? -1 : mesh.face_materials[face]];
    for (std::size_t i = 0; i < count; ++i)
      group.push_back(vertex_of[triangulation[first_triangle + i] - first_corner]);
    first_triangle += count;
  }
  first_corner = corner;
  return out;
}

}  // namespace

std::vector<SplitPiece> split_pieces(const Mesh& mesh, const std::vector<Index>& triangulation) {
  std::vector<Piece> pieces = mesh.pieces;
  if (pieces.empty())
    pieces.push_back({"mesh", 0, static_cast<Index>(mesh.vertex_count()), 0, static_cast<Index>(mesh.face_count())});
  std::vector<SplitPiece> out;
  Index first_corner = 0;
  std::size_t first_triangle = 0;
  for (const Piece& piece : pieces)
    if (piece.vertices > 0) out.push_back(split(mesh, piece, triangulation, first_corner, first_triangle));
  return out;
}

}  // namespace sinew::gltf
