#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sinew/core/rig.h"
#include "sinew/io/gltf.h"
#include "sinew/runtime/sinew_tree.h"

namespace sinew {

/// A box along the axes.
struct Bounds {
  Vector3 low = Vector3::Zero();
  Vector3 high = Vector3::Zero();
};

/// Where a model is while a clip plays.
struct ClipBounds {
  std::string name;  // empty: the frames of a rig without clips
  Bounds box;        // of all its frames
};

/// The boxes of the posed vertices, clip by clip. Throws Error{input} for a rig without frames.
std::vector<ClipBounds> clip_bounds(const Rig& rig, int threads = 0);

/// A bounded deformation tree [JamesPai2004; JamesTwigg2005 §7] with its memory: what sinew_tree.h reads.
struct BoundsTree {
  std::vector<sinew_tree_node> nodes;
  std::vector<sinew_tree_follow> follows;
  std::vector<std::uint32_t> corners;  // triangles × 3, in the tree's order
  std::vector<std::uint32_t> numbers;  // of those triangles among triangles_of(mesh)
  std::size_t corrections = 0;
  std::vector<float> shifts;  // nodes × corrections × 6

  sinew_tree view() const;
};

/// Builds the tree over the rest mesh of a rig: triangles in halves along the longest side, four to a leaf. Two layers
/// are taken as they pose. Throws Error{input}.
BoundsTree build_bounds_tree(const Rig& rig);

inline constexpr const char* kBoundsExtension = "SINEW_bounds";

/// The extension SINEW_bounds of a GLB: boxes of the clips, and the tree where there is one. docs/formats.md
GltfExtension bounds_extension(const std::vector<ClipBounds>& clips, const BoundsTree* tree);

/// The tree of such a file, checked against its rig; nothing where it has none. Throws Error{input}.
std::optional<BoundsTree> read_bounds_tree(const std::filesystem::path& path, const Rig& rig);
std::optional<BoundsTree> tree_of(const GltfExtension& extension, const Rig& rig, const std::string& name);

/// A rig as the runtime plays it, with its memory.
struct RuntimeModel {
  std::vector<float> positions;  // V×3
  std::vector<std::uint32_t> indices;
  std::vector<float> values;
  std::vector<std::uint32_t> dictionary_indices;
  std::vector<float> dictionary_values;
  std::vector<float> offsets;       // R×V×3
  std::vector<float> palettes;      // F×B×16
  std::vector<float> coefficients;  // F×R
  sinew_model model{};              // points into the above: copies of this struct do not

  RuntimeModel() = default;
  RuntimeModel(RuntimeModel&&) = default;
  RuntimeModel& operator=(RuntimeModel&&) = default;
  RuntimeModel(const RuntimeModel&) = delete;
  RuntimeModel& operator=(const RuntimeModel&) = delete;
  ~RuntimeModel() = default;
};
RuntimeModel runtime_model(const Rig& rig);

}  // namespace sinew
