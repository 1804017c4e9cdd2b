#pragma once

#include <string>
#include <vector>

#include "io/gltf/builder.h"
#include "sinew/core/rig.h"

namespace sinew::gltf {

/// Normals of control points, weighted by area and not scaled to unit length, for meshes that come without.
Points smooth_normals(const Mesh& mesh, const std::vector<Index>& triangulation);

/// Morph targets in the file: ranks of the rig's corrections that move something in some frame.
std::vector<std::size_t> effective_corrections(const Rig& rig);

/// Appends images, samplers, textures and materials; declares the extensions they use.
void add_appearance(const Appearance& appearance, GlbBuilder& out);

/// One glTF mesh per piece that has vertices (one for a mesh without pieces), numbered like the result.
struct WrittenMesh {
  std::size_t mesh = 0;    // index in the file
  std::string name;        // the piece's own name
  std::size_t shapes = 0;  // morph targets behind the corrections, which no frame uses
};
std::vector<WrittenMesh> add_meshes(const Rig& rig, const std::vector<std::size_t>& targets, GlbBuilder& out);

}  // namespace sinew::gltf
