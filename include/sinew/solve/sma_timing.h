#pragma once

#include <cstddef>

#include "sinew/core/sequence.h"

namespace sinew {

/// What the mean shift of solve_sma costs, beside the rotations it works on.
struct SmaTiming {
  std::size_t triangles = 0;
  double rotations_cpu = 0;   // seconds of processor time for the triangles' rotations: linear in triangles and frames
  double mean_shift_cpu = 0;  // mean shift and modes
  std::size_t steps = 0;      // of all trajectories
  std::size_t bones = 0;      // significant modes: so that nobody times nothing
};

SmaTiming time_sma(const Sequence& sequence, double epsilon, int threads);

}  // namespace sinew
