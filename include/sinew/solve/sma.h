#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sinew/core/checkpoint.h"
#include "sinew/core/fit_report.h"
#include "sinew/core/progress.h"
#include "sinew/core/rig.h"
#include "sinew/core/sequence.h"

namespace sinew {

/// How the weights of a vertex are solved [JamesTwigg2005 §5.2].
enum class SmaWeights {
  nnls,     // non-negative
  bounded,  // at least -negative_bound (eq. 11)
  tsvd,     // any sign, truncated singular values
};

struct SmaOptions {
  double epsilon = 0.05;  // rotation tolerance: the kernel's radius is 9Fε in the 1-norm; 0 < ε <= 2
  int bones = 0;          // > 0: search the ε that gives this many, starting from `epsilon`
  int influences = 4;     // β, 1..B; 0: all bones
  Transforms transforms = Transforms::affine;  // flexible bones; rigid: rotations and translations
  SmaWeights weights = SmaWeights::nnls;
  double negative_bound = 0;  // δ >= 0 of SmaWeights::bounded
  int iterations = 5;         // rounds of refitting bones to weights and weights to bones; 0: as in the paper
  int threads = 0;
  Checkpoint* checkpoint = nullptr;  // where the state is kept now and then
};

/// Skinning mesh animations [JamesTwigg2005]: triangles whose rotation sequences cluster under mean shift give the
/// bones, each bone is fitted to its core triangles, each vertex picks the β bones that predict it best alone (eq. 5)
/// and gets least-squares weights. Then, beyond the paper, bones and weights are refitted to each other `iterations`
/// times, as long as it helps. Notation and where we differ from the paper: docs/algorithms/sma.md
///
/// Negative weights (tsvd, bounded) are written as a convex rig with scaled and mirrored helper bones:
/// docs/algorithms/sma.md. Rig::notes holds near-rigid fraction, core shares, corners of cores and ε as
/// JSON.
/// Throws Error{usage} for options out of range, Error{input} for a sequence without a usable triangle,
/// Error{interrupted}.
Rig solve_sma(const Sequence& sequence, const SmaOptions& options, FitReport& report, const Progress& progress = {});

/// The same weights for given bones (§5): keeps the motion of `given`, replaces its weights. Corrections of the given
/// rig are dropped. Throws Error{input} when the rig and the sequence differ in vertices or frames.
Rig fit_sma_weights(const Sequence& sequence, const Rig& given, const SmaOptions& options, FitReport& report,
                    const Progress& progress = {});

}  // namespace sinew
