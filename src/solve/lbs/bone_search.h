#pragma once

#include <cstdint>
#include <functional>

#include "solve/lbs/bone_moves.h"

namespace sinew::lbs {

/// A search for better bones that can end at any time.
struct SearchOptions {
  RunOptions run;      // of the iterations after each move
  int starts = 4;      // different ones, of which half go on after each heat
  int patience = 24;   // moves in a row from one place that lowered the value by less than 0.1 %
  int kicks = 3;       // searches begun anew from the best with a third of its bones exchanged
  bool hasty = false;  // short moves, of bones first, for as long as they pay
  std::uint64_t seed = 1;
  Budget* budget = nullptr;                         // asked before every batch of moves
  std::uint64_t reserve = 0;                        // work to be left of it
  std::function<bool(double fraction)> keep_going;  // asked after every batch; may be empty
  Checkpoint* checkpoint = nullptr;                 // may be null: where the moves are kept, as this phase
  std::string phase;
};

/// Tries batches of moves and keeps what lowers the objective. Several starts try a few moves each, and the worse half
/// is given up, until one is left; that goes on until moves no longer pay, and searches begun nearby follow until the
/// budget or the kicks are used up. The number of bones stays. Threads share the moves of a batch, and those that are
/// left over the passes of each: `problem` ends with as many as it had. Returns false when asked to stop; the state is
/// then the best so far.
bool search_bones(Problem& problem, const SearchOptions& options, FitState& state);

}  // namespace sinew::lbs
