#pragma once

#include "io/fbx/scene.h"
#include "io/scene/skinned_scene.h"
#include "sinew/core/mesh.h"

namespace sinew::fbx {

/// Polygons of one Geometry in its own space, without materials.
struct Polygons {
  std::string name;
  Mesh mesh;                            // positions, faces, corner attributes
  std::vector<std::int64_t> materials;  // per face: number among the materials of the model; empty: all the first
};

/// Reads a Geometry of kind Mesh. Faces of fewer than three corners are left out with a warning. Throws Error{input}
/// for polygons that name no vertex, values that do not fit and numbers that are not finite.
Polygons read_polygons(const Document& document, std::size_t geometry, const ReadOptions& options);

/// Materials of the file as glTF ones, with their textures: base colour, emission, opacity and roughness.
struct Materials {
  Appearance appearance;
  std::map<std::size_t, int> number_of;  // by object
};
Materials read_materials(const Document& document);

}  // namespace sinew::fbx
