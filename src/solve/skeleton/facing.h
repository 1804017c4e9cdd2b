#pragma once

#include "math/mirror.h"
#include "sinew/core/sequence.h"
#include "solve/lbs/problem.h"

namespace sinew::skeleton {

/// Which side of its mirror plane is a character's left, and what told.
struct Facing {
  enum class By { feet, travel, convention };
  double left = 1;  // 1: the side that the plane's normal points to, −1: the other
  By by = By::convention;
  Eigen::Vector3d forward = Eigen::Vector3d::UnitZ();  // in the rest pose
};

/// Up is +Y. A character faces where its feet point; without such feet, where it travels; where neither can be told, +Z
/// as glTF has it. `plane` in the problem's units.
Facing facing_of(const Sequence& sequence, const lbs::Problem& problem, const MirrorPlane& plane);

}  // namespace sinew::skeleton
