#include "sinew/refine/reduce.h"

#include <fmt/format.h>

#include <utility>

#include "sinew/core/error.h"
#include "sinew/core/fit_report.h"
#include "sinew/evaluate/errors.h"
#include "sinew/solve/ssdr.h"

namespace sinew {
namespace {

constexpr double kNothingLost = 0.01;    // E_RMS that no fit need lower
constexpr int kMostRefitInfluences = 8;  // that refit_ssdr takes

/// Whether fitting anew can be tried: it takes few influences, and rest poses that do not change.
bool can_refit(const Rig& rig, const ReduceOptions& options) {
  return options.influences <= kMostRefitInfluences && !rig.corrections && rig.frame_count() > 1;
}

/// The rig with its weights and, where it `moves`, the motion of its bones fitted to the target.
Rig refitted(const Rig& reduced, const Sequence& target, bool moves, const ReduceOptions& options,
             const Progress& progress) {
  RefitOptions refit;
  refit.part = moves ? RefitPart::all : RefitPart::weights;
  refit.solver.influences = options.influences;
  refit.solver.transforms = reduced.transforms;
  refit.solver.threads = options.threads;
  FitReport fit;
  const Rig fitted = refit_ssdr(target, reduced, refit, fit, progress);
  if (fit.termination == Termination::cancelled)
    throw Error(ErrorKind::interrupted, "interrupted while the reduced rig was fitted anew");
  Rig out = reduced;
  out.weights = fitted.weights;
  if (moves) out.motion = fitted.motion;
  return out;
}

}  // namespace

Refit refit_called(std::string_view name) {
  if (name == "auto") return Refit::automatic;
  if (name == "always") return Refit::always;
  if (name == "never") return Refit::never;
  if (name == "weights") return Refit::weights;
  throw Error(ErrorKind::usage, fmt::format("refit: '{}' given, auto, always, never or weights is expected", name));
}

Rig reduce(const Rig& rig, const Sequence* examples, const ReduceOptions& options, Refit refit, ReduceReport& report,
           const Progress& progress) {
  report = {};
  const bool can = can_refit(rig, options);
  if (refit == Refit::always && !can)
    throw Error(ErrorKind::usage,
                fmt::format("a rig is fitted anew with at most {} influences, several frames and no corrections; this "
                            "one was to have {} influences, and has {} frames and {} corrections",
                            kMostRefitInfluences, options.influences, rig.frame_count(),
                            rig.corrections ? rig.corrections->rank() : 0));
  const Sequence own = examples == nullptr ? pose_all(rig) : Sequence{};
  const Sequence& target = examples == nullptr ? own : *examples;
  Rig cut = rig;
  cut.weights = reduce_weights(rig, &target, options, progress);
  report.e_rms_cut = evaluate(cut, target, options.threads).e_rms;
  const bool must_pay = refit != Refit::always;
  if (refit == Refit::never || !can || (must_pay && report.e_rms_cut < kNothingLost)) return cut;
  Rig fitted = refitted(cut, target, !rig.jointed && refit != Refit::weights, options, progress);
  if (must_pay && !(evaluate(fitted, target, options.threads).e_rms < report.e_rms_cut)) return cut;
  report.refitted = true;
  return fitted;
}

}  // namespace sinew
