#pragma once

#include <vector>

#include "pack/budget.h"
#include "pack/precision.h"
#include "sinew/core/rig.h"

namespace sinew::pack {

/// The finest rounding of every part.
Precision finest(const Rig& rig);

/// The ways to round each part of a rig, the first rung of each is `base`.
std::vector<Ladder> ladders_of(const Rig& rig, const Precision& base);

}  // namespace sinew::pack
