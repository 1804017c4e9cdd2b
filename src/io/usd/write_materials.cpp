#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "io/alembic/murmur3.h"
#include "io/json_text.h"
#include "io/usd/writer.h"

/// glTF materials as UsdPreviewSurface, which has the same model: base colour, metalness, roughness, emission, normals,
/// occlusion. A texture is multiplied by the factor beside it, as in glTF.
namespace sinew::usd {
namespace {

using Json = nlohmann::json;

Json parsed(const std::string& text) {
  return parse_json(text);
}

/// File extension of the images that USD programs read; empty for others.
std::string extension_of(const Image& image) {
  if (image.mime_type == "image/png") return ".png";
  if (image.mime_type == "image/jpeg") return ".jpg";
  return "";
}

/// textures/NAME-DIGEST.png: the digest of the contents keeps images of one name apart, in this file and beside others.
std::string texture_name(const Image& image) {
  const Digest digest = murmur3(std::as_bytes(std::span(image.bytes)));
  Identifiers names;
  const std::string stem = image.name.substr(0, image.name.rfind('.'));
  return fmt::format("textures/{}-{:08x}{}", names.take(stem, "image"), digest.low >> 32, extension_of(image));
}

/// A reference to a texture in a glTF material.
struct TextureUse {
  std::string file;
  std::size_t uv_set = 0;
  std::string wrap_s = "repeat";
  std::string wrap_t = "repeat";
};

std::string wrap_mode(const Json& sampler, const char* key) {
  const Json mode = sampler.is_object() ? sampler.value(key, Json()) : Json();
  return mode == 33071 ? "clamp" : mode == 33648 ? "mirror" : "repeat";
}

std::optional<std::size_t> index_in(const Json& object, const char* key, std::size_t size) {
  if (!object.is_object() || !object.contains(key) || !object[key].is_number_unsigned()) return std::nullopt;
  const auto index = object[key].get<std::size_t>();
  return index < size ? std::optional(index) : std::nullopt;
}

/// Image and sampler that a texture reference leads to; nothing where there is no file that USD programs read.
std::optional<TextureUse> texture_use(const Appearance& appearance, const Json& reference) {
  const Json textures = parsed(appearance.gltf_textures);
  const Json samplers = parsed(appearance.gltf_samplers);
  const auto texture = index_in(reference, "index", textures.is_array() ? textures.size() : 0);
  if (!texture) return std::nullopt;
  const auto source = index_in(textures[*texture], "source", appearance.images.size());
  if (!source) return std::nullopt;
  const Image& image = appearance.images[*source];
  TextureUse out;
  if (image.bytes.empty()) {
    const bool plain = std::none_of(image.uri.begin(), image.uri.end(), [](char c) { return c == '@' || c < 32; });
    if (image.uri.empty() || !plain) return std::nullopt;
    out.file = image.uri;
  } else {
    if (extension_of(image).empty()) return std::nullopt;
    out.file = texture_name(image);
  }
  out.uv_set = index_in(reference, "texCoord", 64).value_or(0);
  if (const auto sampler = index_in(textures[*texture], "sampler", samplers.is_array() ? samplers.size() : 0)) {
    out.wrap_s = wrap_mode(samplers[*sampler], "wrapS");
    out.wrap_t = wrap_mode(samplers[*sampler], "wrapT");
  }
  return out;
}

template <std::size_t N>
std::array<float, N> numbers(const Json& object, const char* key, std::array<float, N> otherwise) {
  const Json list = object.is_object() ? object.value(key, Json()) : Json();
  if (!list.is_array() || list.size() != N) return otherwise;
  for (std::size_t i = 0; i < N; ++i)
    if (list[i].is_number()) otherwise[i] = list[i].template get<float>();
  return otherwise;
}

float number(const Json& object, const char* key, float otherwise) {
  const Json value = object.is_object() ? object.value(key, Json()) : Json();
  return value.is_number() ? value.get<float>() : otherwise;
}

/// One texture shader and the inputs of the surface that it feeds.
struct TextureNode {
  const char* name;
  TextureUse use;
  std::array<float, 4> scale{1, 1, 1, 1};
  std::array<float, 4> bias{0, 0, 0, 0};
  bool color = false;  // sRGB in the file
};

void write_texture(const TextureNode& node, const std::string& material, Text& out) {
  out.open_prim("Shader", node.name);
  out.line() << "uniform token info:id = \"UsdUVTexture\"";
  out.line() << "float4 inputs:bias = ";
  out.tuple(node.bias.data(), 4);
  out.line() << "asset inputs:file = @" << node.use.file << "@";
  out.line() << "float4 inputs:scale = ";
  out.tuple(node.scale.data(), 4);
  out.line() << "token inputs:sourceColorSpace = \"" << (node.color ? "sRGB" : "raw") << "\"";
  out.line() << "float2 inputs:st.connect = <" << material << "/" << uv_name(node.use.uv_set) << ".outputs:result>";
  out.line() << "token inputs:wrapS = \"" << node.use.wrap_s << "\"";
  out.line() << "token inputs:wrapT = \"" << node.use.wrap_t << "\"";
  for (const char* output : {"float outputs:a", "float outputs:b", "float outputs:g", "float outputs:r"})
    out.line() << output;
  out.line() << "float3 outputs:rgb";
  out.close_prim();
}

/// Writes `input` of the surface: connected to an output of a texture, or a value.
struct SurfaceWriter {
  const std::string& material;
  Text& out;

  void connect(const char* type, const char* input, const char* node, const char* output) {
    out.line() << type << " inputs:" << input << ".connect = <" << material << "/" << node << ".outputs:" << output
               << ">";
  }
  template <std::size_t N>
  void value(const char* type, const char* input, const std::array<float, N>& values) {
    out.line() << type << " inputs:" << input << " = ";
    if constexpr (N == 1)
      out.number(values[0]);
    else
      out.tuple(values.data(), static_cast<int>(N));
  }
};

void write_material(const Appearance& appearance, const Material& material, const std::string& path, Text& out) {
  const Json object = parsed(material.gltf);
  const auto part = [](const Json& from, const char* key) {
    return from.is_object() ? from.value(key, Json()) : Json();
  };
  const Json pbr = part(object, "pbrMetallicRoughness");
  const auto base = numbers<4>(pbr, "baseColorFactor", {1, 1, 1, 1});
  const auto emissive = numbers<3>(object, "emissiveFactor", {0, 0, 0});
  // A material that is only a name is a plain surface, not the metal that glTF's defaults are.
  const float metallic = number(pbr, "metallicFactor", pbr.is_object() ? 1.0F : 0.0F);
  const float roughness = number(pbr, "roughnessFactor", pbr.is_object() ? 1.0F : 0.5F);
  const Json alpha = part(object, "alphaMode");
  const std::string mode = alpha.is_string() ? alpha.get<std::string>() : "OPAQUE";

  std::vector<TextureNode> textures;
  const auto add = [&](const char* name, const Json& reference, std::array<float, 4> scale, std::array<float, 4> bias,
                       bool color) {
    const std::optional<TextureUse> use = texture_use(appearance, reference);
    if (use) textures.push_back({name, *use, scale, bias, color});
    return use.has_value();
  };
  const std::array<float, 4> none{};
  const bool has_base = add("baseColor", part(pbr, "baseColorTexture"), base, none, true);
  const bool has_rough =
      add("metallicRoughness", part(pbr, "metallicRoughnessTexture"), {1, roughness, metallic, 1}, none, false);
  const bool has_normal = add("normal", part(object, "normalTexture"), {2, 2, 2, 1}, {-1, -1, -1, 0}, false);
  const float strength = number(part(object, "occlusionTexture"), "strength", 1);
  const bool has_occlusion = add("occlusion", part(object, "occlusionTexture"), {strength, strength, strength, 1},
                                 {1 - strength, 1 - strength, 1 - strength, 0}, false);
  const bool has_emissive =
      add("emissive", part(object, "emissiveTexture"), {emissive[0], emissive[1], emissive[2], 1}, none, true);

  out.open_prim("Material", path.substr(path.rfind('/') + 1));
  out.line() << "token outputs:surface.connect = <" << path << "/surface.outputs:surface>";
  out.open_prim("Shader", "surface");
  out.line() << "uniform token info:id = \"UsdPreviewSurface\"";
  SurfaceWriter surface{path, out};
  if (has_base)
    surface.connect("color3f", "diffuseColor", "baseColor", "rgb");
  else
    surface.value<3>("color3f", "diffuseColor", {base[0], base[1], base[2]});
  if (has_emissive)
    surface.connect("color3f", "emissiveColor", "emissive", "rgb");
  else
    surface.value("color3f", "emissiveColor", emissive);
  if (has_rough)
    surface.connect("float", "metallic", "metallicRoughness", "b");
  else
    surface.value<1>("float", "metallic", {metallic});
  if (has_normal) surface.connect("normal3f", "normal", "normal", "rgb");
  if (has_occlusion) surface.connect("float", "occlusion", "occlusion", "r");
  if (mode != "OPAQUE" && has_base)
    surface.connect("float", "opacity", "baseColor", "a");
  else
    surface.value<1>("float", "opacity", {mode == "OPAQUE" ? 1.0F : base[3]});
  if (mode == "MASK") surface.value<1>("float", "opacityThreshold", {number(object, "alphaCutoff", 0.5F)});
  if (has_rough)
    surface.connect("float", "roughness", "metallicRoughness", "g");
  else
    surface.value<1>("float", "roughness", {roughness});
  out.line() << "token outputs:surface";
  out.close_prim();
  std::vector<std::size_t> sets;
  for (const TextureNode& node : textures) {
    write_texture(node, path, out);
    if (std::find(sets.begin(), sets.end(), node.use.uv_set) == sets.end()) sets.push_back(node.use.uv_set);
  }
  for (const std::size_t set : sets) {
    out.open_prim("Shader", uv_name(set));
    out.line() << "uniform token info:id = \"UsdPrimvarReader_float2\"";
    out.line() << "string inputs:varname = \"" << uv_name(set) << "\"";
    out.line() << "float2 outputs:result";
    out.close_prim();
  }
  out.close_prim();
}

}  // namespace

Materials name_materials(const Appearance& appearance, const std::string& root, Identifiers& names) {
  Materials out;
  if (appearance.materials.empty()) return out;
  const std::string scope = root + "/" + names.take("materials", "materials");
  Identifiers inside;
  for (const Material& material : appearance.materials) {
    out.paths.push_back(scope + "/" + inside.take(material.name, "material"));
    const Json object = parsed(material.gltf);
    out.double_sided.push_back(object.is_object() && object.value("doubleSided", Json()) == true);
  }
  for (const Image& image : appearance.images) {
    if (image.bytes.empty() || extension_of(image).empty()) continue;
    const std::string name = texture_name(image);
    if (std::none_of(out.textures.begin(), out.textures.end(), [&](const Texture& t) { return t.name == name; }))
      out.textures.push_back({name, std::as_bytes(std::span(image.bytes))});
  }
  return out;
}

void write_materials(const Appearance& appearance, const Materials& materials, Text& out) {
  if (materials.paths.empty()) return;
  const std::string& first = materials.paths.front();
  const std::string scope = first.substr(0, first.rfind('/'));
  out.open_prim("Scope", scope.substr(scope.rfind('/') + 1));
  for (std::size_t m = 0; m < appearance.materials.size(); ++m)
    write_material(appearance, appearance.materials[m], materials.paths[m], out);
  out.close_prim();
}

}  // namespace sinew::usd
