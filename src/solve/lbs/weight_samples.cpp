#include "solve/lbs/weight_samples.h"

#include "core/index.h"

namespace sinew::lbs {
namespace {

void copy_weights(const SparseWeights& from, std::size_t source, SparseWeights& to, std::size_t target) {
  to.count[target] = from.count[source];
  for (std::size_t k = 0; k < from.count[source]; ++k) {
    to.bone[to.slot(target) + k] = from.bone[from.slot(source) + k];
    to.value[to.slot(target) + k] = from.value[from.slot(source) + k];
  }
}

}  // namespace

SparseWeights weights_at(const SparseWeights& weights, const std::vector<Index>& chosen) {
  SparseWeights part(chosen.size(), weights.capacity);
  for (std::size_t i = 0; i < chosen.size(); ++i) copy_weights(weights, chosen[i], part, i);
  return part;
}

SparseWeights spread_weights(const Adjacency& adjacency, const std::vector<Index>& chosen, const SparseWeights& part) {
  SparseWeights weights(adjacency.vertex_count(), part.capacity);
  std::vector<Index> queue = chosen;
  for (std::size_t i = 0; i < chosen.size(); ++i) copy_weights(part, i, weights, chosen[i]);
  for (std::size_t next = 0; next < queue.size(); ++next) {
    for (const Index neighbor : adjacency[queue[next]]) {
      if (weights.count[neighbor] != 0) continue;
      copy_weights(weights, queue[next], weights, neighbor);
      queue.push_back(neighbor);
    }
  }
  return weights;
}

Eigen::MatrixXd motions_at(const Eigen::MatrixXd& D, const std::vector<Index>& frames) {
  Eigen::MatrixXd part(index(3 * frames.size()), D.cols());
  for (std::size_t i = 0; i < frames.size(); ++i)
    part.middleRows<3>(index(3 * i)) = D.middleRows<3>(index(3 * std::size_t{frames[i]}));
  return part;
}

Eigen::MatrixXd spread_motions(const Problem& problem, const std::vector<Index>& frames, const Eigen::MatrixXd& part) {
  Eigen::MatrixXd D(index(3 * problem.frame_count()), part.cols());
  const auto turn = [&](std::size_t f) { return problem.common().block<3, 3>(index(3 * f), 0); };
  for (std::size_t f = 0, i = 0; f < problem.frame_count(); ++f) {
    while (i + 1 < frames.size() && frames[i + 1] + frames[i] < 2 * f) ++i;
    D.middleRows<3>(index(3 * f)) = turn(f) * turn(frames[i]).transpose() * part.middleRows<3>(index(3 * i));
  }
  return D;
}

}  // namespace sinew::lbs
