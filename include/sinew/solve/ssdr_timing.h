#pragma once

#include "sinew/core/rig.h"
#include "sinew/core/sequence.h"

namespace sinew {

/// What one iteration of solve_ssdr costs, beside the product it cannot do without.
struct SsdrTiming {
  double iteration_cpu = 0;   // seconds of the calling thread, which does all when threads = 1; median over iterations
  double iteration_wall = 0;  // least seconds of the clock over iterations
  double product_cpu = 0;     // DᵀY (4B × 3F by 3F × V) in float by one thread of BLAS, median
  double initialise_cpu = 0;  // scaling, reduction and clusters, as `--quality fast` starts
  double e_rms = 0;           // after the timed iterations: so that nobody times nothing
};

/// Runs the solver's own iterations (weights, bones and objective; K = 4) after a few to warm up.
SsdrTiming time_ssdr(const Sequence& sequence, int bones, Transforms transforms, int iterations, int threads);

}  // namespace sinew
