#pragma once

#include <array>
#include <string>
#include <vector>

#include "sinew/core/rig.h"
#include "sinew/core/types.h"

namespace sinew {

/// How the free bones of a rig follow named sliders, e.g. those of a face: a sparse linear map.
///
/// Where sliders have values x, bone b moves by y = Σ_s x_s · by(b, s) over the entries that there are. Its head goes
/// by the first three numbers of y. A rigid bone turns about its head by the next three, a rotation vector; of an
/// affine one the next nine are added to its linear part about its head, column by column. All sliders at 0: the rest
/// pose.
struct SliderMap {
  struct Entry {
    Index bone = 0;
    Index slider = 0;
    std::array<float, 12> by{};  // of rigid bones the first six count
  };
  Transforms transforms = Transforms::rigid;
  std::vector<std::string> names;  // S, distinct
  std::vector<Entry> entries;      // ordered by bone, then by slider; a pair at most once

  std::size_t slider_count() const { return names.size(); }
  /// How many numbers of an entry count.
  std::size_t width() const { return transforms == Transforms::rigid ? 6 : 12; }
  /// Throws Error{input} with a sentence that names the first violation; `name` stands for the map in it.
  void check(std::size_t bones, const std::string& name = "sliders") const;
};

/// Transforms of the bones where the sliders have the values of each row of an N×S matrix: N frames.
Motion slider_motion(const SliderMap& map, const std::vector<Bone>& bones, const Eigen::MatrixXf& values);

}  // namespace sinew
