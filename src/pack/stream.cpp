#include "pack/stream.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

namespace sinew::pack {

using gltf::GlbBuilder;
using gltf::Json;

void Stream::put(const void* from, std::size_t size) {
  const auto* bytes = static_cast<const std::byte*>(from);
  bytes_.insert(bytes_.end(), bytes, bytes + size);
}

std::size_t Stream::accessor(GlbBuilder& out, std::size_t from, GltfArray::Component component, const char* type,
                             bool normalized) {
  Json entry = {
      {"componentType", static_cast<int>(component)}, {"count", (bytes_.size() - from) / view_.stride}, {"type", type}};
  if (from > 0) entry["byteOffset"] = from;
  if (normalized) entry["normalized"] = true;
  accessors_.push_back(out.append("accessors", std::move(entry)));
  return accessors_.back();
}

std::size_t Stream::shared_accessor(GlbBuilder& out, std::size_t from, GltfArray::Component component, const char* type,
                                    bool normalized) {
  std::string held = type;
  held.append(reinterpret_cast<const char*>(bytes_.data() + from), bytes_.size() - from);
  const auto [entry, is_new] = known_.try_emplace(std::move(held), 0);
  if (is_new)
    entry->second = accessor(out, from, component, type, normalized);
  else
    bytes_.resize(from);
  return entry->second;
}

void Stream::finish(GlbBuilder& out, const char* extension) {
  if (bytes_.empty()) return;
  view_.count = bytes_.size() / view_.stride;
  const std::size_t view = out.add_coded_view(view_, gltf::encode_view(view_, bytes_), use_, extension);
  for (const std::size_t accessor : accessors_) out.root["accessors"][accessor]["bufferView"] = view;
}

double shortest(float x) {
  return std::strtod(fmt::format("{}", x).c_str(), nullptr);
}

std::uint32_t exponential(float x, int exponent) {
  const auto whole = static_cast<std::int32_t>(std::lround(std::ldexp(static_cast<double>(x), -exponent)));
  return (static_cast<std::uint32_t>(whole) & 0xFFFFFFU) | (static_cast<std::uint32_t>(exponent) << 24U);
}

}  // namespace sinew::pack
