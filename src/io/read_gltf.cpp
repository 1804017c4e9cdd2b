#include <fmt/format.h>

#include "io/gltf_model.h"
#include "sinew/core/error.h"
#include "sinew/io/gltf.h"
#include "sinew/io/output_file.h"

namespace sinew {

Sequence parse_gltf_sequence(std::span<const std::byte> bytes, const std::filesystem::path& folder,
                             const ReadOptions& options, const std::string& name) {
  const gltf::Document document(bytes, folder, name);
  const gltf::Model model = gltf::read_model(document, options);
  const gltf::Timeline timeline = gltf::timeline(document, model, options);
  return sequence_of_scene(gltf::skinned_scene(document, model), gltf::rest_mesh(document, model, options),
                           {timeline.seconds, timeline.clips}, gltf::poses(model, timeline), options);
}

std::optional<GltfExtension> parse_gltf_extension(std::span<const std::byte> bytes, const std::string& extension,
                                                  const std::string& name) {
  const gltf::Document document(bytes, {}, name);
  const gltf::Json* extensions = document.find(document.root(), "extensions");
  if (extensions == nullptr || document.find(*extensions, extension.c_str()) == nullptr) return std::nullopt;
  gltf::Json object = (*extensions)[extension];
  if (!object.is_object()) document.refuse(fmt::format("extension '{}' is not an object", extension));
  GltfExtension out{extension, "", {}};
  const gltf::Json accessors = object.value("accessors", gltf::Json::object());
  if (!accessors.is_object()) document.refuse(fmt::format("extension '{}': accessors is not an object", extension));
  for (const auto& [key, value] : accessors.items()) {
    const std::size_t accessor = document.index_value(value, "accessors", fmt::format("extension '{}'", extension));
    out.arrays.push_back(document.packed(accessor));
    out.arrays.back().name = key;
  }
  object.erase("accessors");
  out.json = object.dump();
  return out;
}

std::optional<GltfExtension> read_gltf_extension(const std::filesystem::path& path, const std::string& extension) {
  return parse_gltf_extension(read_file(path), extension, path.string());
}

Sequence read_gltf_sequence(const std::filesystem::path& path, const ReadOptions& options) {
  return parse_gltf_sequence(read_file(path), path.parent_path(), options, path.string());
}

Rig read_gltf_rig(const std::filesystem::path& path, const ReadOptions& options) {
  return parse_gltf_rig(read_file(path), path.parent_path(), options, path.string());
}

}  // namespace sinew
