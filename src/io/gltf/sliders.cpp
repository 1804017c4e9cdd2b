#include <fmt/format.h>

#include <cstring>

#include "io/gltf/model.h"
#include "io/json_text.h"
#include "io/scene/scene_shapes.h"
#include "sinew/core/error.h"
#include "sinew/io/blendshapes.h"
#include "sinew/io/output_file.h"

namespace sinew {
namespace {

using Json = nlohmann::json;

template <class T>
GltfArray array_of(const char* name, const std::vector<T>& values, GltfArray::Component component) {
  GltfArray out{name, component, 1, {}};
  const auto bytes = std::as_bytes(std::span(values));
  out.bytes.assign(bytes.begin(), bytes.end());
  return out;
}

/// The numbers of an array of the extension; refuses another type.
template <class T>
std::vector<T> numbers_of(const GltfExtension& extension, const char* array, GltfArray::Component component,
                          const std::string& name) {
  for (const GltfArray& found : extension.arrays) {
    if (found.name != array) continue;
    if (found.component != component || found.width != 1 || found.bytes.size() % sizeof(T) != 0)
      throw Error(ErrorKind::input,
                  fmt::format("{}: {}: array '{}' is of another type", name, kSlidersExtension, array));
    std::vector<T> out(found.bytes.size() / sizeof(T));
    if (!out.empty()) std::memcpy(out.data(), found.bytes.data(), found.bytes.size());
    return out;
  }
  throw Error(ErrorKind::input, fmt::format("{}: {}: has no array '{}'", name, kSlidersExtension, array));
}

}  // namespace

Blendshapes parse_gltf_blendshapes(std::span<const std::byte> bytes, const std::filesystem::path& folder,
                                   const ReadOptions& options, const std::string& name) {
  const gltf::Document document(bytes, folder, name);
  const gltf::Model model = gltf::read_model(document, options);
  const gltf::Timeline timeline = gltf::timeline(document, model, options);
  return blendshapes_of_scene(gltf::skinned_scene(document, model), gltf::rest_mesh(document, model, options),
                              {timeline.seconds, timeline.clips}, gltf::poses(model, timeline), options);
}

Blendshapes read_gltf_blendshapes(const std::filesystem::path& path, const ReadOptions& options) {
  return parse_gltf_blendshapes(read_file(path), path.parent_path(), options, path.string());
}

GltfExtension sliders_extension(const SliderMap& map) {
  GltfExtension out;
  out.name = kSlidersExtension;
  out.json = json_text(Json{
      {"version", 1}, {"transforms", map.transforms == Transforms::rigid ? "rigid" : "affine"}, {"names", map.names}});
  if (map.entries.empty()) return out;  // an accessor holds something
  std::vector<std::uint32_t> bones;
  std::vector<std::uint32_t> sliders;
  std::vector<float> by;
  for (const SliderMap::Entry& entry : map.entries) {
    bones.push_back(entry.bone);
    sliders.push_back(entry.slider);
    by.insert(by.end(), entry.by.begin(), entry.by.begin() + static_cast<std::ptrdiff_t>(map.width()));
  }
  out.arrays = {array_of("bones", bones, GltfArray::Component::u32),
                array_of("sliders", sliders, GltfArray::Component::u32), array_of("by", by, GltfArray::Component::f32)};
  return out;
}

SliderMap sliders_of(const GltfExtension& extension, std::size_t bones, const std::string& name) {
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorKind::input, fmt::format("{}: {}: {}", name, kSlidersExtension, what));
  };
  const Json json = parse_json(extension.json);
  if (!json.is_object() || json.value("version", Json()) != 1) refuse("is of another version, expected 1");
  const Json transforms = json.value("transforms", Json());
  const Json names = json.value("names", Json());
  if (transforms != "rigid" && transforms != "affine") refuse("its transforms are neither rigid nor affine");
  if (!names.is_array()) refuse("its names are not a list");
  SliderMap out;
  out.transforms = transforms == "rigid" ? Transforms::rigid : Transforms::affine;
  for (const Json& entry : names) {
    if (!entry.is_string()) refuse("a name is not a text");
    out.names.push_back(entry.get<std::string>());
  }
  if (!extension.arrays.empty()) {
    const auto of_bones = numbers_of<std::uint32_t>(extension, "bones", GltfArray::Component::u32, name);
    const auto sliders = numbers_of<std::uint32_t>(extension, "sliders", GltfArray::Component::u32, name);
    const auto by = numbers_of<float>(extension, "by", GltfArray::Component::f32, name);
    if (sliders.size() != of_bones.size() || by.size() != of_bones.size() * out.width())
      refuse(fmt::format("{} bones, {} sliders and {} numbers do not belong together", of_bones.size(), sliders.size(),
                         by.size()));
    for (std::size_t i = 0; i < of_bones.size(); ++i) {
      SliderMap::Entry entry{of_bones[i], sliders[i], {}};
      std::copy_n(by.begin() + static_cast<std::ptrdiff_t>(i * out.width()), out.width(), entry.by.begin());
      out.entries.push_back(entry);
    }
  }
  out.check(bones, fmt::format("{}: {}", name, kSlidersExtension));
  return out;
}

std::optional<SliderMap> read_sliders(const std::filesystem::path& path, const Rig& rig) {
  const std::string extension = lower_extension(path);
  if (extension != ".glb" && extension != ".gltf") return std::nullopt;
  const auto found = read_gltf_extension(path, kSlidersExtension);
  if (!found) return std::nullopt;
  return sliders_of(*found, rig.bone_count(), path.string());
}

}  // namespace sinew
