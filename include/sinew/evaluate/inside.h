#pragma once

#include <string>
#include <vector>

#include "sinew/core/rig.h"

namespace sinew {

/// How much of a skeleton lies inside the body it moves, in one pose.
///
/// Inside is where the generalised winding number of the surface is above a half in size: open meshes and several
/// components have a reading too. Joints are where a bone meets its parent, the head of a root is none. Length is that
/// of the bones as drawn: from a head to the heads of its children, from the head of a bone without children to its
/// tail.
struct Inside {
  int joints = 0;
  double joint_share = 1;    // of the joints that lie inside; 1 where there are none
  double length_share = 1;   // of the bones' length
  double worst_percent = 0;  // how far outside the worst joint is, % of the rest diagonal
  std::string worst_joint;   // the bone below it; empty where none is outside
};

/// In the rest pose.
Inside inside_at_rest(const Rig& rig);

/// In a frame: the posed mesh, and heads where their bones carry them.
Inside inside_in_frame(const Rig& rig, std::size_t frame);

/// The least of each share and the worst joint over at most `most` frames, evenly spread.
Inside inside_when_posed(const Rig& rig, std::size_t most = 3);

}  // namespace sinew
