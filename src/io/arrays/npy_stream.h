#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "io/arrays/zip.h"
#include "io/byte_source.h"
#include "sinew/io/npz.h"

namespace sinew {

/// Part of a source that is read from its beginning to its end, and the checksum of what has been read.
class Stretch {
 public:
  Stretch(const ByteSource& source, std::size_t begin, std::size_t size)
      : source_(source), at_(begin), end_(begin + size) {}

  std::size_t left() const { return end_ - at_; }
  std::uint32_t crc() const { return crc_; }
  /// Fills `out`, no longer than left(), in pieces that are still in the cache when they are summed.
  void read(std::span<std::byte> out) {
    constexpr std::size_t kPiece = std::size_t{1} << 18;
    while (!out.empty()) {
      const auto piece = out.first(std::min(kPiece, out.size()));
      source_.read(at_, piece);
      crc_ = extend_crc(crc_, piece);
      at_ += piece.size();
      out = out.subspan(piece.size());
    }
  }

 private:
  const ByteSource& source_;
  std::size_t at_, end_;
  std::uint32_t crc_ = 0;
};

/// Reads the stretch to its end. Refuses as parse_npy does for bytes.
template <class T>
NpyArray<T> parse_npy(Stretch& stretch, const std::string& name);

/// The same of positions, frames × vertices × 3, none of them 0. Floats in row-major order never need memory beside the
/// frames.
Frames parse_npy_frames(Stretch& stretch, const std::string& name, const Paging& paging);

}  // namespace sinew
