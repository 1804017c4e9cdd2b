#pragma once

#include "solve/lbs/alternation.h"

namespace sinew::ssdr {

using namespace lbs;

/// Rounds of weights and bones that lower ‖Y − D X‖² + strength · Σ_edges |r_a − r_b|², r the residuals of vertices
/// over the frames: neighbours then err alike, and shading follows. Each edge term is majorised at the residuals before
/// the round, so that vertices stay independent: a vertex aims at y − θ · mean over its edges of (r_a + r_b)/2. The sum
/// never rises; `state.squares` is that of the distances alone. Needs memory for all trajectories twice.
void smooth_surface(const Problem& problem, const RunOptions& run, double strength, int rounds, FitState& state);

}  // namespace sinew::ssdr
