#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sinew/io/io.h"

/// glTF 2.0 in and out. Which function you want:
///   read_gltf_rig        a skinned .glb/.gltf as a Rig; what write_glb wrote comes back as it was
///   read_gltf_sequence   any animated .glb/.gltf (skins, morph targets, moving nodes) baked to positions
///   write_glb            a Rig as one .glb file
///   write_glb_levels     the same with coarser levels of detail behind it
///   read_gltf_extension  data that a caller of write_glb put beside the rig
/// The parse_ and _bytes forms work on memory. How the parts of a rig map to glTF: docs/formats.md.
namespace sinew {

/// Numbers of an extension: one glTF accessor.
struct GltfArray {
  enum class Component { i8 = 5120, u8 = 5121, i16 = 5122, u16 = 5123, u32 = 5125, f32 = 5126 };

  std::string name;
  Component component = Component::f32;
  int width = 1;                 // components per element: 1 (SCALAR), 2, 3, 4 (VEC) or 16 (MAT4)
  std::vector<std::byte> bytes;  // tightly packed, little-endian
};

/// A root-level glTF extension: a JSON object and arrays. In the file, member "accessors" of the extension object maps
/// the names of the arrays to accessor numbers. Listed in extensionsUsed, never required.
struct GltfExtension {
  std::string name;
  std::string json = "{}";  // text of an object without a member "accessors"
  std::vector<GltfArray> arrays;
};

/// The rig as a GLB file: a skin, one animation per clip with one key per frame, the mesh cut into triangles. Posed by
/// a glTF player at the keys it equals pose() up to float rounding. Throws Error{input} when rig.check() does, and
/// Error{output} when it does not fit glTF (more than 65536 bones, more than 4 GiB, equal key times in float).
std::vector<std::byte> glb_bytes(const Rig& rig, const WriteOptions& options = {},
                                 std::span<const GltfExtension> extensions = {});

/// The same to a file: complete or absent.
void write_glb(const std::filesystem::path& path, const Rig& rig, const WriteOptions& options = {},
               std::span<const GltfExtension> extensions = {});

/// Several levels of detail of one rig in one file [MSFT_lod], the finest first: that one is what readers find that do
/// not know the extension. All have the bones, motion and coefficients of the first. Throws as glb_bytes() does, and
/// Error{usage} when they do not belong together.
std::vector<std::byte> glb_levels_bytes(std::span<const Rig> levels, const WriteOptions& options = {},
                                        std::span<const GltfExtension> extensions = {});
void write_glb_levels(const std::filesystem::path& path, std::span<const Rig> levels, const WriteOptions& options = {},
                      std::span<const GltfExtension> extensions = {});

/// Reads the skinned meshes of the file's scene as one rig; meshes without a skin become pieces that follow a bone of
/// their own, morph targets become corrections. The result satisfies Rig::check(). Throws Error{input}.
Rig read_gltf_rig(const std::filesystem::path& path, const ReadOptions& options = {});

/// `folder` is where relative URIs start; `name` stands for the file in sentences.
Rig parse_gltf_rig(std::span<const std::byte> bytes, const std::filesystem::path& folder,
                   const ReadOptions& options = {}, const std::string& name = "glTF");

/// Evaluates the meshes of the file's scene at the frames of its animations. The rest pose is the bind pose of skinned
/// meshes and the place of the node for others. A two-layer model is posed by both layers, whatever part is read;
/// between its keys vertices move straight. The result satisfies Sequence::check(). Throws Error{input}.
Sequence read_gltf_sequence(const std::filesystem::path& path, const ReadOptions& options = {});
Sequence parse_gltf_sequence(std::span<const std::byte> bytes, const std::filesystem::path& folder,
                             const ReadOptions& options = {}, const std::string& name = "glTF");

/// The root-level extension of that name as write_glb wrote it, or nothing. Throws Error{input}.
std::optional<GltfExtension> read_gltf_extension(const std::filesystem::path& path, const std::string& extension);
std::optional<GltfExtension> parse_gltf_extension(std::span<const std::byte> bytes, const std::string& extension,
                                                  const std::string& name = "glTF");

}  // namespace sinew
