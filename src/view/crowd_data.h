#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "sinew/core/rig.h"

/// What the page of a crowd carries: arrays and the JSON that says where they are.
namespace sinew::crowd {

/// Arrays one after another, each at a multiple of four bytes.
class Arrays {
 public:
  /// Where the array is: {"at", "count", "type"}, the type as "f32", "u32" or "u16".
  nlohmann::json add(std::span<const float> values) { return add(std::as_bytes(values), values.size(), "f32"); }
  nlohmann::json add(std::span<const Index> values) { return add(std::as_bytes(values), values.size(), "u32"); }
  nlohmann::json add(std::span<const std::uint16_t> values) { return add(std::as_bytes(values), values.size(), "u16"); }

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  nlohmann::json add(std::span<const std::byte> bytes, std::size_t count, const char* type);

  std::vector<std::byte> bytes_;
};

/// Where a character stands in its file, and how large it is: the page draws all of them in a box with a diagonal of 2
/// around the origin.
struct Frame {
  Vector3 center = Vector3::Zero();
  float scale = 1;
};
Frame frame_of(const Rig& finest);

/// The rig in its frame, with what a crowd plays of it: one set of weights and, where it has them, two layers.
Rig framed(const Rig& rig, const Frame& frame);

/// Vertices as they are drawn, triangles, and the influences for each of the methods that the level can be played with.
nlohmann::json level_json(const Rig& framed, Arrays& arrays);

/// The virtual bones of the second layer.
nlohmann::json virtual_bones_json(const TwoLayer& model, Arrays& arrays);

/// Clips, each with the sphere that holds it at every level and the height of its lowest vertex.
nlohmann::json clips_json(std::span<const Rig> levels);

/// Rows of all transforms as texels, F×B×3×4.
std::vector<float> texels_of_motion(const Rig& framed);

}  // namespace sinew::crowd
