#pragma once

#include "solve/sma/weights.h"

namespace sinew::sma {

/// Least-squares bones for given weights, close to what they were where the weights say nothing.
void refit_bones(const Sequence& sequence, const SignedWeights& weights, Transforms transforms, int threads,
                 Motion& motion);

/// Σ |frames − model|².
double squared_error(const Sequence& sequence, const Motion& motion, const SignedWeights& weights, int threads);

}  // namespace sinew::sma
