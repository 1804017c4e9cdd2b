#include "solve/skeleton/reach_error.h"

#include <algorithm>

#include "solve/skeleton/moves.h"
#include "solve/skeleton/strict.h"

namespace sinew::skeleton {
namespace {

constexpr double kHardlyRises = 1.03;  // of the error, for which a bone is dropped without settling the others
constexpr int kMostForError = 256;     // bones that are added
constexpr int kDropRounds = 10;        // before a skeleton with a bone fewer is judged

/// Takes away bones, that which costs least first, while those left leave no more than an E_RMS.
void drop_cheap_bones(double e_rms, SkeletonFit& fit, const Progress& progress) {
  while (fit.state.bones() > 1 && tell(progress, "search", 0)) {
    SkeletonFit fewer = fit;
    shrink_to(fewer, fit.state.bones() - 1);
    if (fewer.e_rms() > kHardlyRises * fit.e_rms()) converge(fewer, kDropRounds);
    if (fewer.e_rms() > e_rms) return;
    fit = std::move(fewer);
  }
}

}  // namespace

bool reach_error(const Whole& whole, const SkeletonOptions& options, int bones, double e_rms, const Progress& progress,
                 const SkeletonFit& empty, SkeletonFit& fit) {
  Starts starts(whole, options, empty);
  while (true) {
    if (!starts.start_with(bones, progress, fit)) return false;
    if (fit.e_rms() <= e_rms || bones >= kMostForError) break;
    bones += std::max(1, bones / 6);
  }
  drop_cheap_bones(e_rms, fit, progress);
  return tell(progress, "search", 1);
}

}  // namespace sinew::skeleton
