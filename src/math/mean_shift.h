#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <span>
#include <vector>

#include "sinew/core/progress.h"
#include "sinew/core/types.h"

namespace sinew {

/// Points of a high-dimensional space, one per row: n×d, row-major, float.
using PointRows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

struct MeanShiftOptions {
  double bandwidth = 1;      // h > 0: radius of the kernel in the 1-norm
  double merge = 0.05;       // points closer than merge·h are replaced by their mean; 0: none
  double coalesce = 0.02;    // trajectories closer than coalesce·h go on as one; 0: each on its own
  double tolerance = 1e-3;   // a trajectory has arrived when it moves by <= tolerance·h
  int max_iterations = 100;  // of one trajectory
  bool exact = false;        // the reference: nothing coalesces and distances are those of the floats
  std::size_t period = 1;    // coordinates i and i + period mostly change alike, 1..256; a hint that saves time
  int threads = 0;
};

/// Where every point goes when it climbs the density estimate.
struct MeanShift {
  PointRows ends;               // E×d: the distinct end points
  std::vector<Index> end_of;    // n: the end of point j
  std::vector<double> density;  // E: kernel sum at the end
  std::size_t iterations = 0;   // rounds until the last trajectory arrived
  std::size_t steps = 0;        // shifts computed; n times the mean iterations when nothing coalesces
  std::size_t unfinished = 0;   // points whose trajectory hit max_iterations
};

/// Fixed-bandwidth mean shift in the 1-norm [ComaniciuMeer2002; GeorgescuEtAl2003]: from every point x it iterates
/// x ← Σ_j w_j z_j / Σ_j w_j with w_j = max(0, 1 − |x − z_j|₁ / h)².
///
/// Neighbours are found through short sketches of the points in cells; distances are then computed on all coordinates,
/// rounded to 12 bits where that disturbs them by less than 2e-4 h. Beyond that rounding the approximations are `merge`
/// and `coalesce`; docs/algorithms/sma.md says what they change. Same bits for any thread count.
/// Throws Error{input} for non-finite numbers, Error{usage} for options out of range, Error{interrupted}.
MeanShift mean_shift(const Eigen::Ref<const PointRows>& points, const MeanShiftOptions& options,
                     const Progress& progress = {});

/// The modes among the ends of a mean shift, and which points belong to them.
struct Modes {
  std::vector<Index> ends;         // B: the end that is the mode, in order of falling size
  std::vector<std::size_t> sizes;  // B: points whose end joined the mode
  std::vector<int> mode_of;        // n: mode of point j, or -1 for an outlier
};

struct ModeOptions {
  double bandwidth = 1;     // h of the mean shift
  double join = 0.5;        // an end closer than join·h to a denser mode belongs to it
  double associate = 0.25;  // a point belongs to the nearest significant mode if |mode − its end|₁ < associate·h
  std::size_t min_points = 40;  // a mode with fewer points is not significant; the largest one always is
};

Modes find_modes(const MeanShift& shifted, const ModeOptions& options);

}  // namespace sinew
