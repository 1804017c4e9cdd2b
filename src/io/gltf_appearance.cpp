#include <fmt/format.h>

#include <cstring>

#include "io/gltf_mesh.h"
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

}  // namespace

Appearance read_appearance(const Document& document, const ReadOptions& options) {
  Appearance out;
  for (std::size_t i = 0; i < document.size("materials"); ++i) {
    const Json& material = document.at("materials", i);
    out.materials.push_back({document.text(material, "name"), material.dump()});
  }
  for (std::size_t i = 0; i < document.size("images"); ++i) out.images.push_back(read_image(document, i, options));
  if (document.size("textures") > 0) out.gltf_textures = document.root()["textures"].dump();
  if (document.size("samplers") > 0) out.gltf_samplers = document.root()["samplers"].dump();
  return out;
}

}  // namespace sinew::gltf
