#pragma once

#include "math/mirror.h"
#include "sinew/solve/skeleton.h"
#include "solve/skeleton/skeleton_fit.h"

/// What a person would not keep in a fitted skeleton, taken out where the motion hardly minds.
namespace sinew::skeleton {

/// Even and spread joints as far as the options allow, and a last convergence: an error that is asked for holds.
void tidy(const SkeletonOptions& options, SkeletonFit& fit);

/// Takes out bones that are no vertex's largest influence, and one of two whose joints are nearer than 1 % of the
/// diagonal, while each raises E_RMS by at most a twentieth or by less than can be seen. Returns how many went.
int drop_idle_bones(SkeletonFit& fit);

/// Hangs bones that mirror each other from bones that do as well, and bones across the plane from such, where that
/// raises E_RMS by at most a twentieth in all. Returns how many hang from another bone than before.
int hang_evenly(SkeletonFit& fit, const MirrorPlane& plane);

/// Moves joints that are nearer than 1 % of the diagonal apart, along the direction that the motion cares for least,
/// where that raises E_RMS by at most a fiftieth. Joints stay from then on. Returns how many pairs are left.
int spread_joints(SkeletonFit& fit);

/// Pairs of bones that mirror each other, with all they hang from, get joints that do as well, and bones on the plane
/// joints on it, where that raises E_RMS by at most a twentieth. Bones without such a partner are left alone. Sets
/// SkeletonFit::symmetry; joints stay from then on.
void even_joints(SkeletonFit& fit, const MirrorPlane& plane);

}  // namespace sinew::skeleton
