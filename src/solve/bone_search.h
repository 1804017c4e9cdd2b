#pragma once

#include <cstdint>
#include <functional>

#include "solve/fitter.h"

namespace sinew {

/// Moves of whole bones that alternation cannot make.
struct SearchOptions {
  RunOptions run;     // of the iterations after each move
  int rounds = 12;    // moves tried
  int patience = 10;  // stop after so many moves in a row that did not pay
  std::uint64_t seed = 1;
  std::function<bool(double fraction)> keep_going;  // asked after every move; may be empty
  Checkpoint* checkpoint = nullptr;                 // may be null: where the moves are kept, as this phase
  std::string phase;
};

/// Tries moves in turn and keeps what lowers the objective: breathing (add 1, 2, 3 or B/5 bones where they would gain
/// most, let all settle, take away as many that matter least) and loosening (more influences per vertex for a while).
/// The number of bones stays. Returns false when asked to stop.
bool search_bones(const Problem& problem, const SearchOptions& options, FitState& state);

/// The `count` vertices nearest to `seed` in the rest pose, ascending.
std::vector<Index> patch_around(const Problem& problem, std::size_t seed, std::size_t count);

/// `count` motions that would lower the objective most if added: rigid or affine fits of patches around vertices with
/// large residuals, the best of several candidates each. `state.sums` must be current.
Eigen::MatrixXd propose_bones(const Problem& problem, const FitState& state, int count, Transforms transforms,
                              std::uint64_t seed);

/// Takes bones away until `bones` remain, always the one whose absence costs least, with a few iterations after each.
void shrink(const Problem& problem, const RunOptions& run, int bones, FitState& state);

}  // namespace sinew
