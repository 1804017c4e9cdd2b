#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "io/fbx/mesh.h"
#include "io/json_text.h"
#include "sinew/core/error.h"
#include "sinew/io/output_file.h"

namespace sinew::fbx {
namespace {

using Json = nlohmann::json;

/// Text of a file that may hold any bytes, as JSON can hold it.
std::string clean(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (static_cast<unsigned char>(c) < ' ' || static_cast<unsigned char>(c) > '~') c = '?';
  return out;
}

std::string mime_type(const std::vector<std::uint8_t>& bytes, const std::string& name) {
  const auto starts = [&](std::initializer_list<std::uint8_t> magic) {
    return bytes.size() >= magic.size() && std::equal(magic.begin(), magic.end(), bytes.begin());
  };
  if (starts({0x89, 'P', 'N', 'G'}) || (bytes.empty() && name.ends_with(".png"))) return "image/png";
  if (starts({0xFF, 0xD8}) || (bytes.empty() && (name.ends_with(".jpg") || name.ends_with(".jpeg"))))
    return "image/jpeg";
  return "";
}

std::string last_part(const std::string& path) {
  return path.substr(path.find_last_of("/\\") + 1);
}

/// Images and textures of the materials while they are collected.
class MaterialReader {
 public:
  explicit MaterialReader(const Document& document) : document_(document) {}

  Materials run() {
    for (std::size_t i = 0; i < document_.objects.size(); ++i) {
      if (document_.objects[i].type != "Material") continue;
      out_.number_of[i] = static_cast<int>(out_.appearance.materials.size());
      const std::string& name = document_.objects[i].name;
      out_.appearance.materials.push_back({name, json_text(material(i, name))});
    }
    if (!textures_.empty()) out_.appearance.gltf_textures = json_text(textures_);
    return std::move(out_);
  }

 private:
  double factor(std::size_t object, const char* name, double otherwise) const {
    const double value = document_.number(object, name, otherwise);
    return std::isfinite(value) ? std::clamp(value, 0.0, 1.0) : otherwise;
  }

  Json color(std::size_t object, const char* name, double otherwise, double scale) const {
    const Eigen::Vector3d c = document_.vector(object, name, Eigen::Vector3d::Constant(otherwise)) * scale;
    return {std::clamp(c[0], 0.0, 1.0), std::clamp(c[1], 0.0, 1.0), std::clamp(c[2], 0.0, 1.0)};
  }

  /// Some programs set the factor to 1 and say with the colour how much light comes through.
  double opacity(std::size_t object) const {
    if (document_.property(object, "Opacity") != nullptr) return factor(object, "Opacity", 1);
    const Eigen::Vector3d through = document_.vector(object, "TransparentColor", Eigen::Vector3d::Zero());
    return std::clamp(1 - factor(object, "TransparencyFactor", 0) * through.mean(), 0.0, 1.0);
  }

  Json material(std::size_t object, const std::string& name) {
    const double alpha = opacity(object);
    Json base = color(object, "DiffuseColor", 0.8, factor(object, "DiffuseFactor", 1));
    base.push_back(alpha);
    const double shininess = document_.number(object, "ShininessExponent", document_.number(object, "Shininess", 20));
    const double roughness = shininess >= 0 ? std::sqrt(std::sqrt(2 / (shininess + 2))) : 1;
    Json out = {
        {"pbrMetallicRoughness", {{"baseColorFactor", base}, {"metallicFactor", 0}, {"roughnessFactor", roughness}}}};
    if (!name.empty()) out["name"] = name;
    if (alpha < 1) out["alphaMode"] = "BLEND";
    const Json emission = color(object, "EmissiveColor", 0, factor(object, "EmissiveFactor", 1));
    if (emission != Json{0.0, 0.0, 0.0}) out["emissiveFactor"] = emission;
    for (const Link& link : document_.children[object]) {
      if (document_.objects[link.object].type != "Texture") continue;
      const Json entry = {{"index", texture(link.object)}};
      if (link.property == "DiffuseColor" && !out["pbrMetallicRoughness"].contains("baseColorTexture"))
        out["pbrMetallicRoughness"]["baseColorTexture"] = entry;
      else if (link.property == "EmissiveColor")
        out["emissiveTexture"] = entry;
      else if (link.property == "NormalMap")
        out["normalTexture"] = entry;
    }
    return out;
  }

  std::size_t texture(std::size_t object) {
    const auto [entry, is_new] = texture_of_.try_emplace(object, textures_.size());
    if (!is_new) return entry->second;
    const std::vector<std::size_t> videos = document_.children_of(object, "Video");
    textures_.push_back({{"source", image(videos.empty() ? object : videos.front())}});
    return entry->second;
  }

  /// The image of a Video, or of a Texture that has none; bytes where they are in the file.
  std::size_t image(std::size_t object) {
    const auto [entry, is_new] = image_of_.try_emplace(object, out_.appearance.images.size());
    if (!is_new) return entry->second;
    const Record& record = *document_.objects[object].record;
    Image out;
    const Record* relative = record.find("RelativeFilename");
    std::string path = relative == nullptr ? std::string() : clean(relative->text(0));
    if (path.empty())
      for (const char* key : {"Filename", "FileName"})
        if (const Record* const found = record.find(key)) path = clean(found->text(0));
    out.name = last_part(path);
    std::replace(path.begin(), path.end(), '\\', '/');
    if (const Record* const content = record.find("Content"); content != nullptr && !document_.tree.ascii) {
      const std::string_view bytes = content->text(0);
      out.bytes.assign(bytes.begin(), bytes.end());
    }
    if (out.bytes.empty()) out.uri = path;
    out.mime_type = mime_type(out.bytes, out.name);
    out_.appearance.images.push_back(std::move(out));
    return entry->second;
  }

  const Document& document_;
  Materials out_;
  Json textures_ = Json::array();
  std::map<std::size_t, std::size_t> texture_of_;
  std::map<std::size_t, std::size_t> image_of_;
};

}  // namespace

Materials read_materials(const Document& document) {
  return MaterialReader(document).run();
}

}  // namespace sinew::fbx
