#pragma once

#include "sinew/core/rig.h"
#include "sinew/core/sequence.h"

namespace sinew::tool {

/// The rig with at most that many influences per vertex, fitted anew to the target where that is better: what `sinew
/// reduce` makes by default.
Rig with_influences(const Rig& rig, const Sequence& target, int influences, int threads);

}  // namespace sinew::tool
