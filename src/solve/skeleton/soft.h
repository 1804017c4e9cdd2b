#pragma once

#include "sinew/core/progress.h"
#include "solve/skeleton/skeleton_fit.h"

/// Joints that hold softly [Le2014 §3.3].
namespace sinew::skeleton {

/// Iterative rigging with soft joints of growing weight [§3.3, §3.8.3]; bones whose weights degenerate are pruned
/// [§3.9] while there are more than `fewest`. False: asked to stop.
bool soft_rigging(SkeletonFit& fit, int iterations, int fewest, const Progress& progress);

}  // namespace sinew::skeleton
