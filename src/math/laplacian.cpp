#include "math/laplacian.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "math/parallel.h"

namespace sinew {
namespace {

constexpr std::size_t kFramesTogether = 16;  // that are gone over together

/// Row-normalises symmetric affinities and takes the symmetric part of the result.
EdgeWeights symmetric_normalised(const Adjacency& adjacency, const std::vector<double>& affinity) {
  std::vector<double> sums(adjacency.vertex_count(), 0);
  for (std::size_t v = 0; v < sums.size(); ++v) {
    for (std::size_t e = adjacency.starts[v]; e < adjacency.starts[v + 1]; ++e) sums[v] += affinity[e];
  }
  EdgeWeights weights;
  weights.values.resize(affinity.size());
  for (std::size_t v = 0; v < sums.size(); ++v) {
    for (std::size_t e = adjacency.starts[v]; e < adjacency.starts[v + 1]; ++e) {
      const double other = sums[adjacency.neighbors[e]];
      weights.values[e] = static_cast<float>(affinity[e] / 2 * (1 / sums[v] + 1 / other));
    }
  }
  return weights;
}

double edge_length(const ConstPointsMap& points, Eigen::Index a, Eigen::Index b) {
  return (points.col(a) - points.col(b)).cast<double>().norm();
}

}  // namespace

EdgeWeights graph_laplacian(const Adjacency& adjacency) {
  return symmetric_normalised(adjacency, std::vector<double>(adjacency.neighbors.size(), 1.0));
}

EdgeWeights rigidness_laplacian(const Sequence& sequence, const Adjacency& adjacency, double floor, int threads) {
  Ranks& ranks = sequence.frames.ranks();
  const std::size_t edges = adjacency.neighbors.size();
  const ConstPointsMap rest(sequence.rest.positions.data(), 3, sequence.rest.positions.cols());
  std::vector<double> deviation(edges, 0);  // sum over frames of squared changes, then their RMS
  std::vector<double> length(edges, 0);
  for (std::size_t v = 0; v < adjacency.vertex_count(); ++v)
    for (std::size_t e = adjacency.starts[v]; e < adjacency.starts[v + 1]; ++e)
      length[e] = edge_length(rest, static_cast<Eigen::Index>(v), adjacency.neighbors[e]);
  const VertexRange own = ranks.own(adjacency.vertex_count());
  for (std::size_t first = 0; first < sequence.frame_count(); first += kFramesTogether) {
    std::vector<ConstPointsMap> frames;
    for (std::size_t f = first; f < std::min(first + kFramesTogether, sequence.frame_count()); ++f)
      frames.push_back(sequence.frames[f]);
    parallel_for(own.count(), 256, threads, [&](std::size_t begin, std::size_t end) {
      for (const ConstPointsMap& frame : frames)
        for (std::size_t v = own.first + begin; v < own.first + end; ++v)
          for (std::size_t e = adjacency.starts[v]; e < adjacency.starts[v + 1]; ++e) {
            const double change = edge_length(frame, static_cast<Eigen::Index>(v), adjacency.neighbors[e]) - length[e];
            deviation[e] += change * change;
          }
    });
  }
  for (int r = 0; r < ranks.count(); ++r) {
    const VertexRange theirs = ranks.vertices_of(r, adjacency.vertex_count());
    const std::size_t start = adjacency.starts[theirs.first];
    ranks.share_from(
        r, std::as_writable_bytes(std::span(deviation).subspan(start, adjacency.starts[theirs.last] - start)));
  }
  double squares = 0;
  for (const double l : length) squares += l * l;
  const double smallest = edges == 0 ? 0 : floor * std::sqrt(squares / static_cast<double>(edges));
  for (double& d : deviation) {
    d = 1 / std::max({std::sqrt(d / static_cast<double>(sequence.frame_count())), smallest, 1e-300});
  }
  return symmetric_normalised(adjacency, deviation);
}

}  // namespace sinew
