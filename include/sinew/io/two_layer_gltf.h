#pragma once

#include "sinew/io/gltf.h"

namespace sinew {

/// Name of the extension that holds a rig's two-layer model: docs/formats.md, "Two-layer models". write_glb adds it to
/// a rig that has one, unless the caller gives it; read_gltf_rig reads it.
inline constexpr const char* kTwoLayerExtension = "SINEW_two_layer_skinning";

/// rig.two_layer and rig.motion as the extension; `pack`: 16 bits per number, compressed.
GltfExtension two_layer_extension(const Rig& rig, bool pack);

/// Sets rig.two_layer, and rig.motion where the extension has it, from what a file says. Everything in it is checked
/// against the rig before it is used. Throws Error{input} starting with `name`.
void apply_two_layer_extension(const GltfExtension& extension, const std::string& name, Rig& rig);

}  // namespace sinew
