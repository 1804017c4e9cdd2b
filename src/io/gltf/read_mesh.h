#pragma once

#include <string>
#include <vector>

#include "io/gltf/document.h"
#include "io/scene/skinned_scene.h"
#include "sinew/core/mesh.h"
#include "sinew/io/io.h"

namespace sinew::gltf {

/// One glTF mesh, its primitives joined, in the mesh's own space. Vertices as the file has them are "raw"; those that
/// differ only in what is drawn on them are one control point.
struct MeshData : ControlPoints {
  std::string name;
  std::vector<Index> control_point;        // of each raw vertex; kUnused for raw vertices nothing refers to
  std::vector<Index> corners;              // raw vertex, three per triangle
  std::vector<int> materials;              // per triangle, -1: none
  std::vector<float> normals;              // raw×3, zero where the primitive has none; empty when none has
  std::vector<std::vector<float>> uvs;     // per set: raw×2, or empty
  std::vector<std::vector<float>> colors;  // per set: raw×4, or empty
  double weight_tolerance = 0;             // how far from 1 a sum may be without a word

  static constexpr Index kUnused = 0xFFFFFFFF;
};

/// How raw vertices become control points.
enum class Welding {
  by_value,  // equal position, influences and morph offsets
  as_told,   // by attribute _CONTROL_POINT; without it every raw vertex is one, in order
};

MeshData read_mesh(const Document& document, std::size_t mesh, Welding welding);

/// Materials with the textures, samplers and images they refer to. Images that cannot be read keep their URI and are
/// warned about.
Appearance read_appearance(const Document& document, const ReadOptions& options);

}  // namespace sinew::gltf
