#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "sinew/core/checkpoint.h"
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

/// Over-complete clusters in connected patches [§3.4].
MotionClusters parts_of(const Problem& problem, std::size_t clusters);

/// Ten iterations without joints, the influence count growing by one every three [§3.6].
void free_iterations(SkeletonFit& fit);

/// Free bones, one for each cluster, after those iterations. `empty` says how weights are solved for.
SkeletonFit free_bones_of(const MotionClusters& clusters, const Whole& whole, const SkeletonFit& empty);

/// Takes `count` free bones away, those whose absence costs least.
void remove_cheapest(FitState& state, const Problem& problem, int count);

/// Takes bones away until `most` are left, while they are still free: the cheapest eighth of the surplus at a time.
void shrink_free(SkeletonFit& fit, int most);

/// A skeleton of more bones than needed, one for each cluster but for those that degenerate when weights are smoothed
/// over the whole mesh [§3.9]; none do with SkeletonOptions::keep_all_bones. False: asked to stop.
bool start_over_complete(const Whole& whole, const SkeletonOptions& options, const Progress& progress,
                         SkeletonFit& fit);

/// Starts with a given number of bones. The tree found from one number of clusters may be much better than that from
/// another, so several are tried. What does not depend on the number of bones is done once: the clusters, of numbers
/// that are a quarter of an octave apart, and their free bones, which go on from where the last start left them.
class Starts {
 public:
  Starts(const Whole& whole, const SkeletonOptions& options, const SkeletonFit& empty);

  /// The best of several starts with so many bones, if better than what there is. Those that are behind after a few
  /// rounds are given up. False: asked to stop.
  bool start_with(int bones, const Progress& progress, SkeletonFit& fit);

  /// The free bones, for a checkpoint.
  void save(SavedArrays& arrays) const;
  void take(const SavedArrays& arrays);

 private:
  SkeletonFit free_bones(std::size_t clusters, int bones);

  const Whole& whole_;
  int soft_iterations_;
  const SkeletonFit& empty_;
  std::map<std::size_t, SkeletonFit> free_;  // by the number of clusters
};

}  // namespace sinew::skeleton
