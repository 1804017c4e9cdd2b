#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sinew {

/// A 128-bit digest; `low` is the word that is written first.
struct Digest {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  auto operator<=>(const Digest&) const = default;  // NOLINT(modernize-use-nullptr): there is no pointer
};

/// MurmurHash3, the x64 variant with 128 bits and seed 0: the key that an Alembic archive stores with every sample.
Digest murmur3(std::span<const std::byte> bytes);

}  // namespace sinew
