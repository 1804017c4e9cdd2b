#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "math/mean_shift.h"
#include "math/point_cells.h"

/// Short forms of points by which mean shift tells what is near, and how near.
namespace sinew::points {

inline constexpr std::size_t kSketch = 256;  // longest sketch

/// From points to the numbers that distances are computed on: themselves, or 12 bits that span each coordinate.
struct Code {
  std::vector<float> low;  // d
  float scale = 1;

  void encode(const float* x, float* out) const { std::copy_n(x, low.size(), out); }
  void encode(const float* x, std::int16_t* out) const {
    for (std::size_t i = 0; i < low.size(); ++i)
      out[i] = static_cast<std::int16_t>(
          std::clamp(scale * (x[i] - low[i]) + 0.5F, 0.0F, static_cast<float>(kLargestShort)));
  }
};

/// Points as they are.
Code plain_code(std::size_t d);

/// 12 bits that span the coordinates of these points.
Code short_code(const Eigen::Ref<const PointRows>& points);

/// From points to sketches: sums of neighbouring coordinates, as floats or as floor(scale·(mean − low) + offset) in
/// bytes. |Σ_g (a − b)| summed over groups g is at most |a − b|₁, so points whose sketches are far apart are far apart.
/// The offsets differ by group and are the same for all points, which makes the distance of bytes right on average over
/// the groups, however close the points are (docs/algorithms/sma.md).
struct Sketch {
  std::vector<Index> group_of;  // d
  std::vector<float> shift;     // G: added to a scaled sum
  float scale = 1;              // of the sums, and so of distances
  float slack = 0;              // by how much rounding may raise a distance of sketches

  template <class T>
  void encode(const float* x, T* out) const {
    std::array<float, kSketch> sums{};
    for (std::size_t i = 0; i < group_of.size(); ++i) sums[group_of[i]] += x[i];
    for (std::size_t g = 0; g < shift.size(); ++g) {
      const float code = scale * sums[g] + shift[g];
      if constexpr (sizeof(T) == 1)
        out[g] = static_cast<T>(std::clamp(code, 0.0F, 255.0F));
      else
        out[g] = code;
    }
  }
};

/// Sketches in floats.
Sketch plain_sketch(std::size_t d, const MeanShiftOptions& options);

/// The same in bytes that span the sums of all points. A group's rounding error has a variance of at most 1/4.
Sketch byte_sketch(Sketch sketch, const Rows<float>& points);

}  // namespace sinew::points
