#pragma once

#include <string>
#include <vector>

#include "io/arrays/zip.h"
#include "io/usd/joints.h"
#include "io/usd/text.h"
#include "sinew/core/rig.h"
#include "sinew/core/sequence.h"

/// Parts of a written stage. Everything lies below one root prim:
///   /NAME             SkelRoot of a rig, Xform of a sequence
///   /NAME/PIECE       one Mesh per piece
///   /NAME/skeleton    Skeleton, below it one SkelAnimation per clip
///   /NAME/materials   Materials
namespace sinew::usd {

/// Seconds as time codes: frames at a constant rate are whole numbers.
struct TimeCodes {
  double per_second = 30;
  std::vector<double> codes;  // F
};
TimeCodes time_codes(const std::vector<double>& times, const std::vector<Clip>& clips);

/// An image file that materials refer to, `name` as in the asset path; `bytes` belong to the appearance.
struct Texture {
  std::string name;
  std::span<const std::byte> bytes;
};

/// Paths of the materials, one per material of the appearance, and the images that they use.
struct Materials {
  std::vector<std::string> paths;
  std::vector<bool> double_sided;
  std::vector<Texture> textures;
};

/// Names of the materials and images: known before the meshes are written, which come first.
Materials name_materials(const Appearance& appearance, const std::string& root, Identifiers& names);

/// The UV set that the reader of texture coordinates `set` looks up.
std::string uv_name(std::size_t set);

void write_materials(const Appearance& appearance, const Materials& materials, Text& out);

/// A piece as a Mesh prim, and what moves it.
struct MeshWriter {
  const Mesh& mesh;
  Piece piece;
  std::size_t first_corner = 0;  // of the piece in the mesh
  const Materials& materials;
  std::string path;  // of the prim

  /// Faces, attributes and material of the rest mesh; points and normals are left to the two functions below.
  void write_surface(Text& out) const;
  void write_subsets(Text& out) const;

  /// A skinned piece: rest points, normals, weights, blend shapes for the corrections in `targets`.
  void write_skinned(const Rig& rig, const std::vector<std::size_t>& targets, const std::string& skeleton,
                     Text& out) const;
  /// A piece whose points are given in every frame; the rest pose is the default value.
  void write_moving(const Sequence& sequence, const std::vector<double>& codes, Text& out) const;
};

/// The pieces of a mesh that have vertices, one that holds all where there are none, with names for their prims.
std::vector<MeshWriter> mesh_writers(const Mesh& mesh, const Materials& materials, const std::string& root,
                                     Identifiers& names);

/// Name of the blend shape of a correction.
std::string shape_name(std::size_t correction);

}  // namespace sinew::usd
