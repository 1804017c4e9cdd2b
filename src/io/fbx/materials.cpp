#include "io/fbx/materials.h"
#include "io/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

/// glTF materials as Phong ones: base colour, emission, opacity and roughness; textures of base colour, emission and
/// normals.
namespace sinew::fbx {
namespace {

using Json = nlohmann::json;
using Color = std::array<double, 3>;

/// A number of a JSON array or object where it is one.
double number(const Json& json, const char* pointer, double otherwise) {
  const Json::json_pointer at(pointer);
  return json.contains(at) && json[at].is_number() ? json[at].get<double>() : otherwise;
}

Color color(const Json& json, const std::string& pointer, double otherwise) {
  return {number(json, (pointer + "/0").c_str(), otherwise), number(json, (pointer + "/1").c_str(), otherwise),
          number(json, (pointer + "/2").c_str(), otherwise)};
}

/// Shininess of the highlight that is as wide as that of the roughness.
double shininess(double roughness) {
  const double alpha = std::max(0.01, roughness * roughness);
  return std::min(1000.0, std::max(0.0, 2 / (alpha * alpha) - 2));
}

void write_material(const std::string& name, const Json& gltf, Writer& out, Id id) {
  const Color base = color(gltf, "/pbrMetallicRoughness/baseColorFactor", 1);
  const double opacity = number(gltf, "/pbrMetallicRoughness/baseColorFactor/3", 1);
  const Color emission = color(gltf, "/emissiveFactor", 0);
  out.open("Material", {id, object_name(name, "Material"), std::string("")});
  out.leaf("Version", {102});
  out.leaf("ShadingModel", {std::string("phong")});
  out.leaf("MultiLayer", {0});
  out.open("Properties70");
  const auto write_color = [&](const char* key, const Color& c) {
    out.property(key, "Color", "", "A", {c[0], c[1], c[2]});
  };
  const auto write_number = [&](const char* key, double value) { out.property(key, "Number", "", "A", {value}); };
  write_color("EmissiveColor", emission);
  write_number("EmissiveFactor", 1);
  write_color("AmbientColor", {0, 0, 0});
  write_color("DiffuseColor", base);
  write_number("DiffuseFactor", 1);
  write_color("TransparentColor", {1, 1, 1});
  write_number("TransparencyFactor", 1 - opacity);
  write_number("Opacity", opacity);
  write_color("SpecularColor", {0.04, 0.04, 0.04});
  write_number("SpecularFactor", 1);
  write_number("ShininessExponent", shininess(number(gltf, "/pbrMetallicRoughness/roughnessFactor", 1)));
  out.close();
  out.close();
}

std::string file_name(const Image& image, std::size_t index) {
  if (!image.uri.empty()) return image.uri;
  const std::string stem = image.name.empty() ? fmt::format("image_{}", index) : image.name;
  const char* extension = image.mime_type == "image/jpeg"   ? ".jpg"
                          : image.mime_type == "image/webp" ? ".webp"
                          : image.mime_type == "image/ktx2" ? ".ktx2"
                                                            : ".png";
  return stem.ends_with(extension) ? stem : stem + extension;
}

std::optional<std::size_t> image_of(const Appearance& appearance, std::size_t texture) {
  const Json textures = parse_json(appearance.gltf_textures);
  if (!textures.is_array() || texture >= textures.size() || !textures[texture].is_object()) return std::nullopt;
  const Json source = textures[texture].value("source", Json());
  if (!source.is_number_unsigned() || source.get<std::size_t>() >= appearance.images.size()) return std::nullopt;
  return source.get<std::size_t>();
}

}  // namespace

Id MaterialObjects::video(std::size_t image) {
  const auto [entry, is_new] = videos_.try_emplace(image, 0);
  if (!is_new) return entry->second;
  return entry->second = objects_.add("Video", [&from = mesh_.appearance.images[image], image](Writer& out, Id id) {
    const std::string name = file_name(from, image);
    out.open("Video", {id, object_name(name, "Video"), std::string("Clip")});
    out.leaf("Type", {std::string("Clip")});
    out.open("Properties70");
    out.property("Path", "KString", "XRefUrl", "", {name});
    out.close();
    out.leaf("UseMipMap", {0});
    out.leaf("Filename", {name});
    out.leaf("RelativeFilename", {name});
    if (!from.bytes.empty()) out.leaf("Content", {std::span<const std::uint8_t>(from.bytes)});
    out.close();
  });
}

Id MaterialObjects::texture(std::size_t index, const std::string& uv_set) {
  const std::optional<std::size_t> image = image_of(mesh_.appearance, index);
  if (!image) return 0;
  const std::string name = file_name(mesh_.appearance.images[*image], *image);
  const Id id = objects_.add("Texture", [name, uv_set](Writer& out, Id self) {
    out.open("Texture", {self, object_name(name, "Texture"), std::string("")});
    out.leaf("Type", {std::string("TextureVideoClip")});
    out.leaf("Version", {202});
    out.leaf("TextureName", {object_name(name, "Texture")});
    out.leaf("Media", {object_name(name, "Video")});
    out.leaf("FileName", {name});
    out.leaf("RelativeFilename", {name});
    out.leaf("ModelUVTranslation", {0.0, 0.0});
    out.leaf("ModelUVScaling", {1.0, 1.0});
    out.leaf("Texture_Alpha_Source", {std::string("None")});
    out.leaf("Cropping", {0, 0, 0, 0});
    out.open("Properties70");
    out.property("UVSet", "KString", "", "", {uv_set});
    out.property("UseMaterial", "bool", "", "", {1});
    out.close();
    out.close();
  });
  objects_.connect(video(*image), id);
  return id;
}

Id MaterialObjects::id(int material) {
  const auto [entry, is_new] = materials_.try_emplace(material, 0);
  if (!is_new) return entry->second;
  const Material none{"none", {}};
  const Material& from = material < 0 ? none : mesh_.appearance.materials[static_cast<std::size_t>(material)];
  const std::string name = from.name.empty() ? fmt::format("material_{}", material) : from.name;
  Json gltf = parse_json(from.gltf);
  if (!gltf.is_object()) gltf = Json::object();
  const Id id = objects_.add("Material", [name, gltf](Writer& out, Id self) { write_material(name, gltf, out, self); });
  entry->second = id;
  for (const auto& [pointer, property] : {std::pair{"/pbrMetallicRoughness/baseColorTexture", "DiffuseColor"},
                                          {"/emissiveTexture", "EmissiveColor"},
                                          {"/normalTexture", "NormalMap"}}) {
    const double index = number(gltf, (std::string(pointer) + "/index").c_str(), -1);
    const double set = number(gltf, (std::string(pointer) + "/texCoord").c_str(), 0);
    if (!(index >= 0 && index < 1e9)) continue;
    const bool named = set >= 0 && set < static_cast<double>(mesh_.uv_sets.size());
    const std::string uv = named ? mesh_.uv_sets[static_cast<std::size_t>(set)].name : std::string();
    const Id image = texture(static_cast<std::size_t>(index),
                             named && uv.empty() ? fmt::format("UV{}", static_cast<std::size_t>(set)) : uv);
    if (image != 0) objects_.connect(image, id, property);
  }
  return id;
}

}  // namespace sinew::fbx
