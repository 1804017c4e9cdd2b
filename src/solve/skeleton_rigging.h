#pragma once

#include "sinew/core/progress.h"
#include "sinew/solve/skeleton.h"
#include "solve/joint_tree.h"
#include "solve/skeleton_tree.h"

/// The stages of skeletal rigging on a common state.
namespace sinew {

/// A skeleton being fitted. Bone b of the state is bone b of the tree; sums belong to the current weights and bones.
struct Rigging {
  const Problem& problem;
  const SkeletonOptions& options;
  EdgeWeights edges;  // rigidness Laplacian
  FitState state;
  JointTree tree;

  double e_rms() const { return problem.e_rms(state.squares); }
};

/// Weights for the current bones [§3.7], smoothed with strength `smoothness`.
void update_weights(Rigging& rig, int influences, double smoothness);

/// Iterative rigging with soft joints of growing weight, and pruning [§3.3, §3.8.3, §3.9]. False: asked to stop.
bool soft_rigging(Rigging& rig, const Progress& progress);

/// Rotations, joints and weights under strict joints until nothing is gained; surplus bones go, those that cost least
/// first; then bones move from where they matter least to where they gain most. False: asked to stop.
bool strict_rigging(Rigging& rig, FitReport& report, const Progress& progress);

}  // namespace sinew
