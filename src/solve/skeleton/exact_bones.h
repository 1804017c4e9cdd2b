#pragma once

#include <vector>

#include "sinew/core/fit_report.h"
#include "solve/skeleton/start.h"

/// Bones of a motion that was made by bones: as many as it has, where it has them.
namespace sinew::skeleton {

/// The name of the search for exact bones in a checkpoint.
inline constexpr const char* kExactBones = "exact bones";

enum class ExactEnd { found, not_exact, stopped };

struct ExactBones {
  ExactEnd end = ExactEnd::not_exact;
  std::vector<SearchRecord> curve;  // of the errors that fewer and fewer free bones leave, where a skeleton was found
};

/// From the rigid motions of patches to a skeleton. Free bones go while the motion is told more briefly without them;
/// those that stay get joints, and again those go that are not needed. `fit` says how weights are solved for at first
/// and is the skeleton where one was found. Motions that no few bones explain end early.
ExactBones find_exact_bones(const Whole& whole, const SkeletonOptions& options, const Progress& progress,
                            SkeletonFit& fit);

}  // namespace sinew::skeleton
