#pragma once

#include "fuzz.h"
#include "sinew/core/sequence.h"
#include "sinew/io/point_cache.h"

namespace sinew::fuzz {

/// A cache that was read holds no more than its bytes can, and makes a valid sequence.
inline void check_cache(const PointCache& cache, std::span<const std::byte> bytes) {
  require(cache.frames.data().size() * 4 <= bytes.size(), "no frames beyond the bytes");
  Sequence sequence;
  sequence.rest.positions = cache.frames[0];
  sequence.frames = cache.frames;
  sequence.times = cache.times;
  sequence.check();
}

}  // namespace sinew::fuzz
