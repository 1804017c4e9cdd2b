#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include "io/gltf/read_mesh.h"
#include "io/json_text.h"
#include "sinew/core/error.h"

namespace sinew::gltf {
namespace {

std::vector<std::uint8_t> copied(std::span<const std::byte> bytes) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  return {data, data + bytes.size()};
}

/// Media type by the first bytes of an image, for files that do not say.
std::string sniff_mime(const std::vector<std::uint8_t>& bytes) {
  const auto starts = [&](std::initializer_list<std::uint8_t> magic) {
    return bytes.size() >= magic.size() && std::equal(magic.begin(), magic.end(), bytes.begin());
  };
  if (starts({0x89, 'P', 'N', 'G'})) return "image/png";
  if (starts({0xFF, 0xD8})) return "image/jpeg";
  if (starts({'R', 'I', 'F', 'F'})) return "image/webp";
  if (starts({0xAB, 'K', 'T', 'X'})) return "image/ktx2";
  return "";
}

Image read_image(const Document& document, std::size_t index, const ReadOptions& options) {
  const Json& object = document.at("images", index);
  const std::string where = fmt::format("image {}", index);
  Image image;
  image.name = document.text(object, "name");
  image.mime_type = document.text(object, "mimeType");
  if (const auto view = document.index(object, "bufferView", "bufferViews", where)) {
    image.bytes = copied(document.view(*view));
  } else {
    const std::string uri = document.text(object, "uri");
    const bool inline_data = uri.rfind("data:", 0) == 0;
    if (!inline_data) image.uri = uri;
    try {
      std::string mime;
      image.bytes = copied(document.fetch(uri, where, &mime));
      if (image.mime_type.empty()) image.mime_type = mime;
    } catch (const Error& error) {
      if (inline_data) throw;
      if (options.warn) options.warn(fmt::format("{}; only its name is kept", error.what()));
    }
  }
  if (image.mime_type.empty()) image.mime_type = sniff_mime(image.bytes);
  return image;
}

/// Extensions of materials and textures that refer to nothing but textures and images: they are as good elsewhere.
constexpr std::array kCarried{"KHR_materials_", "KHR_texture_", "EXT_texture_", "MSFT_texture_"};

/// Leaves out extensions that may refer to what is not carried, each as a whole. Both sets collect names.
void sort_extensions(Json& object, std::set<std::string>& carried, std::set<std::string>& dropped) {
  if (!object.is_structured()) return;
  if (const auto extensions = object.find("extensions"); object.is_object() && extensions != object.end()) {
    Json kept = Json::object();
    for (const auto& [name, value] : extensions->items()) {
      const bool known = std::any_of(kCarried.begin(), kCarried.end(),
                                     [&name = name](const char* prefix) { return name.rfind(prefix, 0) == 0; });
      (known ? carried : dropped).insert(name);
      if (known) kept[name] = value;
    }
    if (kept.empty())
      object.erase("extensions");
    else
      *extensions = std::move(kept);
  }
  for (Json& child : object) sort_extensions(child, carried, dropped);
}

}  // namespace

Appearance read_appearance(const Document& document, const ReadOptions& options) {
  Appearance out;
  std::set<std::string> carried;
  std::set<std::string> dropped;
  for (std::size_t i = 0; i < document.size("materials"); ++i) {
    Json material = document.at("materials", i);
    sort_extensions(material, carried, dropped);
    out.materials.push_back({document.text(material, "name"), json_text(material)});
  }
  for (std::size_t i = 0; i < document.size("images"); ++i) out.images.push_back(read_image(document, i, options));
  if (document.size("textures") > 0) {
    Json textures = document.root()["textures"];
    sort_extensions(textures, carried, dropped);
    out.gltf_textures = json_text(textures);
  }
  for (const Json& name : document.array(document.root(), "extensionsRequired", "the file"))
    if (name.is_string() && carried.count(name.get<std::string>()) != 0)
      out.required.push_back(name.get<std::string>());
  if (!dropped.empty() && options.warn)
    options.warn(
        fmt::format("{}: extensions of materials that are not carried: {}", document.name(), fmt::join(dropped, ", ")));
  if (document.size("samplers") > 0) out.gltf_samplers = json_text(document.root()["samplers"]);
  return out;
}

}  // namespace sinew::gltf
