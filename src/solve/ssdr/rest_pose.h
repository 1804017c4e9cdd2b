#pragma once

#include "sinew/core/rig.h"
#include "sinew/solve/ssdr.h"
#include "solve/lbs/alternation.h"

namespace sinew::ssdr {

using namespace lbs;

/// Alternates between rest positions, one 3×3 least-squares problem per vertex [Kavan2010], and short runs of weights
/// and bones over the moved rest pose. Takes a copy of the frames. The rig has its own rest positions.
Rig with_optimized_rest(const Sequence& sequence, const Problem& problem, const RunOptions& run,
                        const SsdrOptions& options, const FitState& state);

}  // namespace sinew::ssdr
