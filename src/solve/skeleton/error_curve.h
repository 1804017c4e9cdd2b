#pragma once

#include <vector>

#include "sinew/core/fit_report.h"
#include "solve/skeleton/start.h"

/// How many bones a motion asks for, told by the error that free bones leave.
namespace sinew::skeleton {

/// Error against the number of free rigid bones.
struct ErrorCurve {
  std::vector<SearchRecord> points;  // of 1, 2, … bones; never rises
  double patches = 1;                // for every bone, of the surface whose residuals are independent of each other
};

/// From one bone for every cluster, the cheapest go until none is left to spare. Paths differ by chance: the mean of
/// two, of which one begins with half as many clusters again.
ErrorCurve error_curve(const Whole& whole, std::size_t clusters, const SkeletonFit& empty);

/// The number of bones that the description of a motion is shortest with.
///
/// To tell residuals of size E to a precision σ takes ½ ln(1 + E²/σ²) nats each; of the 3F numbers of every vertex
/// those count that are independent, 3F N. A bone is 3 numbers for its rotation in every frame and 3 for its joint, of
/// ½ ln(3F N) nats each. E is measured, and the patches N that a skeleton of a usual size leaves. The sum is flat where
/// it is least, so E is smoothed over B: the local straight line of ln E against ln B.
struct DescriptionLength {
  ErrorCurve curve;
  double frames = 1;
  double precision = 1;  // σ, E_RMS
  double bone = 1;       // times what a bone costs: below 1 for more detail, above for less

  /// The number of bones of the curve with the shortest description.
  int best() const;
};

}  // namespace sinew::skeleton
