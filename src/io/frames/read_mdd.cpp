#include <fmt/format.h>

#include <cmath>

#include "io/byte_source.h"
#include "io/frames/point_cache_bytes.h"
#include "sinew/core/error.h"
#include "sinew/io/mdd.h"

namespace sinew {
namespace {

bool increase(const std::vector<double>& times) {
  for (std::size_t f = 0; f < times.size(); ++f)
    if (!std::isfinite(times[f]) || (f > 0 && times[f] <= times[f - 1])) return false;
  return true;
}

PointCache load_mdd(const ByteSource& source, const std::string& name, const Warnings& warn, const Paging& paging) {
  constexpr auto kOrder = std::endian::big;
  constexpr std::size_t kMddHeader = 8;
  const std::vector<std::byte> bytes = source.read(0, kMddHeader);
  if (bytes.size() < kMddHeader)
    throw Error(ErrorKind::input,
                fmt::format("{}: {} bytes, the header of an MDD file has {}", name, bytes.size(), kMddHeader));
  const auto samples = load<std::int32_t, kOrder>(bytes, 0);
  const auto points = load<std::int32_t, kOrder>(bytes, 4);
  if (samples > 0 && source.size() / 4 - 2 < static_cast<std::size_t>(samples))
    throw Error(ErrorKind::input,
                fmt::format("{}: the times of {} frames do not fit in {} bytes", name, samples, source.size()));
  const std::size_t start = kMddHeader + 4 * static_cast<std::size_t>(std::max(samples, 0));
  PointCache cache;
  cache.frames = load_frames<kOrder>(source, start, samples, points, name, warn, paging);
  const std::vector<std::byte> times = source.read(kMddHeader, 4 * cache.frames.count());
  for (std::size_t f = 0; f < cache.frames.count(); ++f) cache.times.push_back(load<float, kOrder>(times, 4 * f));
  if (!increase(cache.times)) {
    if (warn) warn(fmt::format("{}: times that do not increase were replaced by 30 frames per second", name));
    cache.times = uniform_times(cache.frames.count());
  }
  return cache;
}

}  // namespace

PointCache parse_mdd(std::span<const std::byte> bytes, const std::string& name, const Warnings& warn) {
  return load_mdd(ByteSource(bytes), name, warn, {});
}

PointCache read_mdd(const std::filesystem::path& path, const Warnings& warn, const Paging& paging) {
  return load_mdd(ByteSource(path), path.string(), warn, paging);
}

}  // namespace sinew
