#pragma once

#include "sinew/core/fit_report.h"
#include "sinew/core/rig.h"
#include "sinew/solve/skeleton.h"
#include "solve/skeleton/skeleton_fit.h"

namespace sinew::skeleton {

/// From a fitted tree to the skeleton that is handed out: rooted at the pelvis, or as the options ask, bones depth
/// first with names by place (anatomy.h) and tails at the next joint or the tip of what they move, motion exactly as
/// the joints allow. Says in the remark of the report, where that is empty, what told left from right if not glTF's
/// convention. Throws Error{usage} when the options name a root that does not exist.
Rig lay_out_skeleton(const Sequence& sequence, const SkeletonFit& fit, const SkeletonOptions& options,
                     FitReport& report);

}  // namespace sinew::skeleton
