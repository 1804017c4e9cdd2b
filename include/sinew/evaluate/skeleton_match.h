#pragma once

#include <string>
#include <vector>

#include "sinew/core/rig.h"

namespace sinew {

/// One joint of a known rig and what was found of it.
struct JointMatch {
  std::string name;     // of the known bone below the joint
  double degrees = 0;   // largest rotation of that bone against its parent, from the rest pose
  double slide = 0;     // largest distance between where the two bones carry the joint, % of the rest diagonal
  bool turns = true;    // slide <= slide_percent: what slides is no joint of a rotation, and does not count
  double percent = 0;   // distance to the nearest recovered joint, % of the rest diagonal
  std::string nearest;  // name of the recovered bone below that joint
  bool near = false;    // percent <= near_percent, whatever else is near that recovered joint
  std::string matched;  // name of the recovered bone below the joint that is its own, one to one; empty: none
  bool found = false;   // there is one
};

/// How well a recovered skeleton agrees with a known one.
struct SkeletonMatch {
  std::vector<JointMatch> joints;  // known joints that bend, in the known rig's order
  int known_joints = 0;            // of them that turn
  int recovered_joints = 0;
  double recall = 0;            // share of the known joints that were found, one to one
  double precision = 0;         // share of the recovered joints that have a known joint of their own
  double near_recall = 0;       // share of the known joints that have any recovered joint near
  double near_precision = 0;    // share of the recovered joints that have any known joint near
  double parent_agreement = 0;  // share of the known edges between found joints that the recovered tree has too
};

struct SkeletonMatchOptions {
  double tolerance_percent = 2;  // between a known and a recovered joint that are matched, of the diagonal
  double near_percent = 3;       // the same where one joint may be near several
  double slide_percent = 3;      // a known joint that slides by more does not turn
  double least_degrees = 5;      // a known joint counts when degrees > least_degrees
};

/// Compares joints in the rest pose where both rigs have the same, else over all frames as their bones carry them (mean
/// distance). A joint is where a bone meets its parent. Bones that never move against each other are one body with
/// the joint of the uppermost; a bone without vertices is also one with what hangs rigidly from it at an angle that
/// only the rest pose has. A known joint counts when it bends and does not slide, its body influences vertices, and
/// some vertices do not follow it (a joint that carries the whole mesh cannot be seen in the motion). Matching is one
/// to one: as many pairs within the tolerance as there can be, of least total distance; first for the joints that
/// count, then, for precision, for the other known joints and the recovered ones left. An edge of the known tree joins
/// a found joint to the nearest found one above it; the recovered tree has it when no third found joint lies between
/// the two, whatever its root. A share of nothing is 1.
SkeletonMatch match_skeletons(const Rig& recovered, const Rig& known, const SkeletonMatchOptions& options = {});

}  // namespace sinew
