#pragma once

#include <span>
#include <string_view>

namespace sinew {

/// What an engine takes of a rig in a GLB. Sources: docs/shipping.md.
struct Engine {
  std::string_view name;    // as --target has it
  int influences = 4;       // per vertex
  int bones = 65536;        // per mesh
  bool shear = true;        // pairs of nodes that stretch unevenly are kept
  bool meshopt = true;      // EXT_meshopt_compression and KHR_mesh_quantization are read
  bool safe_names = false;  // other characters in names are changed on import
};

/// All engines that are known, by name.
std::span<const Engine> engines();

/// The engine of that name; nullptr: none.
const Engine* find_engine(std::string_view name);

}  // namespace sinew
