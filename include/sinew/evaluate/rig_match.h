#pragma once

#include <vector>

#include "sinew/core/rig.h"

namespace sinew {

/// How far weights and transforms of a rig are from those of a known rig of the same mesh over the same frames,
/// whatever the order of the bones. Absolute differences, averaged, as [Liu2020] gives them: transforms are rest→posed,
/// so their last column is in the unit of the mesh.
struct RigMatch {
  std::vector<int> partner;           // for each known bone the bone that has its weights most nearly, or -1
  double weight_error = 0;            // mean over vertices and known bones
  double transform_error = 0;         // mean over the 12·F entries of the known bones that have a partner
  double vertex_transform_error = 0;  // mean over the 12·F entries of the blended transform of each vertex
};

/// Bones are paired one to one, so that the sum of squared differences of the weights is least; a known bone without a
/// partner is compared with weights of zero. Throws Error{input} when vertices or frames differ in number.
RigMatch match_rigs(const Rig& found, const Rig& known);

}  // namespace sinew
