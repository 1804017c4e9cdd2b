#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "sinew/core/mesh.h"

namespace sinew {

/// One-ring neighbours of every vertex in compressed rows.
/// Invariants: symmetric, rows ascending, no vertex its own neighbour. An isolated vertex has an empty row.
struct Adjacency {
  std::vector<std::size_t> starts;  // V + 1
  std::vector<Index> neighbors;

  std::size_t vertex_count() const { return starts.empty() ? 0 : starts.size() - 1; }
  std::span<const Index> operator[](std::size_t v) const {
    return {neighbors.data() + starts[v], starts[v + 1] - starts[v]};
  }
};

/// Neighbours along the edges of the faces; an edge that a face repeats or collapses counts once or not at all.
Adjacency mesh_adjacency(const Mesh& mesh);

/// Connected parts of a graph: label[v] in 0..count-1, numbered by their smallest vertex.
struct Components {
  std::vector<Index> label;  // V
  std::size_t count = 0;
};
Components connected_components(const Adjacency& adjacency);

/// The same after cutting every edge between vertices of different group[v].
Components connected_components(const Adjacency& adjacency, std::span<const Index> group);

}  // namespace sinew
