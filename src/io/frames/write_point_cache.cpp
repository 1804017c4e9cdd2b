#include <fmt/format.h>

#include <cassert>
#include <limits>

#include "io/frames/point_cache_bytes.h"
#include "io/go_on.h"
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

Pc2File::Pc2File(const std::filesystem::path& path, std::size_t frames, std::size_t vertices, float rate)
    : file_(path), path_(path), left_(frames), vertices_(vertices) {
  static_assert(std::endian::native == std::endian::little, "positions are written as they lie in memory");
  const std::int32_t version = 1;
  const std::int32_t points = count_of(path, vertices);
  const float start = 0;
  const std::int32_t samples = count_of(path, frames);
  file_.write(std::string_view("POINTCACHE2\0", 12));
  file_.write(std::as_bytes(std::span(&version, 1)));
  file_.write(std::as_bytes(std::span(&points, 1)));
  file_.write(std::as_bytes(std::span(&start, 1)));
  file_.write(std::as_bytes(std::span(&rate, 1)));
  file_.write(std::as_bytes(std::span(&samples, 1)));
}

void Pc2File::add(const Eigen::Ref<const Points>& frame) {
  assert(left_ > 0 && static_cast<std::size_t>(frame.cols()) == vertices_ && frame.outerStride() == 3);
  file_.write(std::as_bytes(std::span(frame.data(), 3 * vertices_)));
  --left_;
}

void Pc2File::commit() {
  if (left_ > 0) throw Error(ErrorKind::output, fmt::format("{}: {} frames are missing", path_.string(), left_));
  file_.commit();
}

void write_pc2(const std::filesystem::path& path, const Frames& frames, std::span<const double> times,
               const Progress& progress) {
  Pc2File file(path, frames.count(), frames.vertex_count(), mean_rate(times));
  for (std::size_t f = 0; f < frames.count(); ++f) {
    go_on(progress, path, f, frames.count());
    file.add(frames[f]);
  }
  file.commit();
}

void write_mdd(const std::filesystem::path& path, const Frames& frames, std::span<const double> times,
               const Progress& progress) {
  std::vector<std::uint32_t> words;
  const auto add = [&](auto value) { words.push_back(swap_bytes(std::bit_cast<std::uint32_t>(value))); };
  OutputFile file(path);
  add(count_of(path, frames.count()));
  add(count_of(path, frames.vertex_count()));
  for (const double time : times) add(static_cast<float>(time));
  file.write(std::as_bytes(std::span(words)));
  for (std::size_t f = 0; f < frames.count(); ++f) {
    go_on(progress, path, f, frames.count());
    const ConstPointsMap frame = frames[f];
    words.clear();
    for (Eigen::Index i = 0; i < frame.size(); ++i) add(frame.data()[i]);
    file.write(std::as_bytes(std::span(words)));
  }
  file.commit();
}

}  // namespace sinew
