#include "math/sketches.h"

#include <cmath>
#include <limits>

namespace sinew::points {
namespace {

constexpr double kSlack = 4;        // of distances between bytes, in standard deviations
constexpr double kRoundOff = 1e-4;  // slack of distances between floats, in bandwidths
constexpr double kGolden = 0.618033988749895;

/// Groups of coordinates that follow each other at the distance `period`, no more than kSketch in all.
std::vector<Index> group_coordinates(std::size_t d, std::size_t period) {
  const std::size_t rows = (d + period - 1) / period;
  const std::size_t groups = std::min(rows, kSketch / period);  // per phase of the period
  std::vector<Index> group_of(d);
  for (std::size_t i = 0; i < d; ++i)
    group_of[i] = static_cast<Index>(i / period * groups / rows * period + i % period);
  return group_of;
}

}  // namespace

Code plain_code(std::size_t d) {
  return {std::vector<float>(d, 0), 1};
}

Code short_code(const Eigen::Ref<const PointRows>& points) {
  const Eigen::RowVectorXf low = points.colwise().minCoeff();
  const float range = (points.colwise().maxCoeff() - low).maxCoeff();
  return {std::vector<float>(low.begin(), low.end()), range > 0 ? static_cast<float>(kLargestShort) / range : 1};
}

Sketch plain_sketch(std::size_t d, const MeanShiftOptions& options) {
  Sketch sketch;
  sketch.group_of = group_coordinates(d, options.period);
  sketch.shift.assign(std::size_t{*std::max_element(sketch.group_of.begin(), sketch.group_of.end())} + 1, 0);
  sketch.slack = static_cast<float>(kRoundOff * options.bandwidth);
  return sketch;
}

Sketch byte_sketch(Sketch sketch, const Rows<float>& points) {
  const std::size_t groups = sketch.shift.size();
  std::vector<float> low(groups, std::numeric_limits<float>::max());
  std::vector<float> high(groups, std::numeric_limits<float>::lowest());
  std::array<float, kSketch> sums;
  for (std::size_t j = 0; j < points.count(); ++j) {
    sketch.encode(points[j], sums.data());
    for (std::size_t g = 0; g < groups; ++g) {
      low[g] = std::min(low[g], sums[g]);
      high[g] = std::max(high[g], sums[g]);
    }
  }
  float range = 0;
  for (std::size_t g = 0; g < groups; ++g) range = std::max(range, high[g] - low[g]);
  sketch.scale = range > 0 ? 254 / range : 1;
  for (std::size_t g = 0; g < groups; ++g) {
    const double offset = std::fmod(kGolden * static_cast<double>(g), 1.0);
    sketch.shift[g] = static_cast<float>(offset) - sketch.scale * low[g];
  }
  sketch.slack = static_cast<float>(kSlack * 0.5 * std::sqrt(static_cast<double>(groups)));
  return sketch;
}

}  // namespace sinew::points
