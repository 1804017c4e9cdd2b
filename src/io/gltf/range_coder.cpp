#include "io/gltf/range_coder.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace sinew::range {
namespace {

constexpr int kProbabilityBits = 12;
constexpr int kRate = 5;  // a model moves by 1/32 of what it was wrong by
constexpr std::uint32_t kTop = 1U << 24U;

void learn(bool bit, Bit& model) {
  if (bit)
    model.none = static_cast<std::uint16_t>(model.none - (model.none >> kRate));
  else
    model.none = static_cast<std::uint16_t>(model.none + (((1U << kProbabilityBits) - model.none) >> kRate));
}

}  // namespace

void Encoder::shift_low() {
  if (low_ < 0xFF000000U || low_ > 0xFFFFFFFFU) {
    const auto carry = static_cast<std::uint8_t>(low_ >> 32U);
    std::uint8_t byte = held_;
    do {
      out_.push_back(static_cast<std::byte>(byte + carry));
      byte = 0xFF;
    } while (--held_count_ != 0);
    held_ = static_cast<std::uint8_t>(low_ >> 24U);
  }
  ++held_count_;
  low_ = (low_ & 0x00FFFFFFU) << 8U;
}

void Encoder::put(bool bit, Bit& model) {
  const std::uint32_t bound = (range_ >> kProbabilityBits) * model.none;
  if (bit) {
    low_ += bound;
    range_ -= bound;
  } else {
    range_ = bound;
  }
  learn(bit, model);
  while (range_ < kTop) {
    range_ <<= 8U;
    shift_low();
  }
}

void Encoder::put_evenly(std::uint32_t value, int bits) {
  for (int i = bits; i-- > 0;) {
    range_ >>= 1U;
    if (((value >> static_cast<unsigned>(i)) & 1U) != 0) low_ += range_;
    while (range_ < kTop) {
      range_ <<= 8U;
      shift_low();
    }
  }
}

std::vector<std::byte> Encoder::finish() {
  for (int i = 0; i < 5; ++i) shift_low();
  return std::move(out_);
}

Decoder::Decoder(std::span<const std::byte> bytes) : bytes_(bytes) {
  for (int i = 0; i < 5; ++i) code_ = (code_ << 8U) | next();
}

std::uint32_t Decoder::next() {
  const std::uint32_t byte = read_ < bytes_.size() ? std::to_integer<std::uint32_t>(bytes_[read_]) : 0;
  ++read_;
  return byte;
}

void Decoder::renew() {
  while (range_ < kTop) {
    range_ <<= 8U;
    code_ = (code_ << 8U) | next();
  }
}

bool Decoder::take(Bit& model) {
  const std::uint32_t bound = (range_ >> kProbabilityBits) * model.none;
  const bool bit = code_ >= bound;
  if (bit) {
    code_ -= bound;
    range_ -= bound;
  } else {
    range_ = bound;
  }
  learn(bit, model);
  renew();
  return bit;
}

std::uint32_t Decoder::take_evenly(int bits) {
  std::uint32_t out = 0;
  for (int i = 0; i < bits; ++i) {
    range_ >>= 1U;
    const bool bit = code_ >= range_;
    if (bit) code_ -= range_;
    out = (out << 1U) | (bit ? 1U : 0U);
    renew();
  }
  return out;
}

// A number n is coded as n + 1 = 1xyzzz in binary: its length, xy by models, zzz evenly.
void Number::put(std::uint32_t value, Encoder& to) {
  const std::uint32_t n = value + 1;
  const auto below = static_cast<unsigned>(std::bit_width(n)) - 1;  // bits below the leading one
  unsigned node = 1;
  for (unsigned i = 5; i-- > 0;) {
    const bool bit = ((below >> i) & 1U) != 0;
    to.put(bit, length_[node]);
    node = 2 * node + (bit ? 1 : 0);
  }
  unsigned leading = 1;
  for (unsigned i = below; i-- > 0;) {
    const bool bit = ((n >> i) & 1U) != 0;
    if (below - i > 2) {
      to.put_evenly(n & ((2U << i) - 1), static_cast<int>(i) + 1);
      return;
    }
    to.put(bit, leading_[below][leading]);
    leading = 2 * leading + (bit ? 1 : 0);
  }
}

std::uint32_t Number::take(Decoder& from) {
  unsigned node = 1;
  for (int i = 0; i < 5; ++i) node = 2 * node + (from.take(length_[node]) ? 1 : 0);
  const unsigned below = std::min<unsigned>(node - 32, kMostBits);
  std::uint32_t n = 1;
  unsigned leading = 1;
  for (unsigned i = below; i-- > 0;) {
    if (below - i > 2) {
      const int rest = static_cast<int>(i) + 1;
      n = (n << static_cast<unsigned>(rest)) | from.take_evenly(rest);
      break;
    }
    const bool bit = from.take(leading_[below][leading]);
    leading = 2 * leading + (bit ? 1 : 0);
    n = 2 * n + (bit ? 1 : 0);
  }
  return n - 1;
}

void SignedNumber::put(std::int32_t value, Encoder& to) {
  size_.put(static_cast<std::uint32_t>(value < 0 ? -value : value), to);
  if (value != 0) to.put(value < 0, sign_);
}

std::int32_t SignedNumber::take(Decoder& from) {
  const auto size = static_cast<std::int32_t>(size_.take(from));
  return size != 0 && from.take(sign_) ? -size : size;
}

}  // namespace sinew::range
