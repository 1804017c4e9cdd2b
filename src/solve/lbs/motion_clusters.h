#pragma once

#include <vector>

#include "solve/lbs/problem.h"
#include "solve/lbs/weights_pass.h"

namespace sinew::lbs {

/// Vertices clustered by rigid motion: D holds one 3F×4 block per cluster.
struct MotionClusters {
  std::vector<Index> labels;  // V
  Eigen::MatrixXd D;          // 3F×4n
  std::size_t count() const { return static_cast<std::size_t>(D.cols() / 4); }
};

/// Linde–Buzo–Gray splitting with EM [Le2014 §3.4]. Exactly `count` clusters come out unless there are fewer vertices;
/// a cluster that runs empty is seeded anew inside the one with the largest error. Starts from one cluster, or from
/// `labels` (dense, one per vertex) where they are given.
MotionClusters cluster_by_motion(const Problem& problem, std::size_t count, std::vector<Index> labels = {});

/// The connected patches of each cluster with at least `smallest` vertices beside the cluster's largest patch, each
/// with its own rigid fit; at most `most` clusters in all, largest patches first.
MotionClusters split_into_patches(const Problem& problem, const MotionClusters& clusters, std::size_t smallest,
                                  std::size_t most);

/// One weight of 1 per vertex.
SparseWeights weights_of(const MotionClusters& clusters, int capacity);

}  // namespace sinew::lbs
