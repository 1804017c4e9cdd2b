#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "sinew/io/io.h"

/// FBX in and out. Which function you want:
///   read_fbx_rig        a skinned .fbx as a Rig; what write_fbx wrote comes back as it was
///   read_fbx_sequence   any animated .fbx (skins, blend shapes, moving nodes) baked to positions
///   write_fbx           a Rig as one binary .fbx file (7.4)
/// The parse_ and _bytes forms work on memory.
/// How the parts of a rig map to FBX, and which readers agree: docs/formats.md.
namespace sinew {

/// The rig as a binary FBX 7.4 file: polygons, a skin for every piece, one animation stack per clip with one key per
/// frame, corrections as blend shapes. At the keys it equals pose() up to float rounding. Throws Error{input} when
/// rig.check() does, and Error{output} when the format cannot hold it: a bone that shears (unless options.bake_shear),
/// more than 4 GiB, key times closer than a tick. Of a two-layer model the weights that stand in for it are written.
std::vector<std::byte> fbx_bytes(const Rig& rig, const WriteOptions& options = {});

/// The same to a file: complete or absent.
void write_fbx(const std::filesystem::path& path, const Rig& rig, const WriteOptions& options = {});

/// Reads the skinned meshes of binary files of version 7100 to 7700 and of text of version 7 as one rig, in metres and
/// with +Y up; meshes without a skin become pieces that follow a bone of their own, blend shapes become corrections.
/// The result satisfies Rig::check(). Throws Error{input}.
Rig read_fbx_rig(const std::filesystem::path& path, const ReadOptions& options = {});
Rig parse_fbx_rig(std::span<const std::byte> bytes, const ReadOptions& options = {}, const std::string& name = "FBX");

/// Evaluates the meshes of the file at the frames of its animations. The rest pose is the bind pose of skinned meshes
/// and the place of the model for others. The result satisfies Sequence::check(). Throws Error{input}.
Sequence read_fbx_sequence(const std::filesystem::path& path, const ReadOptions& options = {});
Sequence parse_fbx_sequence(std::span<const std::byte> bytes, const ReadOptions& options = {},
                            const std::string& name = "FBX");

}  // namespace sinew
