#pragma once

#include <string_view>

#include "sinew/core/progress.h"
#include "sinew/core/rig.h"
#include "sinew/core/sequence.h"
#include "sinew/refine/reduce_weights.h"

namespace sinew {

/// Whether a rig with fewer influences is then fitted anew to what it is to do: its weights and, where bones are free,
/// their motion.
enum class Refit {
  automatic,  // where that lowers the error
  always,
  never,
  weights,  // as automatic, but the motion stays, for what else depends on it
};

/// By name: auto, always, never or weights. Throws Error{usage} for a name that is none of these.
Refit refit_called(std::string_view name);

struct ReduceReport {
  double e_rms_cut = 0;   // E_RMS with the weights cut alone
  bool refitted = false;  // the rig is the one that was fitted anew
};

/// A rig with at most K influences per vertex: reduce_weights, and refit_ssdr where that is wanted and pays. `examples`
/// are the frames that correspond to the rig's motion; null: those that the rig itself poses. Only rigs without
/// corrections, with several frames and for K <= 8 can be fitted anew.
/// Throws what reduce_weights throws, and Error{usage} for `always` where it cannot be done.
Rig reduce(const Rig& rig, const Sequence* examples, const ReduceOptions& options, Refit refit, ReduceReport& report,
           const Progress& progress = {});

}  // namespace sinew
