#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "sinew/core/blendshapes.h"
#include "sinew/core/sliders.h"
#include "sinew/io/gltf.h"
#include "sinew/io/io.h"

/// Sliders in and out: morph targets as a file has them, and the map by which bones follow sliders instead.
namespace sinew {

/// The morph targets of the meshes of the file's scene as sliders: those of one name are one, and what moves nothing is
/// left out. The rest pose has all of them at 0, whatever weights the file starts with. Frames are those of the
/// animations in which sliders move, without what nodes and skins do there; where there are none, the sliders take
/// turns. Throws Error{input}, also for a file without morph targets.
Blendshapes read_gltf_blendshapes(const std::filesystem::path& path, const ReadOptions& options = {});
Blendshapes parse_gltf_blendshapes(std::span<const std::byte> bytes, const std::filesystem::path& folder,
                                   const ReadOptions& options = {}, const std::string& name = "glTF");

/// Name of the extension that holds a rig's sliders: docs/formats.md, "Sliders".
inline constexpr const char* kSlidersExtension = "SINEW_sliders";

/// The map as an extension to write beside its rig.
GltfExtension sliders_extension(const SliderMap& map);

/// The map of an extension; everything in it is checked against the rig's number of bones. Throws Error{input} starting
/// with `name`.
SliderMap sliders_of(const GltfExtension& extension, std::size_t bones, const std::string& name = "glTF");

/// The map in a file that holds `rig`, or nothing. Throws Error{input}.
std::optional<SliderMap> read_sliders(const std::filesystem::path& path, const Rig& rig);

/// The entries of a map as arrays of equal length n; `by` has n×width numbers.
struct SliderEntries {
  std::vector<Index> bones;
  std::vector<Index> sliders;
  std::vector<float> by;
};
SliderEntries entries_of(const SliderMap& map);

/// Writes the map as NumPy arrays (.npz): names as `sliders` (S) and `bones` (B); `heads` (B×3); its entries as
/// `entry_bone`, `entry_slider` (n) and `entry_by` (n×6 for rigid bones, n×12 for affine ones); the sliders in the
/// frames as `values` (F×S), with `times` (F). Throws Error{output}.
void write_sliders_npz(const std::filesystem::path& path, const Rig& rig, const SliderMap& map,
                       const Eigen::MatrixXf& values);

}  // namespace sinew
