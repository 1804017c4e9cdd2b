#pragma once

#include <algorithm>
#include <vector>

#include "sinew/core/sequence.h"

namespace sinew {

/// Times for formats that have no clips: each clip follows the one before it, one frame after its end.
inline std::vector<double> continuous_times(const Sequence& sequence) {
  std::vector<double> times = sequence.times;
  for (const Clip& clip : sequence.clips) {
    const std::size_t first = clip.first_frame;
    if (first == 0 || clip.frames == 0) continue;
    const double step = first > 1 && times[first - 1] > times[first - 2] ? times[first - 1] - times[first - 2]
                                                                         : kDefaultSecondsPerFrame;
    const double shift = times[first - 1] + step - times[first];
    for (std::size_t f = first; f < first + clip.frames; ++f) times[f] += shift;
  }
  return times;
}

}  // namespace sinew
