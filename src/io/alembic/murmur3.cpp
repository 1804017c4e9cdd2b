#include "io/alembic/murmur3.h"

#include <array>
#include <bit>
#include <cstring>

namespace sinew {
namespace {

static_assert(std::endian::native == std::endian::little, "blocks are loaded as little-endian words");

constexpr std::uint64_t kC1 = 0x87c37b91114253d5;
constexpr std::uint64_t kC2 = 0x4cf5ad432745937f;

std::uint64_t scramble_low(std::uint64_t word) {
  return std::rotl(word * kC1, 31) * kC2;
}

std::uint64_t scramble_high(std::uint64_t word) {
  return std::rotl(word * kC2, 33) * kC1;
}

/// Final avalanche of one word.
std::uint64_t finish(std::uint64_t word) {
  word = (word ^ (word >> 33)) * 0xff51afd7ed558ccd;
  word = (word ^ (word >> 33)) * 0xc4ceb9fe1a85ec53;
  return word ^ (word >> 33);
}

}  // namespace

Digest murmur3(std::span<const std::byte> bytes) {
  Digest h;
  const std::size_t whole = bytes.size() / 16;
  std::array<std::uint64_t, 2> block;
  for (std::size_t i = 0; i < whole; ++i) {
    std::memcpy(block.data(), bytes.data() + 16 * i, 16);
    h.low = (std::rotl(h.low ^ scramble_low(block[0]), 27) + h.high) * 5 + 0x52dce729;
    h.high = (std::rotl(h.high ^ scramble_high(block[1]), 31) + h.low) * 5 + 0x38495ab5;
  }
  // The tail is a block filled up with zeros, which scramble to nothing.
  if (bytes.size() % 16 != 0) {
    block = {};
    std::memcpy(block.data(), bytes.data() + 16 * whole, bytes.size() % 16);
    h.low ^= scramble_low(block[0]);
    h.high ^= scramble_high(block[1]);
  }
  h.low ^= bytes.size();
  h.high ^= bytes.size();
  h.low += h.high;
  h.high += h.low;
  h.low = finish(h.low);
  h.high = finish(h.high);
  h.low += h.high;
  h.high += h.low;
  return h;
}

}  // namespace sinew
