#include "io/gltf/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <limits>

#include "io/gltf/chunks.h"
#include "io/json_text.h"
#include "sinew/core/error.h"

namespace sinew::gltf {
namespace {

const char* type_name(int width) {
  switch (width) {
    case 1:
      return "SCALAR";
    case 2:
      return "VEC2";
    case 3:
      return "VEC3";
    case 4:
      return "VEC4";
    case 16:
      return "MAT4";
    default:
      throw Error(ErrorKind::usage,
                  fmt::format("a glTF array has {} components per element, expected 1..4 or 16", width));
  }
}

std::size_t component_bytes(GltfArray::Component component) {
  switch (component) {
    case GltfArray::Component::i8:
    case GltfArray::Component::u8:
      return 1;
    case GltfArray::Component::i16:
    case GltfArray::Component::u16:
      return 2;
    default:
      return 4;
  }
}

void append_word(std::vector<std::byte>& out, std::size_t value) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<std::byte>(value >> shift & 0xFFU));
}

void pad(std::vector<std::byte>& out, std::byte filler) {
  while (out.size() % 4 != 0) out.push_back(filler);
}

}  // namespace

std::size_t GlbBuilder::append(const char* array, Json entry) {
  Json& list = root[array];
  list.push_back(std::move(entry));
  return list.size() - 1;
}

std::size_t GlbBuilder::add_view(std::span<const std::byte> bytes, Use use) {
  pad(binary_, std::byte{0});
  Json view = {{"buffer", 0}, {"byteOffset", binary_.size()}, {"byteLength", bytes.size()}};
  if (use == Use::vertices) view["target"] = 34962;
  if (use == Use::indices) view["target"] = 34963;
  binary_.insert(binary_.end(), bytes.begin(), bytes.end());
  return append("bufferViews", std::move(view));
}

std::size_t GlbBuilder::add_coded_view(const CompressedView& view, std::span<const std::byte> coded, Use use,
                                       const char* extension) {
  pad(binary_, std::byte{0});
  const std::size_t bytes = view.count * view.stride;
  Json code = {
      {"buffer", 0},       {"byteOffset", binary_.size()}, {"byteLength", coded.size()}, {"byteStride", view.stride},
      {"mode", view.mode}, {"count", view.count}};
  if (!view.filter.empty()) code["filter"] = view.filter;
  // The buffer of what they stand for has no bytes: who reads the file has to decode it.
  Json entry = {
      {"buffer", 1}, {"byteOffset", decoded_bytes_}, {"byteLength", bytes}, {"extensions", {{extension, code}}}};
  if (use == Use::vertices) entry["byteStride"] = view.stride;
  if (use == Use::vertices) entry["target"] = 34962;
  if (use == Use::indices) entry["target"] = 34963;
  decoded_bytes_ += (bytes + 3) / 4 * 4;
  coded_by_ = extension;
  binary_.insert(binary_.end(), coded.begin(), coded.end());
  return append("bufferViews", std::move(entry));
}

void GlbBuilder::open_view() {
  open_view_ = add_view({});
  open_offset_ = binary_.size();
}

void GlbBuilder::close_view() {
  root["bufferViews"][*open_view_]["byteLength"] = binary_.size() - open_offset_;
  open_view_.reset();
}

std::size_t GlbBuilder::add_accessor(std::span<const std::byte> bytes, GltfArray::Component component, int width,
                                     Use use) {
  const std::size_t element = component_bytes(component) * static_cast<std::size_t>(width);
  Json accessor = {
      {"componentType", static_cast<int>(component)}, {"count", bytes.size() / element}, {"type", type_name(width)}};
  if (use == Use::data && open_view_) {
    pad(binary_, std::byte{0});
    accessor["bufferView"] = *open_view_;
    accessor["byteOffset"] = binary_.size() - open_offset_;
    binary_.insert(binary_.end(), bytes.begin(), bytes.end());
  } else {
    accessor["bufferView"] = add_view(bytes, use);
  }
  return append("accessors", std::move(accessor));
}

std::size_t GlbBuilder::add_floats(std::span<const float> values, int width, Use use, bool bounds) {
  const std::size_t index = add_accessor(std::as_bytes(values), GltfArray::Component::f32, width, use);
  if (!bounds || values.empty()) return index;
  const auto w = static_cast<std::size_t>(width);
  std::vector<float> low(values.begin(), values.begin() + width);
  std::vector<float> high = low;
  for (std::size_t i = 0; i < values.size(); ++i) {
    low[i % w] = std::min(low[i % w], values[i]);
    high[i % w] = std::max(high[i % w], values[i]);
  }
  root["accessors"][index]["min"] = low;
  root["accessors"][index]["max"] = high;
  return index;
}

std::size_t GlbBuilder::add_bytes(std::span<const std::uint8_t> values, int width, Use use) {
  return add_accessor(std::as_bytes(values), GltfArray::Component::u8, width, use);
}

std::size_t GlbBuilder::add_shorts(std::span<const std::uint16_t> values, int width, Use use) {
  return add_accessor(std::as_bytes(values), GltfArray::Component::u16, width, use);
}

std::size_t GlbBuilder::add_integers(std::span<const std::uint32_t> values, int width, Use use) {
  return add_accessor(std::as_bytes(values), GltfArray::Component::u32, width, use);
}

std::size_t GlbBuilder::add_array(const GltfArray& array) {
  const std::size_t element = component_bytes(array.component) * static_cast<std::size_t>(std::max(array.width, 1));
  if (array.bytes.empty() || array.bytes.size() % element != 0)
    throw Error(ErrorKind::usage, fmt::format("glTF array '{}' has {} bytes, expected a positive multiple of {}",
                                              array.name, array.bytes.size(), element));
  return add_accessor(array.bytes, array.component, array.width, Use::data);
}

std::string Names::take(std::string_view wanted, std::string_view fallback) {
  std::string name;
  for (const char c : wanted.empty() ? fallback : wanted) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' ||
                       static_cast<unsigned char>(c) >= 0x80;
    name += plain || !safe_ ? c : '_';
  }
  std::string candidate = name;
  for (int suffix = 2; !taken_.insert(candidate).second; ++suffix) candidate = fmt::format("{}_{}", name, suffix);
  return candidate;
}

std::vector<std::byte> GlbBuilder::finish() {
  pad(binary_, std::byte{0});
  if (!binary_.empty()) root["buffers"] = Json::array({{{"byteLength", binary_.size()}}});
  if (decoded_bytes_ > 0) {
    root["buffers"].push_back({{"byteLength", decoded_bytes_}, {"extensions", {{coded_by_, {{"fallback", true}}}}}});
    for (const char* list : {"extensionsUsed", "extensionsRequired"}) root[list].push_back(coded_by_);
  }
  std::string text = json_text(root);  // names may be any bytes
  text.resize((text.size() + 3) / 4 * 4, ' ');
  const std::size_t total = 12 + 8 + text.size() + (binary_.empty() ? 0 : 8 + binary_.size());
  if (total > std::numeric_limits<std::uint32_t>::max())
    throw Error(ErrorKind::output, fmt::format("GLB of {} bytes, the format ends at 4 GiB", total));
  std::vector<std::byte> out;
  out.reserve(total);
  for (const std::size_t word : {std::size_t{kMagic}, std::size_t{2}, total, text.size(), std::size_t{kJsonChunk}})
    append_word(out, word);
  const auto json = std::as_bytes(std::span(text));
  out.insert(out.end(), json.begin(), json.end());
  if (binary_.empty()) return out;
  append_word(out, binary_.size());
  append_word(out, kBinaryChunk);
  out.insert(out.end(), binary_.begin(), binary_.end());
  return out;
}

void add_extension(const GltfExtension& extension, GlbBuilder& out) {
  Json object = parse_json(extension.json);
  if (!object.is_object() || object.contains("accessors"))
    throw Error(ErrorKind::usage,
                fmt::format("extension '{}': its JSON is not an object without member 'accessors'", extension.name));
  for (const GltfArray& array : extension.arrays) object["accessors"][array.name] = out.add_array(array);
  out.root["extensions"][extension.name] = std::move(object);
  out.root["extensionsUsed"].push_back(extension.name);
}

}  // namespace sinew::gltf
