#pragma once

#include <cstddef>
#include <cstring>

/// Eight numbers at a time, one per lane.
namespace sinew::lanes {

inline constexpr std::size_t kLanes = 8;

using Double4 = double __attribute__((vector_size(32)));
using Float4 = float __attribute__((vector_size(16)));

/// Two registers of four: enough independent work to hide the latency of a multiply-add.
struct Double8 {
  Double4 low = {};
  Double4 high = {};
};

[[gnu::always_inline]] inline Double8 load(const double* from) {
  Double8 value;
  std::memcpy(&value.low, from, sizeof value.low);
  std::memcpy(&value.high, from + 4, sizeof value.high);
  return value;
}
[[gnu::always_inline]] inline Double8 load(const float* from) {
  Float4 low, high;
  std::memcpy(&low, from, sizeof low);
  std::memcpy(&high, from + 4, sizeof high);
  return {__builtin_convertvector(low, Double4), __builtin_convertvector(high, Double4)};
}
[[gnu::always_inline]] inline void store(double* to, const Double8& value) {
  std::memcpy(to, &value.low, sizeof value.low);
  std::memcpy(to + 4, &value.high, sizeof value.high);
}
[[gnu::always_inline]] inline void store(float* to, const Double8& value) {
  const Float4 low = __builtin_convertvector(value.low, Float4);
  const Float4 high = __builtin_convertvector(value.high, Float4);
  std::memcpy(to, &low, sizeof low);
  std::memcpy(to + 4, &high, sizeof high);
}
[[gnu::always_inline]] inline Double8 operator*(const Double8& a, const Double8& b) {
  return {a.low * b.low, a.high * b.high};
}
[[gnu::always_inline]] inline Double8 operator*(double a, const Double8& b) {
  return {a * b.low, a * b.high};
}
[[gnu::always_inline]] inline Double8 operator+(const Double8& a, const Double8& b) {
  return {a.low + b.low, a.high + b.high};
}
[[gnu::always_inline]] inline Double8 operator+(const Double8& a, double b) {
  return {a.low + b, a.high + b};
}
[[gnu::always_inline]] inline Double8 operator-(const Double8& a, const Double8& b) {
  return {a.low - b.low, a.high - b.high};
}
[[gnu::always_inline]] inline double lane(const Double8& value, std::size_t l) {
  return l < 4 ? value.low[l] : value.high[l - 4];
}
[[gnu::always_inline]] inline void set_lane(Double8& value, std::size_t l, double to) {
  if (l < 4)
    value.low[l] = to;
  else
    value.high[l - 4] = to;
}
inline double sum(const Double8& value) {
  const Double4 half = value.low + value.high;
  return (half[0] + half[1]) + (half[2] + half[3]);
}

/// sum over m < count of a[m]·b[m], both with one group of lanes after another.
[[gnu::always_inline]] inline Double8 dot(const double* a, const double* b, int count) {
  Double8 even, odd;
  int m = 0;
  for (; m + 1 < count; m += 2, a += 2 * kLanes, b += 2 * kLanes) {
    even = even + load(a) * load(b);
    odd = odd + load(a + kLanes) * load(b + kLanes);
  }
  if (m < count) even = even + load(a) * load(b);
  return even + odd;
}

}  // namespace sinew::lanes
