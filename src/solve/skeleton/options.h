#pragma once

#include "sinew/solve/skeleton.h"

namespace sinew::skeleton {

/// Throws Error{usage} for options out of range.
void check_options(const SkeletonOptions& options);

}  // namespace sinew::skeleton
