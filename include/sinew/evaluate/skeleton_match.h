#pragma once

#include <string>
#include <vector>

#include "sinew/core/rig.h"

namespace sinew {

/// One joint of a known rig and what was found of it.
struct JointMatch {
  std::string name;     // of the known bone below the joint
  double degrees = 0;   // largest rotation of that bone against its parent, from the rest pose
  double percent = 0;   // distance to the nearest recovered joint, % of the rest diagonal
  std::string nearest;  // name of the recovered bone below that joint
  bool found = false;   // percent <= the tolerance
};

/// How well a recovered skeleton agrees with a known one.
struct SkeletonMatch {
  std::vector<JointMatch> joints;  // known joints that count, in the known rig's order
  int recovered_joints = 0;
  double recall = 0;            // share of the known joints that were found
  double precision = 0;         // share of the recovered joints that lie within the tolerance of a known joint
  double parent_agreement = 0;  // share of the known edges between found joints that the recovered tree has too
};

struct SkeletonMatchOptions {
  double tolerance_percent = 3;  // a joint counts as found when percent <= tolerance_percent
  double least_degrees = 5;      // a known joint counts when degrees > least_degrees
};

/// Compares joints in the rest pose. A joint is where a bone meets its parent. A known joint counts when it bends, its
/// bone influences vertices, and some vertices do not follow it (a joint that carries the whole mesh cannot be seen in
/// the motion). Precision accepts any known joint, bending or not. An edge of the known tree joins a found joint to the
/// nearest found one above it; the recovered tree has it when no third found joint lies between the two, whatever its
/// root. Both rigs must have the same rest coordinates. A share of nothing is 1.
SkeletonMatch match_skeletons(const Rig& recovered, const Rig& known, const SkeletonMatchOptions& options = {});

}  // namespace sinew
