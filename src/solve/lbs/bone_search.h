#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "solve/lbs/alternation.h"

namespace sinew::lbs {

/// Moves of whole bones that alternation cannot make.
struct SearchOptions {
  RunOptions run;     // of the iterations after each move
  int starts = 3;     // different ones, of which the best goes on
  int heat = 6;       // moves every start may try before that
  int rounds = 200;   // moves in all at most
  int patience = 24;  // stop after so many moves in a row that lowered the value by less than 0.1 %
  int kicks = 3;      // searches begun anew from the best with a third of its bones exchanged
  std::uint64_t seed = 1;
  std::function<bool(double fraction)> keep_going;  // asked after every move; may be empty
  Checkpoint* checkpoint = nullptr;                 // may be null: where the moves are kept, as this phase
  std::string phase;
};

/// Tries moves in turn and keeps what lowers the objective: more bones, added where they would gain most, and more
/// influences per vertex for a while, until those that matter least are taken away again. Several starts try a few
/// moves each, the best of them goes on until moves no longer pay, and a few searches begun nearby follow. The number
/// of bones stays. Returns false when asked to stop; the state is then the best so far.
bool search_bones(const Problem& problem, const SearchOptions& options, FitState& state);

/// The `count` vertices nearest to `seed` in the rest pose, ascending.
std::vector<Index> patch_around(const Problem& problem, std::size_t seed, std::size_t count);

/// `count` motions that would lower the objective most if added: rigid or affine fits of patches around vertices with
/// large residuals, the best of several candidates each. Candidates are fitted in turn for each of `shares` of the
/// weights, the present bones keeping the rest: 1 replaces them. `state.sums` must be current.
Eigen::MatrixXd propose_bones(const Problem& problem, const FitState& state, int count, Transforms transforms,
                              std::span<const double> shares, std::uint64_t seed);

/// Takes bones away until `bones` remain, always the one whose absence costs least, with a few iterations after each.
void shrink(const Problem& problem, const RunOptions& run, int bones, FitState& state);

}  // namespace sinew::lbs
