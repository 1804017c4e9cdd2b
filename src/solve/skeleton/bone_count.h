#pragma once

#include "solve/skeleton/start.h"

namespace sinew::skeleton {

/// The name of the search for the number of bones in a checkpoint.
inline constexpr const char* kFindNumber = "number of bones";

/// As many bones as the error asks for, where the motion put them. Which bones remain when others are dropped depends
/// on the way there, so the number that remains is started from anew; then more may go, and one fewer is started from.
/// Where one fewer will not do, a few more are tried. False: asked to stop.
bool find_number(const Whole& whole, const SkeletonOptions& options, const Progress& progress, const SkeletonFit& empty,
                 SkeletonFit& fit);

}  // namespace sinew::skeleton
