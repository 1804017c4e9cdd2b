#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// Adaptive binary range coding (after Martin 1979, with the carry of LZMA's coder): each decision costs what its model
/// has learned that it is worth. Writing and reading must ask the same models in the same order.
namespace sinew::range {

/// What is known about one yes-or-no decision: the probability of "no", of 4096.
struct Bit {
  std::uint16_t none = 2048;
};

/// Writes decisions.
class Encoder {
 public:
  void put(bool bit, Bit& model);
  void put_evenly(std::uint32_t value, int bits);  // without a model
  std::vector<std::byte> finish();

 private:
  void shift_low();

  std::uint64_t low_ = 0;
  std::uint32_t range_ = 0xFFFFFFFF;
  std::uint8_t held_ = 0;
  std::size_t held_count_ = 1;
  std::vector<std::byte> out_;
};

/// Reads them again. Past the end it reads zeros, and says so.
class Decoder {
 public:
  explicit Decoder(std::span<const std::byte> bytes);

  bool take(Bit& model);
  std::uint32_t take_evenly(int bits);

  /// Whether exactly all bytes have been read.
  bool at_end() const { return read_ == bytes_.size(); }
  bool beyond_end() const { return read_ > bytes_.size(); }

 private:
  std::uint32_t next();
  void renew();

  std::span<const std::byte> bytes_;
  std::size_t read_ = 0;
  std::uint32_t range_ = 0xFFFFFFFF;
  std::uint32_t code_ = 0;
};

/// Whole numbers from 0 to 2^24 - 2: how many bits they have and the leading two below the first are learned, the rest
/// is even.
class Number {
 public:
  void put(std::uint32_t value, Encoder& to);
  std::uint32_t take(Decoder& from);

 private:
  static constexpr int kMostBits = 24;

  std::array<Bit, 32> length_;
  std::array<std::array<Bit, 4>, kMostBits + 1> leading_;
};

/// The same with a sign.
class SignedNumber {
 public:
  void put(std::int32_t value, Encoder& to);
  std::int32_t take(Decoder& from);

 private:
  Number size_;
  Bit sign_;
};

}  // namespace sinew::range
