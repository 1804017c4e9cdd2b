#pragma once

#include <cstddef>
#include <vector>

#include "solve/sma/triangles.h"

namespace sinew::sma {

/// Core triangles of every bone (§4.2).
struct Cores {
  double epsilon = 0;
  double near_rigid_fraction = 0;  // η: share of the triangles that belong to a significant mode
  std::vector<int> bone_of;        // n: bone, or -1
  std::vector<std::size_t> sizes;  // B
  std::size_t steps = 0;           // of the mean shift

  std::size_t bones() const { return sizes.size(); }
};
/// Triangles that a mode needs to count as a bone: 0.24 % of all, at least 40 where that is under 2 %.
std::size_t significant_size(std::size_t triangles);
Cores find_cores(const Triangles& triangles, double epsilon, int threads, const Progress& progress);

/// Takes apart cores whose connected parts turn alike but move differently; parts too small to be bones go.
Cores separate_parts(const Sequence& sequence, const Triangles& triangles, const Cores& cores, int threads);

/// The triangles of bone b, ascending.
std::vector<std::size_t> core_of(const Cores& cores, std::size_t b);

}  // namespace sinew::sma
