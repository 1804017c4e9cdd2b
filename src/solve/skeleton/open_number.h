#pragma once

#include "sinew/core/fit_report.h"
#include "solve/skeleton/start.h"

/// How many bones, where SkeletonOptions::max_bones does not say.
namespace sinew::skeleton {

/// What the error curve of free bones says about a motion.
struct OpenNumber {
  int bones = 1;  // with the shortest description, or the fewest from which SkeletonOptions::max_error may be reached
  std::vector<SearchRecord> curve;
};

/// Reads a number of bones off the error curve, as SkeletonOptions::detail and max_error say.
OpenNumber open_number(const Whole& whole, const SkeletonOptions& options, const SkeletonFit& empty);

}  // namespace sinew::skeleton
