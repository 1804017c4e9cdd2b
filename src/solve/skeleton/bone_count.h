#pragma once

#include "sinew/core/fit_report.h"
#include "solve/skeleton/start.h"

namespace sinew::skeleton {

/// The name of the search for the number of bones in a checkpoint.
inline constexpr const char* kFindNumber = "number of bones";

/// As many bones as the motion asks for: from more than are needed down one path, the cheapest bone dropped each time
/// and the rest fitted anew; the curve of error against bones goes to the report, and the model with the shortest
/// description stays, or the smallest that reaches the error asked for. False: asked to stop.
bool find_number(const SkeletonOptions& options, FitReport& report, const Progress& progress, SkeletonFit& fit);

}  // namespace sinew::skeleton
