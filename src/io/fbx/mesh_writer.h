#pragma once

#include <string>
#include <vector>

#include "io/fbx/objects.h"
#include "io/gltf/builder.h"
#include "sinew/core/rig.h"

namespace sinew::fbx {

/// One piece of the rest mesh in the file.
struct WrittenPiece {
  Piece piece;
  Id model = 0;
  Id geometry = 0;
};

/// Appends a Geometry with polygons, normals, UV and colour sets and a Model for each piece that has vertices, and the
/// materials with their textures.
std::vector<WrittenPiece> add_meshes(const Mesh& mesh, gltf::Names& names, ObjectList& objects);

/// Appends a BlendShape with one channel per correction in `ranks` to every piece that it moves. Channels of rank
/// ranks[i] are result[i], to be keyed alike.
std::vector<std::vector<Id>> add_shapes(const Rig& rig, const std::vector<std::size_t>& ranks,
                                        const std::vector<WrittenPiece>& pieces, ObjectList& objects);

}  // namespace sinew::fbx
