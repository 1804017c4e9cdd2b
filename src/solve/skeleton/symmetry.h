#pragma once

#include "sinew/core/sequence.h"
#include "solve/skeleton/skeleton_fit.h"

/// Skeletons with a mirror plane. The motion need not be symmetric: what one side shows, the other learns, for every
/// frame is joined by its mirror image while the skeleton is looked for.
namespace sinew::skeleton {

/// The mirror plane of a rest shape in the input's unit. Throws Error{input}, which says what was measured, where it
/// has none.
MirrorPlane required_mirror_plane(const Sequence& sequence);

/// The sequence, then the mirror image of each of its frames: frame F + f mirrors frame f.
Sequence with_mirrored_frames(const Sequence& sequence, const MirrorPlane& plane);

/// Makes a skeleton of such a sequence symmetric: the better of the one whose right half mirrors its left and the one
/// whose left half mirrors its right, with at most `most` bones (0: no limit). Sets SkeletonFit::symmetry.
void make_symmetric(SkeletonFit& rig, const MirrorPlane& plane, int most);

/// For every bone the one whose weights are most like its mirrored ones, where that is mutual, else −1; a bone across
/// the plane is its own. `plane` in the problem's units.
std::vector<int> mirrored_bones(const SkeletonFit& fit, const MirrorPlane& plane);

/// A skeleton of the sequence with its mirror image as one of the sequence alone: `rig` has the problem; joints stay.
void take_first_half(const SkeletonFit& both, SkeletonFit& rig);

}  // namespace sinew::skeleton
