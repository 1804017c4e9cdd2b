#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "math/mean_shift.h"
#include "sinew/core/sequence.h"

namespace sinew::sma {

/// The triangles that have a rotation in every frame (§4.1).
struct Triangles {
  std::vector<std::array<Index, 3>> corners;  // n
  std::vector<double> areas;                  // n, in the rest pose
  PointRows rotations;                        // n×9F: row-major 3×3 per frame
  std::size_t degenerate = 0;                 // left out: no area in the rest pose or in some frame
};
Triangles triangle_rotations(const Sequence& sequence, int threads);

}  // namespace sinew::sma
