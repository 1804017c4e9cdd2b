#pragma once

#include <vector>

#include "solve/lbs/weights_pass.h"

/// Weights of some vertices that stand for all.
namespace sinew::lbs {

SparseWeights weights_at(const SparseWeights& weights, const std::vector<Index>& chosen);

/// Weights of chosen vertices handed on to the vertices nearest to them along the mesh; a vertex that none of them
/// reaches is left empty, and then starts from its best single bone.
SparseWeights spread_weights(const Adjacency& adjacency, const std::vector<Index>& chosen, const SparseWeights& part);

}  // namespace sinew::lbs
