#pragma once

#include <cstdint>

#include "sinew/core/checkpoint.h"
#include "sinew/core/fit_report.h"
#include "sinew/core/progress.h"
#include "sinew/core/quality.h"
#include "sinew/core/rig.h"
#include "sinew/core/sequence.h"

namespace sinew {

/// How the closest flat is found: the paper's alternation, or variable projection with Gauss–Newton.
enum class FlatSolver { alternating, gauss_newton };

struct FlatsOptions {
  int bones = 20;        // h, >= 1; the report says how many came out and why if fewer
  double max_error = 0;  // > 0: the smallest number of bones whose flat has at most this E_RMS, instead of `bones`
  int max_bones = 128;   // bound of that search
  int influences = 0;    // K, bones per vertex; 0: any number (dense convex weights)
  FlatSolver solver = FlatSolver::gauss_newton;
  int alternations = 4;     // of the paper's alternation: all of it, or before Gauss–Newton
  int max_steps = 40;       // Gauss–Newton steps
  int max_inner = 50;       // conjugate gradient iterations per step
  int max_products = 0;     // conjugate gradient iterations of a run in all; 0: 40 per bone, at least 700
  double tolerance = 1e-3;  // stop when twice running (e[n-1] - e[n]) <= tolerance·e[n-1]
  double quantile = 0.5;    // fraction of the one-ring maps that the first start uses
  int max_starts = 1;       // > 1: further starts from random subsets of the maps, the poor ones given up early
  double start_work = 0;    // bound on the multiply-adds of all starts together; too little for 16: only the first
  double outliers = -1;  // fraction of vertices that may lie beyond each facet of the simplex; < 0: the smallest of a
                         // few that keeps the float model's error within 5 % + 1e-4 of the flat's
  bool optimize_rest = false;  // move the rest pose as well (§4.2); the rig then has its own rest positions
  std::uint64_t seed = 1;
  int threads = 0;                   // 0: all cores; the result does not depend on it
  Checkpoint* checkpoint = nullptr;  // where the state is kept now and then
};

/// Steps, products and starts that a quality stands for; the other options stay.
void set_quality(FlatsOptions& options, Quality quality);

/// Hyperspectral inverse skinning [Liu2020]: the closest flat to all vertices in the space of transforms, then the
/// simplex of least volume around them. Affine bones, dense convex weights (or K-sparse ones fitted afterwards).
///
/// Derivation and where we differ from the paper: docs/algorithms/flats.md
/// When `progress` asks to stop the best model so far is returned and the report says so.
/// Throws Error{usage} for options out of range, Error{input} for what Sequence::check refuses.
/// Memory: 8·V·(7r + 6h + h²/2) and 400·F² bytes beyond the input, r <= 3F the reduced coordinates. Frames in a file
/// stay there; they are passed over five times, and twice for each simplex that is tried.
Rig solve_flats(const Sequence& sequence, const FlatsOptions& options, FitReport& report,
                const Progress& progress = {});

}  // namespace sinew
