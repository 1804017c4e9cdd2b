#pragma once

#include "math/mirror.h"
#include "sinew/core/rig.h"
#include "solve/skeleton/body.h"
#include "solve/skeleton/joint_tree.h"
#include "solve/skeleton/tree.h"

/// The state that all stages of skeletal rigging work on.
namespace sinew::skeleton {

using namespace lbs;

/// Which bones mirror which across a plane (problem's units). Empty: none do.
struct Symmetry {
  MirrorPlane plane;
  std::vector<int> partner;  // B, or empty; bones on the plane are their own, −1: mirrors nothing

  /// Makes joints (3×B) symmetric: the mean of each and the mirror image of its partner's.
  void apply_to(Eigen::Matrix3Xd& joint) const;
};

/// A skeleton being fitted. Bone b of the state is bone b of the tree; sums belong to the current weights and bones.
struct SkeletonFit {
  const Problem* problem = nullptr;
  const EdgeWeights* edges = nullptr;  // rigidness Laplacian; null where nothing is smoothed
  FitState state;
  JointTree tree;
  // How weights are solved for.
  int influences = 4;
  double smoothness = 0;
  int swap_period = 1;
  int phase = 0;
  // What joints may do: lie in the body, or anywhere where it is null; a symmetric skeleton keeps its bones.
  const Body* body = nullptr;
  Symmetry symmetry = {};
  bool joints_stay = false;

  double e_rms() const { return problem->e_rms(state.squares); }
};

/// The hierarchy of a rig, its joints in the problem's units.
JointTree tree_in(const Problem& problem, const Rig& given);

/// The share of the way from the joint of bone b's parent to its own that leads outside the body.
double outside(const SkeletonFit& fit, int b);

/// What E_RMS is multiplied by where skeletons of as many bones are compared: errors fall about as the number of bones
/// grows, and a bone that leads outside the body counts as one more.
double surcharge(const SkeletonFit& fit);

/// Weights for the current bones [§3.7].
void update_weights(SkeletonFit& fit);

/// The sums of the current weights, which stay.
void sum_up(SkeletonFit& fit);

}  // namespace sinew::skeleton
