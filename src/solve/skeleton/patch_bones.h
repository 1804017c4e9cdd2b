#pragma once

#include "solve/skeleton/start.h"

/// Free bones of a motion that was made by bones: they are the rigid motions of small patches from which all others
/// can be blended.
namespace sinew::skeleton {

struct PatchBones {
  SkeletonFit fit;   // free bones
  double noise = 0;  // E_RMS by which patches that hardly bend are away from rigid
};

/// At most `most` free bones. A blend of rigid motions lies between them, so the patch that the convex combinations of
/// those chosen so far explain worst moves as a bone of its own: it is taken next, until all are explained.
/// `empty` says how weights are solved for. The same whatever the seed and the clusters.
PatchBones patch_bones(const Whole& whole, int most, const SkeletonFit& empty);

}  // namespace sinew::skeleton
