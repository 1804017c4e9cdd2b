#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "sinew/core/progress.h"
#include "sinew/io/io.h"

/// USD in and out: text layers (.usda) and packages of one with its images (.usdz). Which function you want:
///   read_usd_rig        a skinned stage as a Rig; what write_usd_rig wrote comes back as it was
///   read_usd_sequence   any animated meshes (moving points, transforms, skins, blend shapes) as positions
///   write_usd_rig       a Rig as UsdSkel: SkelRoot, Skeleton, one SkelAnimation per clip, corrections as blend shapes
///   write_usd_sequence  a Sequence as meshes whose points have time samples
/// The parse_ forms work on memory. How the parts map, and what is left out: docs/formats.md.
namespace sinew {

/// Posed by UsdSkel at the frames' time codes it equals pose() up to float rounding; scales are half floats there.
/// Throws Error{output} when a bone shears, which joints of USD cannot. Images go into the package, or beside a .usda
/// into `textures`, named by their contents. Complete or absent.
void write_usd_rig(const std::filesystem::path& path, const Rig& rig);

/// Frames of all clips one after another; the rest pose is the default value of the points. Complete or absent.
void write_usd_sequence(const std::filesystem::path& path, const Sequence& sequence, const Progress& progress = {});

/// Reads the skinned meshes of a stage as one rig; meshes without a skin become pieces that follow a bone of their own,
/// blend shapes become corrections. The result satisfies Rig::check(). Throws Error{input}: for binary layers (crate),
/// other layers that this one refers to and value clips with the command that makes one text layer of them.
Rig read_usd_rig(const std::filesystem::path& path, const ReadOptions& options = {});

/// `folder` is where images lie; `name` stands for the file in sentences.
Rig parse_usd_rig(std::span<const std::byte> bytes, const std::filesystem::path& folder,
                  const ReadOptions& options = {}, const std::string& name = "USD");

/// Evaluates the meshes of a stage at the samples of what moves them; frames that the options leave out are not read.
/// The result satisfies Sequence::check(). Throws Error{input}.
Sequence read_usd_sequence(const std::filesystem::path& path, const ReadOptions& options = {});
Sequence parse_usd_sequence(std::span<const std::byte> bytes, const std::filesystem::path& folder,
                            const ReadOptions& options = {}, const std::string& name = "USD");

}  // namespace sinew
