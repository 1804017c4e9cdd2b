#pragma once

#include "math/device_code.h"

/// Lanes that share a vertex. The text of a vertex says what each of them does:
///   each(n, f)       f(j) for all j < n, shared out; all is done and seen by all when it returns
///   own(n, f)        the same without waiting: f(j) touches only what the lane of j touches
///   alone(f)         f() by one lane; seen by all when it returns
///   lowest(n, bound, value, allowed)   the j with the lowest value below `bound` among those allowed; the first of
///   equals
/// kHolds: whether lanes rather hold numbers in registers than share out loops that vectorise.
namespace sinew::device {

struct Lowest {
  double value;
  int index;  // -1: none is below the bound
};

/// The processor: one lane does everything.
struct OneLane {
  static constexpr bool kHolds = false;

  template <class F>
  SINEW_TEXT void each(int n, const F& f) const {
    for (int j = 0; j < n; ++j) f(j);
  }
  template <class F>
  SINEW_TEXT void own(int n, const F& f) const {
    for (int j = 0; j < n; ++j) f(j);
  }
  template <class F>
  SINEW_TEXT void alone(const F& f) const {
    f();
  }
  SINEW_TEXT void sync() const {}
  /// Mostly nothing is below the bound, or what is lowest is allowed: that is found eight at a time.
  template <class Value, class Allowed>
  SINEW_TEXT Lowest lowest(int n, double bound, const Value& value, const Allowed& allowed) const {
    constexpr int kTogether = 8;
    double low[kTogether];
    for (int l = 0; l < kTogether; ++l) low[l] = bound;
    int first = 0;
    for (; first + kTogether <= n; first += kTogether) {
      for (int l = 0; l < kTogether; ++l) {
        const double v = value(first + l);
        low[l] = v < low[l] ? v : low[l];
      }
    }
    double least = bound;
    for (int l = 0; l < kTogether; ++l) least = low[l] < least ? low[l] : least;
    for (int j = first; j < n; ++j) {
      const double v = value(j);
      least = v < least ? v : least;
    }
    if (!(least < bound)) return {bound, -1};
    int at = 0;
    while (at < n && !(value(at) == least)) ++at;
    if (at < n && allowed(at)) return {least, at};
    Lowest best{bound, -1};
    for (int j = 0; j < n; ++j) {
      const double v = value(j);
      if (v < best.value && allowed(j)) best = {v, j};
    }
    return best;
  }
};

/// The processor as it stands in for a GPU.
struct HoldingLane : OneLane {
  static constexpr bool kHolds = true;
};

}  // namespace sinew::device
