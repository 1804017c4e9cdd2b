#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "sinew/core/rig.h"

/// A two-layer model and its motion in as few bytes as 16 bits per number allow: docs/formats.md, "Two-layer models".
namespace sinew::gltf {

std::vector<std::byte> pack_two_layer(const TwoLayer& model, const Motion& motion);

/// Sizes that the surroundings of the bytes know: the bytes must agree with them.
struct PackedSizes {
  std::size_t vertices, bones, frames, virtual_bones;
  int masters_per_virtual, virtual_per_vertex;
};

/// The inverse up to rounding. Throws Error{input} starting with `name` on bytes that pack_two_layer did not write.
void unpack_two_layer(std::span<const std::byte> bytes, const PackedSizes& sizes, const std::string& name,
                      TwoLayer& model, Motion& motion);

}  // namespace sinew::gltf
