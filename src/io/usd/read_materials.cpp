#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "io/json_text.h"
#include "io/usd/model.h"
#include "io/usd/value.h"

/// UsdPreviewSurface as glTF materials: the other way round than write_materials.cpp. Other surfaces keep their name.
namespace sinew::usd {
namespace {

using Json = nlohmann::json;

std::string mime_of(const std::vector<std::uint8_t>& bytes) {
  const auto starts = [&](std::initializer_list<std::uint8_t> magic) {
    return bytes.size() >= magic.size() && std::equal(magic.begin(), magic.end(), bytes.begin());
  };
  if (starts({0x89, 'P', 'N', 'G'})) return "image/png";
  if (starts({0xFF, 0xD8})) return "image/jpeg";
  return "";
}

class MaterialReader {
 public:
  MaterialReader(const Stage& stage, const Fetch& fetch, const ReadOptions& options, Appearance& out)
      : stage_(stage), fetch_(fetch), options_(options), out_(out) {}

  void read(const std::string& path) {
    const Prim& material = stage_.prims()[*stage_.find(path)];
    Json json = Json::object();
    const Prim* surface = source(material, "outputs:surface");
    if (surface != nullptr && stage_.text(*surface, "info:id") == "UsdPreviewSurface") json = preview(*surface);
    json["name"] = material.name;
    out_.materials.push_back({material.name, json_text(json)});
  }

  void finish() {
    if (!textures_.empty()) out_.gltf_textures = json_text(textures_);
    if (!samplers_.empty()) out_.gltf_samplers = json_text(samplers_);
  }

 private:
  /// The prim that an input or output is connected to; what lies between as an interface is followed.
  const Prim* source(const Prim& prim, const std::string& name, std::string* output = nullptr) const {
    const Prim* at = &prim;
    std::string property = name;
    for (int step = 0; step < 8; ++step) {
      const std::vector<std::string> targets = stage_.targets(*at, property);
      if (targets.empty()) return step == 0 ? nullptr : at;
      const std::size_t dot = targets.front().rfind('.');
      if (dot == std::string::npos) return nullptr;
      const auto found = stage_.find(targets.front().substr(0, dot));
      if (!found) return nullptr;
      at = &stage_.prims()[*found];
      property = targets.front().substr(dot + 1);
      if (output != nullptr) *output = property;
      if (at->type == "Shader") return at;
    }
    return nullptr;
  }

  std::vector<double> numbers(const Prim& prim, const std::string& name, std::vector<double> otherwise) const {
    const auto value = stage_.value(prim, name);
    if (!value) return otherwise;
    std::vector<double> out = read_doubles(stage_.layer(), *value, static_cast<int>(otherwise.size()));
    return out.size() == otherwise.size() ? out : otherwise;
  }

  /// A texture reference for an input, and the factors beside it.
  struct Texture {
    Json reference;
    std::vector<double> scale;
  };
  std::optional<Texture> texture(const Prim& surface, const std::string& input) {
    const Prim* shader = source(surface, "inputs:" + input);
    if (shader == nullptr || stage_.text(*shader, "info:id") != "UsdUVTexture") return std::nullopt;
    const auto file = stage_.value(*shader, "inputs:file");
    if (!file) return std::nullopt;
    const std::string asset = read_text(stage_.layer(), *file);
    const Json sampler = {{"wrapS", wrap(stage_.text(*shader, "inputs:wrapS", "repeat"))},
                          {"wrapT", wrap(stage_.text(*shader, "inputs:wrapT", "repeat"))}};
    const Json entry = {{"source", image(asset)}, {"sampler", number_in(samplers_, sampler)}};
    Texture out{{{"index", number_in(textures_, entry)}}, numbers(*shader, "inputs:scale", {1, 1, 1, 1})};
    const Prim* reader = source(*shader, "inputs:st");
    if (reader != nullptr) {
      const std::string name = stage_.text(*reader, "inputs:varname", "st");
      if (name.starts_with("st") && name.size() == 3 && name[2] >= '1' && name[2] <= '9')
        out.reference["texCoord"] = name[2] - '0';
    }
    return out;
  }

  static int wrap(const std::string& mode) {
    return mode == "mirror" ? 33648 : mode == "clamp" || mode == "black" ? 33071 : 10497;
  }

  static std::size_t number_in(Json& list, const Json& entry) {
    for (std::size_t i = 0; i < list.size(); ++i)
      if (list[i] == entry) return i;
    list.push_back(entry);
    return list.size() - 1;
  }

  std::size_t image(const std::string& asset) {
    for (std::size_t i = 0; i < out_.images.size(); ++i)
      if (out_.images[i].uri == asset) return i;
    Image image;
    image.uri = asset;
    const std::size_t slash = asset.rfind('/');
    image.name = asset.substr(slash == std::string::npos ? 0 : slash + 1);
    image.bytes = fetch_(asset);
    image.mime_type = mime_of(image.bytes);
    if (image.bytes.empty() && options_.warn)
      options_.warn(fmt::format("{}: image @{}@ is not beside it; only its name is kept", stage_.layer().name, asset));
    out_.images.push_back(std::move(image));
    return out_.images.size() - 1;
  }

  Json preview(const Prim& surface) {
    Json out = Json::object();
    Json& pbr = out["pbrMetallicRoughness"];
    const std::vector<double> color = numbers(surface, "inputs:diffuseColor", {0.18, 0.18, 0.18});
    const double opacity = numbers(surface, "inputs:opacity", {1})[0];
    pbr["baseColorFactor"] = {color[0], color[1], color[2], opacity};
    if (const auto base = texture(surface, "diffuseColor")) {
      pbr["baseColorTexture"] = base->reference;
      pbr["baseColorFactor"] = base->scale;
    }
    pbr["metallicFactor"] = numbers(surface, "inputs:metallic", {0})[0];
    pbr["roughnessFactor"] = numbers(surface, "inputs:roughness", {0.5})[0];
    const auto rough = texture(surface, "roughness");
    const auto metal = texture(surface, "metallic");
    std::string rough_from;
    std::string metal_from;
    source(surface, "inputs:roughness", &rough_from);
    source(surface, "inputs:metallic", &metal_from);
    const bool packed = (!rough || rough_from == "outputs:g") && (!metal || metal_from == "outputs:b") &&
                        (!rough || !metal || rough->reference == metal->reference);
    if ((rough || metal) && packed) {  // glTF has them in the green and blue of one image, or not at all
      pbr["metallicRoughnessTexture"] = (rough ? rough : metal)->reference;
      if (rough) pbr["roughnessFactor"] = rough->scale[1];
      if (metal) pbr["metallicFactor"] = metal->scale[2];
    }
    if (const auto normal = texture(surface, "normal")) out["normalTexture"] = normal->reference;
    if (const auto occlusion = texture(surface, "occlusion")) {
      out["occlusionTexture"] = occlusion->reference;
      out["occlusionTexture"]["strength"] = occlusion->scale[0];
    }
    out["emissiveFactor"] = numbers(surface, "inputs:emissiveColor", {0, 0, 0});
    if (const auto emissive = texture(surface, "emissiveColor")) {
      out["emissiveTexture"] = emissive->reference;
      out["emissiveFactor"] = {emissive->scale[0], emissive->scale[1], emissive->scale[2]};
    }
    const double threshold = numbers(surface, "inputs:opacityThreshold", {0})[0];
    const bool cut = threshold > 0;
    if (cut) out["alphaCutoff"] = threshold;
    if (cut || opacity < 1 || source(surface, "inputs:opacity") != nullptr) out["alphaMode"] = cut ? "MASK" : "BLEND";
    return out;
  }

  const Stage& stage_;
  const Fetch& fetch_;
  const ReadOptions& options_;
  Appearance& out_;
  Json textures_ = Json::array();
  Json samplers_ = Json::array();
};

}  // namespace

Appearance read_materials(const Stage& stage, const Model& model, const Fetch& fetch, const ReadOptions& options) {
  Appearance out;
  MaterialReader reader(stage, fetch, options, out);
  for (const std::string& path : model.materials) reader.read(path);
  reader.finish();
  return out;
}

}  // namespace sinew::usd
