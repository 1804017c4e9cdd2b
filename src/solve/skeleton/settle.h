#pragma once

#include "sinew/solve/skeleton.h"
#include "solve/skeleton/strict.h"

namespace sinew::skeleton {

/// Settles under strict joints, influences loosened a few times on the way. Says how the last of it ended.
RunEnd settle_all(SkeletonFit& fit, const SkeletonOptions& options, const RoundDone& done);

}  // namespace sinew::skeleton
