#pragma once

#include "io/glb_builder.h"

namespace sinew::gltf {

/// Adds a root-level extension and its arrays. Throws Error{usage} where its JSON is not as GltfExtension says.
void add_extension(const GltfExtension& extension, GlbBuilder& out);

}  // namespace sinew::gltf
