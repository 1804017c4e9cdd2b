#pragma once

#include <cstddef>
#include <vector>

#include "sinew/core/progress.h"
#include "sinew/solve/skeleton.h"
#include "solve/lbs/motion_clusters.h"
#include "solve/skeleton/skeleton_fit.h"

/// From clusters of vertices that move alike to a first skeleton [Le2014 §3.4 to §3.6].
namespace sinew::skeleton {

/// All vertices, and those that stand for them while searching.
struct Whole {
  const Problem& problem;
  const EdgeWeights& edges;  // rigidness Laplacian
  const std::vector<Index>& chosen;
};

/// E_RMS that the reduction of the trajectories may leave out while a skeleton is searched for.
inline constexpr double kSearchTruncation = 0.1;

/// Rounds under strict joints before starts are compared.
inline constexpr int kStartRounds = 30;

/// Over-complete clusters in connected patches [§3.4].
MotionClusters parts_of(const Problem& problem, std::size_t clusters);

/// Ten iterations without joints, the influence count growing by one every three [§3.6].
void free_iterations(SkeletonFit& fit);

/// Takes bones away until `most` are left, while they are still free: the cheapest eighth of the surplus at a time.
void shrink_free(SkeletonFit& fit, int most);

/// Gives free bones a tree, then soft joints. False: asked to stop.
bool joint_softly(SkeletonFit& fit, const SkeletonOptions& options, const Progress& progress);

/// How many clusters to start from: when the number of bones is given, several that are not far above it, for the
/// tree found from one start may be much better than that from another.
std::vector<std::size_t> cluster_counts(const SkeletonOptions& options);

/// The best of several starts, if better than what there is. False: asked to stop.
bool best_start(const std::vector<std::size_t>& counts, const Whole& whole, const SkeletonOptions& options,
                const Progress& progress, const SkeletonFit& empty, SkeletonFit& fit);

}  // namespace sinew::skeleton
