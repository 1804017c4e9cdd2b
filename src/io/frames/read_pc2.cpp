#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "io/byte_source.h"
#include "io/frames/point_cache_bytes.h"
#include "sinew/core/error.h"
#include "sinew/io/pc2.h"

namespace sinew {
namespace {

PointCache load_pc2(const ByteSource& source, const std::string& name, const Warnings& warn, const Paging& paging) {
  constexpr std::string_view kSignature("POINTCACHE2\0", 12);
  constexpr std::size_t kHeader = 32;
  const std::vector<std::byte> bytes = source.read(0, kHeader);
  if (bytes.size() < kSignature.size() || std::memcmp(bytes.data(), kSignature.data(), kSignature.size()) != 0)
    throw Error(ErrorKind::input, fmt::format("{}: does not begin as a PC2 file", name));
  if (bytes.size() < kHeader)
    throw Error(ErrorKind::input,
                fmt::format("{}: {} bytes, the header of a PC2 file has {}", name, bytes.size(), kHeader));
  const auto version = load<std::int32_t, std::endian::little>(bytes, 12);
  const auto points = load<std::int32_t, std::endian::little>(bytes, 16);
  auto rate = load<float, std::endian::little>(bytes, 24);
  const auto samples = load<std::int32_t, std::endian::little>(bytes, 28);
  if (version != 1) throw Error(ErrorKind::input, fmt::format("{}: PC2 version {}, expected 1", name, version));
  PointCache cache;
  cache.frames = load_frames<std::endian::little>(source, kHeader, samples, points, name, warn, paging);
  if (!(std::isfinite(rate) && rate > 0)) {
    if (warn) warn(fmt::format("{}: sample rate {} read as 1", name, rate));
    rate = 1;
  }
  cache.times = uniform_times(cache.frames.count(), static_cast<double>(rate) * kDefaultSecondsPerFrame);
  return cache;
}

}  // namespace

PointCache parse_pc2(std::span<const std::byte> bytes, const std::string& name, const Warnings& warn) {
  return load_pc2(ByteSource(bytes), name, warn, {});
}

PointCache read_pc2(const std::filesystem::path& path, const Warnings& warn, const Paging& paging) {
  return load_pc2(ByteSource(path), path.string(), warn, paging);
}

}  // namespace sinew
