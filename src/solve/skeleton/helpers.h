#pragma once

#include "sinew/core/progress.h"
#include "sinew/solve/skeleton.h"
#include "solve/skeleton/skeleton_fit.h"

/// Helper bones: free ones that hang on the bones of a finished skeleton where that cannot follow.
namespace sinew::skeleton {

/// Adds `options.helpers` bones where they gain most, and lets weights, helpers and rotations settle with joints that
/// stay. Helpers come last, are called helper_1, …, and hang on the bone that sees them move least. False: asked to
/// stop.
bool add_helpers(const Sequence& sequence, const Problem& problem, const EdgeWeights& edges,
                 const SkeletonOptions& options, const Progress& progress, Rig& rig);

/// How far from its head what a bone moves is, on average.
double reach(const Rig& rig, std::size_t bone);

/// How well helpers follow the joints: E_RMS of the rig.
struct DriveErrors {
  double free = 0;      // helpers that move as they were fitted
  double fitted = 0;    // helpers driven by the joints, in the frames that the drive was fitted to
  double left_out = 0;  // the same in frames that it was not fitted to
};

std::string sentence_about(const DriveErrors& errors);

/// Sets Rig::drives: every helper's motion as a sparse linear function of the joints' rotations.
DriveErrors drive_helpers(const Sequence& sequence, Rig& rig, int threads);

}  // namespace sinew::skeleton
