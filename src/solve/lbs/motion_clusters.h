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

/// The same in steps, for solvers that report and stop in between.
/// All vertices in one cluster that moves as the mesh as a whole.
MotionClusters whole_mesh(const Problem& problem);

/// Splits the clusters with the largest error until there are `count`, at most doubling their number. Only those are
/// split whose vertices are off by more than `unseen` (root mean square over frames; radius of the mesh 1).
/// `residual` (V) is the squared distance of every vertex over the frames. False: none could be split.
bool split_clusters(const Problem& problem, std::size_t count, double unseen, const std::vector<float>& residual,
                    MotionClusters& clusters);

/// One round of EM: each vertex to the motion that follows it best, each motion to its vertices. Clusters that run
/// empty disappear. Returns the sum of `residual`, which belongs to the motions before the round.
double refine_clusters(const Problem& problem, MotionClusters& clusters, std::vector<float>& residual);

/// Takes cluster c away; its vertices go where they are followed best.
void remove_cluster(const Problem& problem, std::size_t c, MotionClusters& clusters, std::vector<float>& residual);

/// The connected patches of each cluster with at least `smallest` vertices beside the cluster's largest patch, each
/// with its own rigid fit; at most `most` clusters in all, largest patches first.
MotionClusters split_into_patches(const Problem& problem, const MotionClusters& clusters, std::size_t smallest,
                                  std::size_t most);

/// One weight of 1 per vertex.
SparseWeights weights_of(const MotionClusters& clusters, int capacity);

}  // namespace sinew::lbs
