#pragma once

#include "sinew/core/fit_report.h"
#include "solve/skeleton/start.h"

namespace sinew::skeleton {

/// The name of the search for exact bones in a checkpoint.
inline constexpr const char* kExactBones = "number of bones";

/// A motion whose bones leave less than this E_RMS counts as made by bones.
inline constexpr double kExact = 0.5;

/// As many bones as explain a motion without rest, where the motion put them; `fit` begins with more than are needed.
/// Which bones remain when others are dropped depends on the way there, so the number that remains is started from
/// anew; then more may go, and one fewer is started from. Where one fewer will not do, a few more are tried. Ends early
/// where bones do not come near such a motion. False: asked to stop.
bool find_exact_bones(const Whole& whole, const SkeletonOptions& options, const Progress& progress,
                      const SkeletonFit& empty, SkeletonFit& fit);

/// Few bones that leave at most an E_RMS; `bones` are started with, then ever more. False: asked to stop.
bool reach_error(const Whole& whole, const SkeletonOptions& options, int bones, double e_rms, const Progress& progress,
                 const SkeletonFit& empty, SkeletonFit& fit);

}  // namespace sinew::skeleton
