#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "sinew/core/mesh.h"
#include "sinew/core/sequence.h"

/// Wavefront OBJ, polygons only: v (with optional w or r g b), vt, vn, f, usemtl, o, g. Everything else is skipped.
/// What is read, ignored and written: docs/formats.md.
namespace sinew {

/// `name` stands for the bytes in error sentences. The result satisfies Mesh::check() and has at least one vertex.
/// Throws Error{input} naming the line.
Mesh parse_obj(std::span<const std::byte> bytes, const std::string& name);
Mesh read_obj(const std::filesystem::path& path);

/// Positions of a frame whose faces must be those of `rest`; everything else in it is skipped. Throws Error{input} with
/// both counts, or the first face that differs, when it does not belong to `rest`.
Points parse_obj_frame(std::span<const std::byte> bytes, const std::string& name, const Mesh& rest);

/// Frames from OBJ files in the given order, over a rest mesh that has their faces.
Frames read_obj_frames(const std::vector<std::filesystem::path>& paths, const Mesh& rest);

/// The OBJ files of a folder in natural order (frame2 before frame10), `rest.obj` left out.
std::vector<std::filesystem::path> list_obj_frames(const std::filesystem::path& folder);

/// True when `a` comes before `b`: runs of digits compare as numbers, everything else by character.
bool natural_less(const std::string& a, const std::string& b);

}  // namespace sinew
