#include <fmt/format.h>

#include <algorithm>

#include "io/gltf_model.h"
#include "sinew/core/error.h"
#include "sinew/io/gltf.h"
#include "sinew/io/two_layer_gltf.h"

/// A glTF model as a rig.
namespace sinew {
namespace gltf {
namespace {

/// The two-layer model in the file, if there is one and the whole rig is read.
void add_second_layer(std::span<const std::byte> bytes, const ReadOptions& options, const std::string& name, Rig& rig) {
  const std::optional<GltfExtension> extension = parse_gltf_extension(bytes, kTwoLayerExtension, name);
  if (!extension) return;
  if (options.halfway) return;  // its motion is noted at the keys
  if (options.clip.empty() && options.mesh.empty() && options.frames_per_second == 0)
    apply_two_layer_extension(*extension, name, rig);
  else if (options.warn)
    options.warn(fmt::format("{}: only a part is read, so its two-layer model is left out", name));
}

}  // namespace
}  // namespace gltf

Rig parse_gltf_rig(std::span<const std::byte> bytes, const std::filesystem::path& folder, const ReadOptions& options,
                   const std::string& name) {
  const gltf::Document document(bytes, folder, name);
  const gltf::Model model = gltf::read_model(document, options);
  if (std::none_of(model.parts.begin(), model.parts.end(), [](const Part& part) { return part.skinned; }))
    document.refuse("has no skin, so it is no rig");
  const gltf::Timeline timeline = gltf::timeline(document, model, options);
  Rig rig = rig_of_scene(gltf::skinned_scene(document, model), gltf::rest_mesh(document, model, options),
                         {timeline.seconds, timeline.clips}, gltf::poses(model, timeline), options);
  gltf::add_second_layer(bytes, options, name, rig);
  rig.check();
  return rig;
}

}  // namespace sinew
