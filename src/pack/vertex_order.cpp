#include "pack/vertex_order.h"

#include <meshoptimizer.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "io/scene/split_mesh.h"

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

using Triangles = std::map<int, std::vector<Index>>;  // vertices, by material

/// Triangles that are drawn with one skin, and its bones.
struct Cut {
  Triangles triangles;
  std::set<Index> bones;
};

std::set<Index> bones_of(const Rig& rig, const gltf::SplitPiece& piece, const Index* triangle) {
  const auto slots = static_cast<std::size_t>(rig.weights.influences);
  std::set<Index> out;
  for (int i = 0; i < 3; ++i) {
    const std::size_t row = (piece.piece.first_vertex + piece.source[triangle[i]]) * slots;
    for (std::size_t k = row; k < row + slots; ++k)
      if (rig.weights.values[k] > 0) out.insert(rig.weights.bones[k]);
  }
  return out;
}

/// Triangles in their order, cut wherever one more would follow too many bones.
std::vector<Cut> cut(const Rig& rig, const gltf::SplitPiece& piece, const Triangles& ordered, std::size_t most_bones) {
  std::vector<Cut> out(1);
  for (const auto& [material, triangles] : ordered)
    for (std::size_t t = 0; t < triangles.size(); t += 3) {
      const std::set<Index> own = bones_of(rig, piece, triangles.data() + t);
      std::set<Index> both = out.back().bones;
      both.insert(own.begin(), own.end());
      if (both.size() > most_bones && !out.back().triangles.empty()) {
        out.emplace_back();
        both = own;
      }
      std::vector<Index>& list = out.back().triangles[material];
      list.insert(list.end(), triangles.begin() + static_cast<std::ptrdiff_t>(t),
                  triangles.begin() + static_cast<std::ptrdiff_t>(t + 3));
      out.back().bones = std::move(both);
    }
  return out;
}

/// A part with its vertices in the order in which triangles first use them.
DrawnPiece drawn(const gltf::SplitPiece& piece, const Triangles& triangles) {
  DrawnPiece out;
  out.name = piece.piece.name;
  std::vector<Index> place(piece.source.size(), gltf::kNone);  // of each split vertex in the file
  const auto take = [&](Index v) {
    if (place[v] == gltf::kNone) {
      place[v] = static_cast<Index>(out.point.size());
      out.point.push_back(piece.piece.first_vertex + piece.source[v]);
      out.corner.push_back(piece.corner[v]);
    }
    return place[v];
  };
  for (const auto& [material, list] : triangles)
    for (const Index v : list) out.triangles[material].push_back(take(v));
  if (triangles.empty())
    for (Index v = 0; v < piece.source.size(); ++v) take(v);
  return out;
}

}  // namespace

std::vector<DrawnPiece> draw(const Rig& rig, TriangleOrder order, std::size_t most_bones) {
  std::vector<DrawnPiece> out;
  const bool too_many = rig.bone_count() > most_bones;
  for (const gltf::SplitPiece& piece : gltf::split_pieces(rig.rest, triangulate_corners(rig.rest))) {
    Triangles triangles;
    // Triangles of one bone after another need few cuts.
    for (const auto& [material, list] : piece.triangles)
      triangles[material] = reordered(rig, piece, list, too_many ? TriangleOrder::bones : order);
    const bool lit = !triangles.empty() && !(rig.rest.normals.empty() && rig.rest.flat);
    const bool whole = !too_many || triangles.empty();
    for (const Cut& part : whole ? std::vector<Cut>{{triangles, {}}} : cut(rig, piece, triangles, most_bones)) {
      out.push_back(drawn(piece, part.triangles));
      out.back().lit = lit;
      out.back().bones.assign(part.bones.begin(), part.bones.end());
    }
  }
  return out;
}

}  // namespace sinew::pack
