#include "pack/vertex_order.h"

#include <meshoptimizer.h>

#include <algorithm>
#include <numeric>

#include "io/split_mesh.h"

namespace sinew::pack {
namespace {

/// The bone that moves most of a triangle.
Index main_bone(const Rig& rig, const gltf::SplitPiece& piece, const Index* triangle) {
  const auto slots = static_cast<std::size_t>(rig.weights.influences);
  std::map<Index, float> sums;
  for (int i = 0; i < 3; ++i) {
    const std::size_t row = (piece.piece.first_vertex + piece.source[triangle[i]]) * slots;
    for (std::size_t k = 0; k < slots; ++k) sums[rig.weights.bones[row + k]] += rig.weights.values[row + k];
  }
  const auto more = [](const auto& a, const auto& b) { return a.second < b.second; };
  return std::max_element(sums.begin(), sums.end(), more)->first;
}

/// Triangles of one bone after another.
std::vector<std::vector<Index>> by_bone(const Rig& rig, const gltf::SplitPiece& piece,
                                        const std::vector<Index>& triangles) {
  std::map<Index, std::vector<Index>> groups;
  for (std::size_t t = 0; t < triangles.size(); t += 3) {
    std::vector<Index>& group = groups[main_bone(rig, piece, triangles.data() + t)];
    group.insert(group.end(), triangles.begin() + static_cast<std::ptrdiff_t>(t),
                 triangles.begin() + static_cast<std::ptrdiff_t>(t + 3));
  }
  std::vector<std::vector<Index>> out;
  for (auto& [bone, group] : groups) out.push_back(std::move(group));
  return out;
}

std::vector<Index> reordered(const Rig& rig, const gltf::SplitPiece& piece, const std::vector<Index>& triangles,
                             TriangleOrder order) {
  const std::size_t vertices = piece.source.size();
  std::vector<Index> out;
  const auto groups =
      order == TriangleOrder::bones ? by_bone(rig, piece, triangles) : std::vector<std::vector<Index>>{triangles};
  for (const std::vector<Index>& group : groups) {
    std::vector<Index> part(group.size());
    if (order == TriangleOrder::vertex_cache)
      meshopt_optimizeVertexCache(part.data(), group.data(), group.size(), vertices);
    else
      meshopt_optimizeVertexCacheStrip(part.data(), group.data(), group.size(), vertices);
    out.insert(out.end(), part.begin(), part.end());
  }
  return out;
}

}  // namespace

std::vector<DrawnPiece> draw(const Rig& rig, TriangleOrder order) {
  std::vector<DrawnPiece> out;
  for (gltf::SplitPiece& piece : gltf::split_pieces(rig.rest, triangulate_corners(rig.rest))) {
    DrawnPiece drawn;
    drawn.name = piece.piece.name;
    drawn.lit = !piece.triangles.empty() && !(rig.rest.normals.empty() && rig.rest.flat);
    std::vector<Index> place(piece.source.size(), gltf::kNone);  // of each split vertex in the file
    const auto take = [&](Index v) {
      if (place[v] == gltf::kNone) {
        place[v] = static_cast<Index>(drawn.point.size());
        drawn.point.push_back(piece.piece.first_vertex + piece.source[v]);
        drawn.corner.push_back(piece.corner[v]);
      }
      return place[v];
    };
    for (const auto& [material, triangles] : piece.triangles)
      for (const Index v : reordered(rig, piece, triangles, order)) drawn.triangles[material].push_back(take(v));
    if (piece.triangles.empty())
      for (Index v = 0; v < piece.source.size(); ++v) take(v);
    out.push_back(std::move(drawn));
  }
  return out;
}

}  // namespace sinew::pack
