#include "solve/skeleton/open_number.h"

#include <algorithm>

#include "solve/skeleton/error_curve.h"

namespace sinew::skeleton {
namespace {

constexpr std::size_t kMostClusters = 256;  // to which they are doubled where the curve wants more bones than it has
constexpr double kFreeBonesLeave = 0.8;     // of the error that as many bones with joints leave

/// What errors are told to, E_RMS. At 1, a millimetre or two on a person, a difference can just be seen.
double precision_of(Detail detail) {
  return detail == Detail::low ? 3.0 : detail == Detail::high ? 0.5 : 1.5;
}

double bone_factor(Detail detail) {
  return detail == Detail::low ? 1.5 : detail == Detail::high ? 0.7 : 1.0;
}

/// The fewest bones of the curve from which an error may be reached.
int fewest_for(const ErrorCurve& curve, double e_rms) {
  const auto found = std::find_if(curve.points.begin(), curve.points.end(),
                                  [&](const SearchRecord& point) { return point.e_rms <= kFreeBonesLeave * e_rms; });
  return found == curve.points.end() ? curve.points.back().bones : found->bones;
}

}  // namespace

OpenNumber open_number(const Whole& whole, const SkeletonOptions& options, const SkeletonFit& empty) {
  DescriptionLength length{
      {}, static_cast<double>(empty.problem->frame_count()), precision_of(options.detail), bone_factor(options.detail)};
  OpenNumber out;
  // Twice as many clusters where the curve has hardly more bones than it asks for.
  for (auto clusters = static_cast<std::size_t>(options.clusters);; clusters *= 2) {
    length.curve = error_curve(whole, clusters, empty);
    out.bones = options.max_error > 0 ? fewest_for(length.curve, options.max_error) : length.best();
    const bool enough = 3 * out.bones <= 2 * length.curve.points.back().bones;
    if (enough || 2 * clusters > std::min(kMostClusters, empty.problem->vertex_count() / 8)) break;
  }
  out.curve = std::move(length.curve.points);
  return out;
}

}  // namespace sinew::skeleton
