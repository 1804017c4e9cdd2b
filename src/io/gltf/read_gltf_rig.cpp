#include <fmt/format.h>

#include <algorithm>

#include "io/gltf/model.h"
#include "sinew/core/error.h"
#include "sinew/io/gltf.h"
#include "sinew/io/two_layer_gltf.h"

/// A glTF model as a rig.
namespace sinew {
namespace gltf {
namespace {

/// The two-layer model in the file, if there is one and all meshes are read. It is noted at the keys: a rig that is
/// sampled between them, or of one clip, moves as its skin does and is blended by both layers.
void add_second_layer(std::span<const std::byte> bytes, const std::filesystem::path& folder, const ReadOptions& options,
                      const std::string& name, Rig& rig) {
  const std::optional<GltfExtension> extension = parse_gltf_extension(bytes, kTwoLayerExtension, name);
  if (!extension || options.halfway) return;  // half-way between keys nothing but the skin is compared
  if (!options.mesh.empty()) {
    if (options.warn) options.warn(fmt::format("{}: only a part is read, so its two-layer model is left out", name));
  } else if (options.clip.empty() && options.frames_per_second == 0) {
    apply_two_layer_extension(*extension, name, rig);
  } else {
    ReadOptions whole;
    whole.max_bytes = options.max_bytes;
    rig.two_layer = parse_gltf_rig(bytes, folder, whole, name).two_layer;
  }
}

}  // namespace
}  // namespace gltf

Rig parse_gltf_rig(std::span<const std::byte> bytes, const std::filesystem::path& folder, const ReadOptions& options,
                   const std::string& name) {
  const gltf::Document document(bytes, folder, name);
  const gltf::Model model = gltf::read_model(document, options);
  if (std::none_of(model.parts.begin(), model.parts.end(), [](const Part& part) { return part.skinned; }))
    document.refuse("has no skin, so it is no rig: sinew solve makes one of a mesh that moves");
  const gltf::Timeline timeline = gltf::timeline(document, model, options);
  Rig rig = rig_of_scene(gltf::skinned_scene(document, model), gltf::rest_mesh(document, model, options),
                         {timeline.seconds, timeline.clips}, gltf::poses(model, timeline), options);
  gltf::add_second_layer(bytes, folder, options, name, rig);
  rig.check();
  return rig;
}

}  // namespace sinew
