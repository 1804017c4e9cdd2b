#pragma once

#include <map>
#include <string>
#include <vector>

#include "sinew/core/rig.h"

namespace sinew::pack {

/// A piece as the file has it: vertices in the order in which triangles first use them.
struct DrawnPiece {
  std::string name;
  bool lit = false;           // has triangles that are not drawn flat
  std::vector<Index> point;   // control point of each vertex, in the whole mesh
  std::vector<Index> corner;  // a corner that has the attributes of each vertex; gltf::kNone: isolated
  std::map<int, std::vector<Index>> triangles;  // vertices, by material
  std::vector<Index> bones;                     // joints of its skin; empty: all of the rig's
};

/// How triangles follow each other.
enum class TriangleOrder {
  strips,        // long strips: few bytes
  bones,         // strips of one bone after another: influences change seldom
  vertex_cache,  // best for the vertex cache of a GPU
};

/// Pieces that have vertices, cut where they follow more than `most_bones`. Points that no triangle uses are left out
/// where there are triangles.
std::vector<DrawnPiece> draw(const Rig& rig, TriangleOrder order, std::size_t most_bones);

}  // namespace sinew::pack
