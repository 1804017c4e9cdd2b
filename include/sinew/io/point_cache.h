#pragma once

#include <string>
#include <vector>

#include "sinew/core/sequence.h"

namespace sinew {

/// What PC2 and MDD files hold: positions over time, without a mesh.
struct PointCache {
  Frames frames;              // F×V×3
  std::vector<double> times;  // F, seconds, strictly increasing
};

}  // namespace sinew
