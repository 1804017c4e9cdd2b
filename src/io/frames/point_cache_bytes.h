#pragma once

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "io/byte_source.h"
#include "sinew/core/error.h"
#include "sinew/core/sequence.h"
#include "sinew/io/io.h"

/// What the readers and writers of point caches share: numbers of a fixed byte order at any address.
namespace sinew {

inline std::uint32_t swap_bytes(std::uint32_t x) {
  return x >> 24 | (x >> 8 & 0xff00U) | (x << 8 & 0xff0000U) | x << 24;
}

/// A 4-byte number at `offset`, which must lie 4 bytes before the end.
template <class T, std::endian order>
T load(std::span<const std::byte> bytes, std::size_t offset) {
  static_assert(sizeof(T) == 4);
  std::uint32_t word = 0;
  std::memcpy(&word, bytes.data() + offset, 4);
  return std::bit_cast<T>(order == std::endian::native ? word : swap_bytes(word));
}

/// The frames that fill `source` from `start` on. Refuses counts that are not positive or that promise more than there
/// is, before memory is taken for them, and the first position that is not finite. Frames beyond paging.most stay in
/// their file where that has our byte order.
template <std::endian order>
Frames load_frames(const ByteSource& source, std::size_t start, std::int32_t samples, std::int32_t points,
                   const std::string& name, const Warnings& warn, const Paging& paging) {
  if (samples <= 0 || points <= 0)
    throw Error(ErrorKind::input,
                fmt::format("{}: {} frames of {} points, at least one of each is needed", name, samples, points));
  const auto frame_count = static_cast<std::size_t>(samples);
  const auto vertex_count = static_cast<std::size_t>(points);
  const std::size_t bytes = source.size() - start;
  if (bytes / 12 / vertex_count < frame_count)
    throw Error(ErrorKind::input, fmt::format("{}: {} frames of {} points do not fit in the {} bytes after the header",
                                              name, frame_count, vertex_count, bytes));
  const std::size_t frame_bytes = vertex_count * 12;
  if (warn && bytes != frame_count * frame_bytes)
    warn(fmt::format("{}: {} bytes after the last frame were left out", name, bytes - frame_count * frame_bytes));
  if (order == std::endian::native && source.is_file() && frame_count * frame_bytes > paging.most) {
    Frames frames(frame_count, vertex_count, PagedMemory::of_file(name, start, frame_count * frame_bytes, paging));
    std::as_const(frames).check_finite(name);
    return frames;
  }
  Frames frames(frame_count, vertex_count, paging);
  for (std::size_t f = 0; f < frame_count; ++f) {
    PointsMap frame = frames[f];
    const std::span<float> values(frame.data(), 3 * vertex_count);
    source.read(start + f * frame_bytes, std::as_writable_bytes(values));
    if constexpr (order != std::endian::native) {
      for (float& value : values) value = std::bit_cast<float>(swap_bytes(std::bit_cast<std::uint32_t>(value)));
    }
  }
  frames.check_finite(name);
  return frames;
}

}  // namespace sinew
