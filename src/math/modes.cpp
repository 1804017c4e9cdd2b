#include <algorithm>
#include <numeric>

#include "math/mean_shift.h"
#include "math/point_cells.h"

namespace sinew {

Modes find_modes(const MeanShift& shifted, const ModeOptions& options) {
  const std::size_t count = shifted.density.size();
  std::vector<std::size_t> points_of(count, 0);
  for (const Index e : shifted.end_of) ++points_of[e];
  points::Rows<float> ends(count, static_cast<std::size_t>(shifted.ends.cols()));
  for (std::size_t e = 0; e < count; ++e)
    std::copy_n(shifted.ends.row(static_cast<Eigen::Index>(e)).data(), shifted.ends.cols(), ends[e]);
  const auto distance = [&](std::size_t a, std::size_t b, double limit) -> double {
    return points::distance_below(ends[a], ends[b], ends.stride(), static_cast<float>(limit));
  };

  // Densest first, so that the result does not depend on the order of the points.
  std::vector<Index> by_density(count);
  std::iota(by_density.begin(), by_density.end(), Index{0});
  std::stable_sort(by_density.begin(), by_density.end(),
                   [&](Index a, Index b) { return shifted.density[a] > shifted.density[b]; });
  std::vector<Index> modes;
  std::vector<std::size_t> sizes;
  for (const Index e : by_density) {
    std::size_t nearest = modes.size();
    double nearest_distance = options.join * options.bandwidth;
    for (std::size_t m = 0; m < modes.size(); ++m) {
      const double d = distance(e, modes[m], nearest_distance);
      if (d < nearest_distance) {
        nearest_distance = d;
        nearest = m;
      }
    }
    if (nearest == modes.size()) {
      modes.push_back(e);
      sizes.push_back(0);
    }
    sizes[nearest] += points_of[e];
  }

  std::vector<std::size_t> by_size(modes.size());
  std::iota(by_size.begin(), by_size.end(), std::size_t{0});
  std::stable_sort(by_size.begin(), by_size.end(), [&](std::size_t a, std::size_t b) { return sizes[a] > sizes[b]; });
  Modes result;
  for (const std::size_t m : by_size) {
    if (!result.ends.empty() && sizes[m] < options.min_points) break;
    result.ends.push_back(modes[m]);
    result.sizes.push_back(sizes[m]);
  }

  std::vector<int> mode_of_end(count, -1);
  for (std::size_t e = 0; e < count; ++e) {
    double nearest_distance = options.associate * options.bandwidth;
    for (std::size_t m = 0; m < result.ends.size(); ++m) {
      const double d = distance(e, result.ends[m], nearest_distance);
      if (d < nearest_distance) {
        nearest_distance = d;
        mode_of_end[e] = static_cast<int>(m);
      }
    }
  }
  for (const Index e : shifted.end_of) result.mode_of.push_back(mode_of_end[e]);
  return result;
}

}  // namespace sinew
