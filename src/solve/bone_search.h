#pragma once

#include <cstdint>

#include "solve/fitter.h"

namespace sinew {

/// Moves of whole bones that alternation cannot make.
struct SearchOptions {
  RunOptions run;   // of the convergence after each move; its `after` is called there too
  int rounds = 12;  // moves tried
  std::uint64_t seed = 1;
};

/// Adds a few bones where they would gain most, lets all settle, takes away as many that matter least, and keeps the
/// result if the objective fell ("breathing"). The number of bones stays. Returns false when asked to stop.
bool search_bones(const Problem& problem, const SearchOptions& options, FitState& state);

/// `count` motions that would lower the objective most if added: rigid or affine fits of patches around vertices with
/// large residuals, the best of several candidates each time.
Eigen::MatrixXd propose_bones(const Problem& problem, const FitState& state, int count, Transforms transforms,
                              std::uint64_t seed);

/// Takes bones away until `bones` remain, always the one whose absence costs least, with a few iterations after each.
bool shrink(const Problem& problem, const RunOptions& run, int bones, FitState& state);

}  // namespace sinew
