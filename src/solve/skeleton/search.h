#pragma once

#include <cstdint>

#include "sinew/core/checkpoint.h"
#include "sinew/core/progress.h"
#include "solve/skeleton/skeleton_fit.h"

namespace sinew::skeleton {

/// Tries moves in turn: bones added where they gain most and as many taken away where that costs least, edges
/// exchanged, influences loosened for a while. Goes on from results that are a little worse than the best, less and
/// less so. The number of bones stays. The checkpoint may be null. False: asked to stop.
bool search_skeleton(SkeletonFit& best, int moves, std::uint64_t seed, Checkpoint* checkpoint,
                     const Progress& progress);

/// The name of that loop in a checkpoint.
inline constexpr const char* kSkeletonSearch = "search skeleton";

}  // namespace sinew::skeleton
