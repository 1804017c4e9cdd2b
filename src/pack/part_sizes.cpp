#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "io/gltf/builder.h"
#include "pack/packed_glb.h"
#include "sinew/io/two_layer_gltf.h"

namespace sinew::pack {
namespace {

using gltf::Json;

std::uint32_t word(const std::vector<std::byte>& bytes, std::size_t at) {
  std::uint32_t out = 0;
  for (std::size_t i = 0; i < 4; ++i) out |= std::to_integer<std::uint32_t>(bytes[at + i]) << (8 * i);
  return out;
}

std::string part_of_attribute(const std::string& name) {
  if (name == "POSITION") return "positions";
  if (name == "NORMAL") return "normals";
  if (name.rfind("JOINTS", 0) == 0 || name.rfind("WEIGHTS", 0) == 0) return "weights";
  return "colours, UVs";
}

/// The part that every accessor belongs to.
std::vector<std::string> parts_of(const Json& root) {
  std::vector<std::string> out(root["accessors"].size(), "other");
  const auto set = [&](const Json& accessor, const char* part) { out[accessor.get<std::size_t>()] = part; };
  for (const Json& mesh : root["meshes"])
    for (const Json& primitive : mesh["primitives"]) {
      for (const auto& [name, accessor] : primitive["attributes"].items())
        set(accessor, part_of_attribute(name).c_str());
      if (primitive.contains("indices")) set(primitive["indices"], "triangles");
      for (const Json& target : primitive.value("targets", Json::array()))
        for (const auto& [name, accessor] : target.items())
          set(accessor, name == "POSITION" ? "morph offsets" : "morph normals");
    }
  for (const Json& animation : root.value("animations", Json::array()))
    for (const Json& channel : animation["channels"]) {
      const Json& sampler = animation["samplers"][channel["sampler"].get<std::size_t>()];
      const std::string path = channel["target"]["path"];
      set(sampler["input"], "key times");
      set(sampler["output"], path == "rotation"      ? "rotations"
                             : path == "translation" ? "translations"
                             : path == "scale"       ? "scales"
                                                     : "morph weights");
    }
  const Json layers =
      root.value(Json::json_pointer(fmt::format("/extensions/{}/accessors", kTwoLayerExtension)), Json::object());
  for (const auto& [name, accessor] : layers.items()) set(accessor, "two layers");
  return out;
}

/// Bytes of an accessor's elements, not coded.
std::size_t plain_bytes(const Json& accessor) {
  const int component = accessor["componentType"];
  const std::size_t size = component <= 5121 ? 1 : component <= 5123 ? 2 : 4;
  const std::string type = accessor["type"];
  const std::size_t width = type == "SCALAR" ? 1 : type == "VEC2" ? 2 : type == "VEC3" ? 3 : type == "VEC4" ? 4 : 16;
  return size * width * accessor["count"].get<std::size_t>();
}

std::size_t stored_bytes(const Json& view) {
  for (const char* name : {"EXT_meshopt_compression", "KHR_meshopt_compression"})
    if (view.contains("extensions") && view["extensions"].contains(name)) return view["extensions"][name]["byteLength"];
  return view["byteLength"];
}

}  // namespace

std::map<std::string, std::size_t> bytes_by_part(const std::vector<std::byte>& glb) {
  const std::string_view text(reinterpret_cast<const char*>(glb.data()) + 20, word(glb, 12));
  const Json root = Json::parse(text);
  const std::vector<std::string> parts = parts_of(root);
  const Json views = root.value("bufferViews", Json::array());
  std::vector<std::map<std::string, std::size_t>> share(views.size());  // bytes of each part, not coded
  for (std::size_t i = 0; i < parts.size(); ++i)
    share[root["accessors"][i]["bufferView"].get<std::size_t>()][parts[i]] += plain_bytes(root["accessors"][i]);
  for (const Json& image : root.value("images", Json::array()))
    if (image.contains("bufferView")) share[image["bufferView"].get<std::size_t>()]["textures"] += 1;
  std::map<std::string, std::size_t> out;
  std::size_t counted = 0;
  for (std::size_t i = 0; i < views.size(); ++i) {
    std::size_t all = 0;
    for (const auto& [part, bytes] : share[i]) all += bytes;
    for (const auto& [part, bytes] : share[i]) {
      const std::size_t stored = stored_bytes(views[i]) * bytes / std::max<std::size_t>(1, all);
      out[part] += stored;
      counted += stored;
    }
  }
  out["JSON"] = glb.size() - counted;
  return out;
}

}  // namespace sinew::pack
