#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "sinew/core/mesh.h"
#include "sinew/core/progress.h"
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

/// OBJ text of a mesh: colours of the first set and UVs of the first set, normals, materials by name, pieces as
/// objects.
std::string format_obj(const Mesh& mesh);
void write_obj(const std::filesystem::path& path, const Mesh& mesh);

/// Writes rest.obj and frame0000.obj, frame0001.obj, ... with the faces, materials and first UV set but without
/// normals, which belong to the rest pose. The folder appears when it is complete. It replaces one that holds nothing
/// but such files; throws Error{output} for any other folder that is not empty.
void write_obj_folder(const std::filesystem::path& folder, const Sequence& sequence, const Progress& progress = {});

/// True when `a` comes before `b`: runs of digits compare as numbers, everything else by character.
bool natural_less(const std::string& a, const std::string& b);

}  // namespace sinew
