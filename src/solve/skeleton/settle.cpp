#include "solve/skeleton/settle.h"

#include "sinew/core/error.h"
#include "solve/skeleton/moves.h"
#include "solve/skeleton/saved.h"

namespace sinew::skeleton {

namespace {

constexpr int kLoosenings = 10;                      // at most, of the influences of all vertices, at the end
constexpr double kLoosenGain = 5e-4;                 // of the error, for which another follows
constexpr int kLoosenRounds = 12;                    // before and after each
constexpr const char* kSettleAll = "settle joints";  // loops of a checkpoint

}  // namespace

RunEnd settle_all(SkeletonFit& fit, const SkeletonOptions& options, const RoundDone& done) {
  const int most = options.moves > 0 ? kLoosenings : 0;
  int loosenings = 0;
  if (const auto saved = resume(options.checkpoint, kSettleAll)) {
    const int bones = fit.state.bones();
    take_skeleton(saved->arrays, "", fit);
    if (fit.state.bones() != bones) throw Error(ErrorKind::input, "checkpoint: it is of a fit with other bones");
    loosenings = std::min(most, static_cast<int>(saved->step));
  } else if (converge(fit, kLoosenRounds, done) == RunEnd::stopped) {
    return RunEnd::stopped;
  }
  const auto keep_place = [&] {
    keep(options.checkpoint, kSettleAll, loosenings, [&](SavedArrays& arrays) { save_skeleton(fit, "", arrays); });
  };
  keep_place();
  while (loosenings < most) {
    SkeletonFit tried = fit;
    loosen(tried);
    if (converge(tried, kLoosenRounds, done) == RunEnd::stopped) {
      keep_place();
      return RunEnd::stopped;
    }
    const double gained = 1 - tried.e_rms() / fit.e_rms();
    if (gained > 0) fit = std::move(tried);
    loosenings = gained < kLoosenGain ? most : loosenings + 1;
    keep_place();
  }
  return converge(fit, options.strict_iterations, done);
}

}  // namespace sinew::skeleton
