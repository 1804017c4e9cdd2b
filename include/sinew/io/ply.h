#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "sinew/core/mesh.h"

/// PLY meshes, ASCII and binary of either byte order: positions, normals, colours and UVs of vertices, polygons.
/// Elements and properties of other names are skipped. What is read: docs/formats.md.
namespace sinew {

/// `name` stands for the bytes in error sentences. The result satisfies Mesh::check() and has at least one vertex.
/// Throws Error{input}.
Mesh parse_ply(std::span<const std::byte> bytes, const std::string& name);
Mesh read_ply(const std::filesystem::path& path);

/// Positions of a frame whose faces must be those of `rest`. Throws Error{input} with both counts, or the first face
/// that differs, when it does not belong to `rest`.
Points parse_ply_frame(std::span<const std::byte> bytes, const std::string& name, const Mesh& rest);

}  // namespace sinew
