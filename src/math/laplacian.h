#pragma once

#include <vector>

#include "math/adjacency.h"
#include "sinew/core/sequence.h"

namespace sinew {

/// Non-negative weights of the edges of a graph, aligned with Adjacency::neighbors: weight[adjacency.starts[v] + i]
/// belongs to the edge from v to its i-th neighbour. The two directions of an edge carry the same weight.
/// As a quadratic form: E(w) = Σ_edges weight · |w_a − w_b|².
struct EdgeWeights {
  std::vector<float> values;
};

/// The plain graph Laplacian: an edge ab weighs (1 / degree(a) + 1 / degree(b)) / 2.
EdgeWeights graph_laplacian(const Adjacency& adjacency);

/// The rigidness Laplacian [Le2014 §3.7.2]: with d = 1 / (RMS over frames of how far the edge's length is from its rest
/// length), an edge ab weighs (d_ab / Σ d_a· + d_ab / Σ d_b·) / 2. We differ from eq. 3.11a in taking the symmetric
/// part, which is what the quadratic form sees. An edge that never stretches would weigh infinitely: the deviation is
/// floored at `floor` times the edge-length RMS of the rest mesh.
EdgeWeights rigidness_laplacian(const Sequence& sequence, const Adjacency& adjacency, double floor = 1e-3,
                                int threads = 1);

}  // namespace sinew
