#pragma once

#include <string>

#include "sinew/core/checkpoint.h"
#include "solve/skeleton/skeleton_fit.h"

namespace sinew::skeleton {

/// Adds a skeleton to the arrays of a checkpoint, under names that begin with `prefix`.
void save_skeleton(const SkeletonFit& fit, const std::string& prefix, SavedArrays& arrays);

/// Takes up a saved skeleton; the sums are those of its weights again. Throws Error{input} where it is not one.
void take_skeleton(const SavedArrays& arrays, const std::string& prefix, SkeletonFit& fit);

}  // namespace sinew::skeleton
