#pragma once

#include <string>

#include "sinew/core/checkpoint.h"
#include "solve/lbs/alternation.h"

/// Models under construction as the plain arrays of a checkpoint.
namespace sinew::lbs {

/// Adds motion, weights, objective and residuals of a state under names that begin with `prefix`.
void save_fit(const FitState& state, const std::string& prefix, SavedArrays& arrays);

/// The state again, but for S and C of its sums, which the next pass forms. Throws Error{input} unless it is a model of
/// `vertices` vertices over `frames` frames.
FitState saved_fit(const SavedArrays& arrays, const std::string& prefix, std::size_t frames, std::size_t vertices);

}  // namespace sinew::lbs
