#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "io/point_cache_bytes.h"
#include "sinew/core/error.h"
#include "sinew/io/mdd.h"
#include "sinew/io/output_file.h"
#include "sinew/io/pc2.h"

namespace sinew {
namespace {

std::int32_t count_of(const std::filesystem::path& path, std::size_t count) {
  if (count > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    throw Error(ErrorKind::output, fmt::format("{}: {} is more than the format can count", path.string(), count));
  return static_cast<std::int32_t>(count);
}

/// Mean of the steps between frames, in units of the default frame; 1 where there is no step.
float mean_rate(std::span<const double> times) {
  if (times.size() < 2 || !(times.back() > times.front())) return 1;
  const double step = (times.back() - times.front()) / static_cast<double>(times.size() - 1);
  return static_cast<float>(step / kDefaultSecondsPerFrame);
}

}  // namespace

void write_pc2(const std::filesystem::path& path, const Frames& frames, std::span<const double> times) {
  static_assert(std::endian::native == std::endian::little, "positions are written as they lie in memory");
  const std::int32_t version = 1;
  const std::int32_t points = count_of(path, frames.vertex_count());
  const float start = 0;
  const float rate = mean_rate(times);
  const std::int32_t samples = count_of(path, frames.count());
  OutputFile file(path);
  file.write(std::string_view("POINTCACHE2\0", 12));
  file.write(std::as_bytes(std::span(&version, 1)));
  file.write(std::as_bytes(std::span(&points, 1)));
  file.write(std::as_bytes(std::span(&start, 1)));
  file.write(std::as_bytes(std::span(&rate, 1)));
  file.write(std::as_bytes(std::span(&samples, 1)));
  file.write(std::as_bytes(frames.data()));
  file.commit();
}

void write_mdd(const std::filesystem::path& path, const Frames& frames, std::span<const double> times) {
  std::vector<std::uint32_t> words;
  const auto add = [&](auto value) { words.push_back(swap_bytes(std::bit_cast<std::uint32_t>(value))); };
  OutputFile file(path);
  add(count_of(path, frames.count()));
  add(count_of(path, frames.vertex_count()));
  for (const double time : times) add(static_cast<float>(time));
  file.write(std::as_bytes(std::span(words)));
  const std::span<const float> data = frames.data();
  constexpr std::size_t kBlock = std::size_t{1} << 16;
  for (std::size_t i = 0; i < data.size(); i += kBlock) {
    words.clear();
    for (std::size_t j = i; j < std::min(i + kBlock, data.size()); ++j) add(data[j]);
    file.write(std::as_bytes(std::span(words)));
  }
  file.commit();
}

}  // namespace sinew
