#include "sinew/solve/sma_timing.h"

#include <ctime>

#include "solve/sma/cores.h"

namespace sinew {

SmaTiming time_sma(const Sequence& sequence, double epsilon, int threads) {
  const auto cpu_seconds = [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };
  const double start = cpu_seconds();
  const sma::Triangles triangles = sma::triangle_rotations(sequence, threads);
  const double between = cpu_seconds();
  const sma::Cores cores = sma::find_cores(triangles, epsilon, threads, {});
  SmaTiming timing;
  timing.triangles = triangles.corners.size();
  timing.rotations_cpu = between - start;
  timing.mean_shift_cpu = cpu_seconds() - between;
  timing.steps = cores.steps;
  timing.bones = cores.bones();
  return timing;
}

}  // namespace sinew
