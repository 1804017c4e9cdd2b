#pragma once

#include <cstddef>
#include <vector>

#include "sinew/core/rig.h"
#include "sinew/core/sequence.h"
#include "sinew/solve/sma.h"

namespace sinew::sma {

/// Weights of any sign: slot k of vertex v is bones[v*K + k] with values[v*K + k]; rows sum to 1.
struct SignedWeights {
  int influences = 0;
  std::vector<Index> bones;
  std::vector<double> values;
};
SignedWeights fit_weights(const Sequence& sequence, const Motion& motion, const SmaOptions& options);

/// Puts weights of any sign into a rig whose motion holds the plain bones: non-negative rows as they are, others over
/// helper bones that are added to the rig. Returns how many helpers there are.
std::size_t set_weights(Rig& rig, const SignedWeights& weights);

}  // namespace sinew::sma
