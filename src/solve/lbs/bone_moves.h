#pragma once

#include <cstdint>
#include <span>

#include "solve/lbs/alternation.h"

/// Moves of whole bones that alternation cannot make.
namespace sinew::lbs {

/// A way out of a local minimum: this many bones and influences per vertex more for a while.
struct Move {
  int bones;
  int influences;
};

/// How many iterations the parts of a move take.
struct MovePace {
  int entered;     // after bones came in
  int loosened;    // with each number of influences
  int shrunk;      // after each bone that went
  double settled;  // tolerance of the iterations that follow
};
inline constexpr MovePace kSteady = {12, 6, 4, 1e-4};
inline constexpr MovePace kHasty = {6, 3, 2, 1e-3};  // while moves pay, the next one does what this one left

/// Gives the model more bones, added where they would gain most, and more influences for a while, until those that
/// matter least are taken away again.
void apply_move(const Problem& problem, const RunOptions& run, const Move& move, const MovePace& pace,
                std::uint64_t seed, FitState& state);

/// Iterates as long as the value may fall below `target` at the rate it falls now, to a tolerance of its own.
void pursue(const Problem& problem, const RunOptions& run, double target, double tolerance, FitState& state);

/// The `count` vertices nearest to `seed` in the rest pose, ascending.
std::vector<Index> patch_around(const Problem& problem, std::size_t seed, std::size_t count);

/// `count` motions that would lower the objective most if added: rigid or affine fits of patches around vertices with
/// large residuals, the best of several candidates each. Candidates are fitted in turn for each of `shares` of the
/// weights, the present bones keeping the rest: 1 replaces them. `state.sums` must be current.
Eigen::MatrixXd propose_bones(const Problem& problem, const FitState& state, int count, Transforms transforms,
                              std::span<const double> shares, std::uint64_t seed);

/// Takes bones away until `bones` remain, always the one whose absence costs least, with `iterations` after each.
void shrink(const Problem& problem, const RunOptions& run, int bones, int iterations, FitState& state);

}  // namespace sinew::lbs
