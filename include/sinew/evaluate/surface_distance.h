#pragma once

#include <cstddef>
#include <vector>

#include "sinew/core/progress.h"
#include "sinew/core/rig.h"

namespace sinew {

/// How far two surfaces are from each other over an animation, % of the rest diagonal of the first. From every point of
/// one to the nearest of the other, points spread evenly by area, the corners among them.
struct SurfaceDistance {
  double forward_mean = 0;  // from the first to the second
  double forward_max = 0;
  double backward_mean = 0;  // from the second to the first
  double backward_max = 0;
  std::size_t worst_frame = 0;

  double mean() const { return (forward_mean + backward_mean) / 2; }
  double max() const { return forward_max > backward_max ? forward_max : backward_max; }
};

/// Over all frames, or the rest poses where there are none. Throws Error{input} when the frames do not correspond or
/// one has no triangles, Error{interrupted} when `progress` asks to stop; it is called by one thread at a time.
SurfaceDistance surface_distance(const Rig& first, const Rig& second, int threads = 0, const Progress& progress = {});

}  // namespace sinew
