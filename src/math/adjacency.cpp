#include "math/adjacency.h"

#include <algorithm>
#include <limits>

namespace sinew {

Adjacency mesh_adjacency(const Mesh& mesh) {
  const std::size_t vertices = mesh.vertex_count();
  const auto for_each_edge = [&mesh](const auto& visit) {
    std::size_t corner = 0;
    for (const Index size : mesh.face_sizes) {
      for (Index i = 0; i < size; ++i) {
        const Index a = mesh.corners[corner + i];
        const Index b = mesh.corners[corner + (i + 1) % size];
        if (a != b) visit(a, b);
      }
      corner += size;
    }
  };
  std::vector<std::size_t> starts(vertices + 1, 0);
  for_each_edge([&](Index a, Index b) { ++starts[a + 1], ++starts[b + 1]; });
  for (std::size_t v = 0; v < vertices; ++v) starts[v + 1] += starts[v];
  std::vector<Index> all(starts[vertices]);
  std::vector<std::size_t> next(starts.begin(), starts.end() - 1);
  for_each_edge([&](Index a, Index b) { all[next[a]++] = b, all[next[b]++] = a; });

  Adjacency adjacency;
  adjacency.starts.assign(vertices + 1, 0);
  adjacency.neighbors.reserve(all.size() / 2);
  for (std::size_t v = 0; v < vertices; ++v) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(starts[v]);
    const auto last = all.begin() + static_cast<std::ptrdiff_t>(starts[v + 1]);
    std::sort(first, last);
    adjacency.neighbors.insert(adjacency.neighbors.end(), first, std::unique(first, last));
    adjacency.starts[v + 1] = adjacency.neighbors.size();
  }
  return adjacency;
}

Components connected_components(const Adjacency& adjacency) {
  return connected_components(adjacency, std::vector<Index>(adjacency.vertex_count(), 0));
}

Components connected_components(const Adjacency& adjacency, std::span<const Index> group) {
  constexpr Index kNone = std::numeric_limits<Index>::max();
  Components components;
  components.label.assign(adjacency.vertex_count(), kNone);
  std::vector<Index> stack;
  for (std::size_t seed = 0; seed < adjacency.vertex_count(); ++seed) {
    if (components.label[seed] != kNone) continue;
    const auto label = static_cast<Index>(components.count++);
    components.label[seed] = label;
    stack.push_back(static_cast<Index>(seed));
    while (!stack.empty()) {
      const Index v = stack.back();
      stack.pop_back();
      for (const Index w : adjacency[v]) {
        if (components.label[w] != kNone || group[w] != group[v]) continue;
        components.label[w] = label;
        stack.push_back(w);
      }
    }
  }
  return components;
}

}  // namespace sinew
