#include "io/gltf/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "io/gltf/chunks.h"
#include "io/gltf/meshopt.h"
#include "io/json_text.h"
#include "sinew/core/error.h"
#include "sinew/io/output_file.h"

namespace sinew::gltf {
namespace {

constexpr std::size_t kMostSharing = 64;         // numbers decoded per byte of the file ...
constexpr std::size_t kSharingFloor = 1U << 18;  // ... and this many bytes more
constexpr int kDeepest = 128;                    // nesting of JSON values

/// Required extensions that do not change positions, weights or motion, by prefix.
constexpr std::array kHarmless = {"KHR_mesh_quantization", "KHR_materials_", "KHR_texture_", "EXT_texture_",
                                  "KHR_lights_",           "KHR_xmp",        "EXT_lights_",  "MSFT_texture_"};

/// Compressed buffer views; the second has the same streams under the name of the ratified extension.
constexpr std::array kMeshopt = {"EXT_meshopt_compression", "KHR_meshopt_compression"};

std::uint32_t word(std::span<const std::byte> bytes, std::size_t offset) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data() + offset, 4);
  return value;
}

/// Deepest nesting of arrays and objects in JSON text.
int nesting(std::string_view text) {
  int depth = 0;
  int deepest = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return deepest;
}

std::optional<std::vector<std::byte>> decode_base64(std::string_view text) {
  const auto digit = [](char c) -> int {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    if (c == '+' || c == '-') return 62;
    if (c == '/' || c == '_') return 63;
    return -1;
  };
  while (!text.empty() && text.back() == '=') text.remove_suffix(1);
  std::vector<std::byte> out;
  out.reserve(text.size() * 3 / 4);
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : text) {
    const int value = digit(c);
    if (value < 0) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    out.push_back(static_cast<std::byte>(bits >> held & 0xFFU));
  }
  return out;
}

std::string decode_percent(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto hex = [&](std::size_t at) {
      return at < text.size() && std::isxdigit(static_cast<unsigned char>(text[at]));
    };
    if (text[i] == '%' && hex(i + 1) && hex(i + 2)) {
      out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::size_t bytes_of(int component_type) {
  switch (component_type) {
    case 5120:
    case 5121:
      return 1;
    case 5122:
    case 5123:
      return 2;
    case 5125:
    case 5126:
      return 4;
    default:
      return 0;
  }
}

template <class Stored>
double stored(const std::byte* at) {
  Stored value;
  std::memcpy(&value, at, sizeof value);
  return static_cast<double>(value);
}

/// One component as a number; normalised integers as glTF 2.0 §3.6.2.2 says.
double component(const std::byte* at, int type, bool normalized) {
  switch (type) {
    case 5120:
      return normalized ? std::max(stored<std::int8_t>(at) / 127, -1.0) : stored<std::int8_t>(at);
    case 5121:
      return normalized ? stored<std::uint8_t>(at) / 255 : stored<std::uint8_t>(at);
    case 5122:
      return normalized ? std::max(stored<std::int16_t>(at) / 32767, -1.0) : stored<std::int16_t>(at);
    case 5123:
      return normalized ? stored<std::uint16_t>(at) / 65535 : stored<std::uint16_t>(at);
    case 5125:
      return stored<std::uint32_t>(at);
    default:
      return static_cast<double>(stored<float>(at));
  }
}

/// A JSON number that is a whole number >= 0, or nothing. Some exporters write 3.0.
std::optional<std::size_t> whole(const Json& value) {
  if (value.is_number_unsigned()) return value.get<std::size_t>();
  if (!value.is_number_float()) return std::nullopt;
  const auto number = value.get<double>();
  if (!(number >= 0) || number > 1e15 || number != std::floor(number)) return std::nullopt;
  return static_cast<std::size_t>(number);
}

const Json kEmptyArray = Json::array();

}  // namespace

/// Where the elements of an accessor are.
struct Document::Layout {
  std::size_t count = 0;
  int width = 0;
  int type = 0;
  bool normalized = false;
  const std::byte* data = nullptr;  // null: all zero
  std::size_t stride = 0;
  const Json* sparse = nullptr;
};

Document::Document(std::span<const std::byte> bytes, std::filesystem::path folder, std::string name)
    : folder_(std::move(folder)), name_(std::move(name)) {
  total_bytes_ = bytes.size();
  parse_container(bytes);
}

void Document::refuse(const std::string& sentence) const {
  throw Error(ErrorKind::input, name_ + ": " + sentence);
}

void Document::parse_container(std::span<const std::byte> bytes) {
  std::span<const std::byte> binary;
  if (bytes.size() >= 4 && word(bytes, 0) == kMagic) {
    if (bytes.size() < 20) refuse(fmt::format("{} bytes, a GLB has at least 20", bytes.size()));
    if (word(bytes, 4) != 2) refuse(fmt::format("GLB version {}, expected 2", word(bytes, 4)));
    if (word(bytes, 8) > bytes.size())
      refuse(fmt::format("truncated: {} bytes, its header says {}", bytes.size(), word(bytes, 8)));
    bytes = bytes.first(word(bytes, 8));
    if (bytes.size() < 20) refuse(fmt::format("{} bytes, a GLB has at least 20", bytes.size()));
    const std::size_t length = word(bytes, 12);
    if (word(bytes, 16) != kJsonChunk || length > bytes.size() - 20)
      refuse(fmt::format("the first chunk of {} bytes is not JSON or does not fit {} bytes", length, bytes.size()));
    parse_json(bytes.subspan(20, length));
    std::span<const std::byte> rest = bytes.subspan(20 + length);
    if (rest.size() >= 8 && word(rest, 4) == kBinaryChunk) {
      if (word(rest, 0) > rest.size() - 8)
        refuse(fmt::format("binary chunk of {} bytes, {} are left", word(rest, 0), rest.size() - 8));
      binary = rest.subspan(8, word(rest, 0));
    }
  } else {
    parse_json(bytes);
  }
  const Json* asset = find(root_, "asset");
  if (asset == nullptr || !asset->is_object() || text(*asset, "version").substr(0, 2) != "2.")
    refuse(fmt::format("glTF version '{}', expected 2.0",
                       asset != nullptr && asset->is_object() ? text(*asset, "version") : ""));
  check_extensions();
  load_buffers(binary);
}

void Document::parse_json(std::span<const std::byte> bytes) {
  const std::string_view json(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (nesting(json) > kDeepest) refuse(fmt::format("JSON nested deeper than {}", kDeepest));
  root_ = sinew::parse_json(json);
  if (root_.is_discarded()) refuse("not a GLB file and not valid JSON, or truncated");
  if (!root_.is_object()) refuse("its JSON is not an object");
}

void Document::check_extensions() const {
  for (const Json& entry : array(root_, "extensionsRequired", "the file")) {
    if (!entry.is_string()) refuse("extensionsRequired holds something that is not a name");
    const auto extension = entry.get<std::string>();
    const bool harmless = std::any_of(kHarmless.begin(), kHarmless.end(),
                                      [&](const char* prefix) { return extension.rfind(prefix, 0) == 0; });
    if (harmless) continue;
    if (std::find(kMeshopt.begin(), kMeshopt.end(), extension) != kMeshopt.end()) continue;
    if (extension == "KHR_draco_mesh_compression")
      refuse(
          "compressed with KHR_draco_mesh_compression, which is not read here; decompress it first: "
          "npx @gltf-transform/cli copy IN.glb OUT.glb");
    refuse(fmt::format("requires extension {}, which is not supported", extension));
  }
}

void Document::load_buffers(std::span<const std::byte> binary) {
  const std::size_t count = size("buffers");
  buffers_.resize(count);
  unreadable_.resize(count);
  loaded_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string where = fmt::format("buffer {}", i);
    const Json& buffer = at("buffers", i);
    const std::size_t length = unsigned_value(buffer, "byteLength", 0, where);
    const std::string uri = text(buffer, "uri");
    if (!uri.empty()) {
      loaded_.push_back(fetch(uri, where));
      buffers_[i] = loaded_.back();
    } else if (i == 0) {
      buffers_[i] = binary;
    } else {
      unreadable_[i] = "it has no URI";  // fallback buffers of compression extensions; refused when used
      continue;
    }
    if (length > buffers_[i].size())
      refuse(fmt::format("{} has {} bytes, expected {}", where, buffers_[i].size(), length));
    buffers_[i] = buffers_[i].first(length);
    total_bytes_ += length;
  }
}

std::vector<std::byte> Document::fetch(const std::string& uri, const std::string& where, std::string* mime) const {
  if (uri.rfind("data:", 0) == 0) {
    const std::size_t comma = uri.find(',');
    const std::size_t base64 = uri.find(";base64");
    if (comma == std::string::npos || base64 == std::string::npos || base64 > comma)
      refuse(fmt::format("{}: its data URI is not base64", where));
    auto bytes = decode_base64(std::string_view(uri).substr(comma + 1));
    if (!bytes) refuse(fmt::format("{}: its data URI is not base64", where));
    if (mime != nullptr) *mime = uri.substr(5, uri.find_first_of(";,") - 5);
    return std::move(*bytes);
  }
  const std::filesystem::path path = decode_percent(uri);
  const std::filesystem::path inside = path.lexically_normal();
  if (uri.find(':') != std::string::npos || uri.find('\0') != std::string::npos || path.is_absolute() ||
      inside.empty() || *inside.begin() == "..")
    refuse(fmt::format("{}: '{}' does not stay in the file's own folder", where, uri));
  return read_file(folder_ / inside);
}

std::size_t Document::size(const char* key) const {
  return array(root_, key, "the file").size();
}

const Json& Document::at(const char* key, std::size_t index) const {
  const Json& list = array(root_, key, "the file");
  if (index >= list.size()) refuse(fmt::format("{} {}, there are {}", key, index, list.size()));
  if (!list[index].is_object()) refuse(fmt::format("entry {} of {} is not an object", index, key));
  return list[index];
}

const Json* Document::find(const Json& object, const char* key) const {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

const Json& Document::array(const Json& object, const char* key, const std::string& where) const {
  const Json* value = find(object, key);
  if (value == nullptr) return kEmptyArray;
  if (!value->is_array()) refuse(fmt::format("{}: {} is not an array", where, key));
  return *value;
}

std::size_t Document::index_value(const Json& value, const char* list, const std::string& where) const {
  const std::optional<std::size_t> number = whole(value);
  const std::size_t count = size(list);
  if (!number || *number >= count)
    refuse(fmt::format("{} refers to entry {} of {}, there are {}", where,
                       number ? fmt::to_string(*number) : "(not a number)", list, count));
  return *number;
}

std::optional<std::size_t> Document::index(const Json& object, const char* key, const char* list,
                                           const std::string& where) const {
  const Json* value = find(object, key);
  if (value == nullptr) return std::nullopt;
  return index_value(*value, list, where);
}

std::size_t Document::required_index(const Json& object, const char* key, const char* list,
                                     const std::string& where) const {
  const std::optional<std::size_t> value = index(object, key, list, where);
  if (!value) refuse(fmt::format("{} has no {}", where, key));
  return *value;
}

std::size_t Document::unsigned_value(const Json& object, const char* key, std::size_t fallback,
                                     const std::string& where) const {
  const Json* value = find(object, key);
  if (value == nullptr) return fallback;
  const std::optional<std::size_t> number = whole(*value);
  if (!number) refuse(fmt::format("{}: {} is not a whole number", where, key));
  return *number;
}

std::string Document::text(const Json& object, const char* key) const {
  const Json* value = find(object, key);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

std::vector<double> Document::numbers(const Json& object, const char* key, std::size_t count,
                                      const std::string& where) const {
  std::vector<double> out;
  const Json& list = array(object, key, where);
  if (find(object, key) == nullptr) return out;
  if (list.size() != count) refuse(fmt::format("{}: {} has {} numbers, expected {}", where, key, list.size(), count));
  for (const Json& value : list) {
    if (!value.is_number() || !std::isfinite(value.get<double>()))
      refuse(fmt::format("{}: {} holds something that is not a finite number", where, key));
    out.push_back(value.get<double>());
  }
  return out;
}

std::span<const std::byte> Document::view(std::size_t index) const {
  const std::string where = fmt::format("buffer view {}", index);
  const Json& view = at("bufferViews", index);
  const Json* const extensions = find(view, "extensions");
  const Json* packed = nullptr;
  for (const char* name : kMeshopt)
    if (packed == nullptr && extensions != nullptr && extensions->is_object()) packed = find(*extensions, name);
  if (packed == nullptr) return slice(view, where);
  if (!packed->is_object()) refuse(fmt::format("{}: its compression is not an object", where));
  const auto [place, fresh] = unpacked_.try_emplace(index);
  if (fresh) {
    const CompressedView compressed{text(*packed, "mode"), text(*packed, "filter"),
                                    unsigned_value(*packed, "count", 0, where),
                                    unsigned_value(*packed, "byteStride", 0, where)};
    place->second = decode_view(compressed, slice(*packed, where), fmt::format("{}: {}", name_, where));
    total_bytes_ += place->second.size();
  }
  return place->second;
}

std::span<const std::byte> Document::slice(const Json& view, const std::string& where) const {
  const std::size_t buffer = required_index(view, "buffer", "buffers", where);
  if (!unreadable_[buffer].empty())
    refuse(fmt::format("{}: buffer {} cannot be read: {}", where, buffer, unreadable_[buffer]));
  const std::size_t offset = unsigned_value(view, "byteOffset", 0, where);
  const std::size_t length = unsigned_value(view, "byteLength", 0, where);
  if (offset > buffers_[buffer].size() || length > buffers_[buffer].size() - offset)
    refuse(
        fmt::format("{}: {} bytes from {}, buffer {} has {}", where, length, offset, buffer, buffers_[buffer].size()));
  return buffers_[buffer].subspan(offset, length);
}

std::size_t Document::element_count(std::size_t accessor) const {
  return unsigned_value(at("accessors", accessor), "count", 0, fmt::format("accessor {}", accessor));
}

int Document::width(std::size_t accessor) const {
  const std::string type = text(at("accessors", accessor), "type");
  for (const auto& [name, components] :
       {std::pair{"SCALAR", 1}, {"VEC2", 2}, {"VEC3", 3}, {"VEC4", 4}, {"MAT2", 4}, {"MAT3", 9}, {"MAT4", 16}})
    if (type == name) return components;
  refuse(fmt::format("accessor {} has type '{}'", accessor, type));
}

int Document::component_type(std::size_t accessor) const {
  const std::string where = fmt::format("accessor {}", accessor);
  const std::size_t type = unsigned_value(at("accessors", accessor), "componentType", 0, where);
  if (type > 6000 || bytes_of(static_cast<int>(type)) == 0)
    refuse(fmt::format("{} has component type {}", where, type));
  return static_cast<int>(type);
}

Document::Layout Document::layout(std::size_t accessor) const {
  const std::string where = fmt::format("accessor {}", accessor);
  const Json& object = at("accessors", accessor);
  Layout out;
  out.count = element_count(accessor);
  out.width = width(accessor);
  out.type = component_type(accessor);
  const Json* normalized = find(object, "normalized");
  out.normalized = normalized != nullptr && normalized->is_boolean() && normalized->get<bool>();
  const std::size_t element = bytes_of(out.type) * static_cast<std::size_t>(out.width);
  const std::optional<std::size_t> view_index = index(object, "bufferView", "bufferViews", where);
  if (view_index) {
    const std::span<const std::byte> bytes = view(*view_index);
    const std::size_t offset = unsigned_value(object, "byteOffset", 0, where);
    out.stride = unsigned_value(at("bufferViews", *view_index), "byteStride", element, where);
    if (out.stride == 0) out.stride = element;
    if (out.stride > 255 && out.stride != element) refuse(fmt::format("{}: stride of {} bytes", where, out.stride));
    // count·stride cannot overflow: both are bounded once count is known to be no larger than the view.
    const bool fits = offset <= bytes.size() &&
                      (out.count == 0 ||
                       (out.count <= bytes.size() && (out.count - 1) * out.stride + element <= bytes.size() - offset));
    if (!fits)
      refuse(fmt::format("{}: {} elements of {} bytes from {} do not fit its view of {} bytes", where, out.count,
                         element, offset, bytes.size()));
    out.data = bytes.data() + offset;
  } else if (out.count > total_bytes_) {
    refuse(fmt::format("{}: {} elements, the whole file has {} bytes", where, out.count, total_bytes_));
  }
  out.sparse = find(object, "sparse");
  if (out.sparse != nullptr && !out.sparse->is_object()) refuse(fmt::format("{}: sparse is not an object", where));
  return out;
}

template <class T>
void Document::fill_sparse(const Json& sparse, const Layout& base, const std::string& where,
                           std::vector<T>& out) const {
  const std::size_t count = unsigned_value(sparse, "count", 0, where);
  const Json* indices = find(sparse, "indices");
  const Json* values = find(sparse, "values");
  if (indices == nullptr || values == nullptr || !indices->is_object() || !values->is_object())
    refuse(fmt::format("{}: sparse has no indices or values", where));
  const auto bytes = [&](const Json& object, std::size_t element) {
    const std::span<const std::byte> all = view(required_index(object, "bufferView", "bufferViews", where));
    const std::size_t offset = unsigned_value(object, "byteOffset", 0, where);
    if (offset > all.size() || count > (all.size() - offset) / element)
      refuse(fmt::format("{}: {} sparse elements of {} bytes do not fit a view of {} bytes", where, count, element,
                         all.size()));
    return all.data() + offset;
  };
  const std::size_t index_type = unsigned_value(*indices, "componentType", 0, where);
  if (index_type != 5121 && index_type != 5123 && index_type != 5125)
    refuse(fmt::format("{}: sparse indices of type {}", where, index_type));
  const int type = static_cast<int>(index_type);
  const std::size_t part = bytes_of(base.type);
  const auto width = static_cast<std::size_t>(base.width);
  const std::byte* index_data = bytes(*indices, bytes_of(type));
  const std::byte* value_data = bytes(*values, part * width);
  for (std::size_t i = 0; i < count; ++i) {
    const auto target = static_cast<std::size_t>(component(index_data + i * bytes_of(type), type, false));
    if (target >= base.count) refuse(fmt::format("{}: sparse element {}, there are {}", where, target, base.count));
    for (std::size_t c = 0; c < width; ++c)
      out[target * width + c] =
          static_cast<T>(component(value_data + (i * width + c) * part, base.type, base.normalized));
  }
}

template <class T>
std::vector<T> Document::elements(std::size_t accessor, int wanted, const std::string& where) const {
  const Layout base = layout(accessor);
  if (base.width != wanted)
    refuse(fmt::format("{}: accessor {} has {} numbers per element, expected {}", where, accessor, base.width, wanted));
  const auto width = static_cast<std::size_t>(base.width);
  const std::size_t part = bytes_of(base.type);
  // Accessors may be shared, but not so often that a small file becomes a large allocation.
  decoded_ += base.count * width;
  if (decoded_ / kMostSharing > total_bytes_ + kSharingFloor)
    refuse(fmt::format("its accessors are used so often that {} bytes stand for more than {} numbers", total_bytes_,
                       decoded_));
  std::vector<T> out(base.count * width);
  if (base.data != nullptr) {
    if (std::is_same_v<T, float> && base.type == 5126 && base.stride == width * 4) {
      if (!out.empty()) std::memcpy(out.data(), base.data, out.size() * 4);
    } else {
      for (std::size_t i = 0; i < base.count; ++i)
        for (std::size_t c = 0; c < width; ++c)
          out[i * width + c] =
              static_cast<T>(component(base.data + i * base.stride + c * part, base.type, base.normalized));
    }
  }
  if (base.sparse != nullptr) fill_sparse(*base.sparse, base, fmt::format("accessor {}", accessor), out);
  return out;
}

std::vector<float> Document::floats(std::size_t accessor, int wanted, const std::string& where) const {
  std::vector<float> out = elements<float>(accessor, wanted, where);
  for (std::size_t i = 0; i < out.size(); ++i)
    if (!std::isfinite(out[i]))
      refuse(fmt::format("{}: element {} of accessor {} is not finite", where, i / static_cast<std::size_t>(wanted),
                         accessor));
  return out;
}

GltfArray Document::packed(std::size_t accessor) const {
  const Layout base = layout(accessor);
  if (base.data == nullptr || base.sparse != nullptr)
    refuse(fmt::format("accessor {} has no bytes of its own", accessor));
  const std::size_t element = bytes_of(base.type) * static_cast<std::size_t>(base.width);
  GltfArray out{"", static_cast<GltfArray::Component>(base.type), base.width, {}};
  out.bytes.reserve(base.count * element);
  for (std::size_t i = 0; i < base.count; ++i)
    out.bytes.insert(out.bytes.end(), base.data + i * base.stride, base.data + i * base.stride + element);
  return out;
}

std::vector<Index> Document::integers(std::size_t accessor, int wanted, const std::string& where) const {
  const int type = component_type(accessor);
  if (type != 5121 && type != 5123 && type != 5125)
    refuse(fmt::format("{}: accessor {} has component type {}, expected unsigned integers", where, accessor, type));
  return elements<Index>(accessor, wanted, where);
}

}  // namespace sinew::gltf
