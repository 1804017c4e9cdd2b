#pragma once

#include <vector>

#include "io/gltf/builder.h"
#include "pack/rounded.h"
#include "sinew/pack/pack.h"

namespace sinew::pack {

/// What animations move in a file, by its number there.
struct AnimatedNodes {
  std::size_t root = 0;             // holds all bones
  std::vector<std::size_t> outer;   // of each bone: turns, moves and stretches
  std::vector<std::size_t> joints;  // of each bone: the same node, or one inside it that turns
  std::vector<std::size_t> meshes;
};

/// Adds an animation for each clip. `targets`: the corrections that are in the file, as morph targets.
void add_packed_motion(const Rounded& rounded, const AnimatedNodes& nodes, const std::vector<std::size_t>& targets,
                       const PackOptions& options, const char* extension, gltf::GlbBuilder& out);

}  // namespace sinew::pack
