#pragma once

#include <functional>

#include "sinew/core/fit_report.h"
#include "sinew/core/progress.h"
#include "sinew/math/mirror.h"
#include "sinew/solve/skeleton.h"
#include "solve/joint_tree.h"
#include "solve/skeleton_tree.h"

/// The stages of skeletal rigging on a common state.
namespace sinew {

/// Which bones mirror which across a plane (problem's units). Empty: none do.
struct Symmetry {
  MirrorPlane plane;
  std::vector<int> partner;  // B, or empty; bones on the plane are their own

  /// Makes joints (3×B) symmetric: the mean of each and the mirror image of its partner's.
  void apply_to(Eigen::Matrix3Xd& joint) const;
};

/// A skeleton being fitted. Bone b of the state is bone b of the tree; sums belong to the current weights and bones.
struct Rigging {
  const Problem* problem = nullptr;
  const EdgeWeights* edges = nullptr;  // rigidness Laplacian; null where nothing is smoothed
  FitState state;
  JointTree tree;
  // How weights are solved for.
  int influences = 4;
  double smoothness = 0;
  int swap_period = 1;
  int phase = 0;
  // What joints may do: a symmetric skeleton keeps its bones.
  Symmetry symmetry = {};
  bool joints_stay = false;

  double e_rms() const { return problem->e_rms(state.squares); }
};

/// Weights for the current bones [§3.7].
void update_weights(Rigging& rig);

/// The sums of the current weights, which stay.
void sum_up(Rigging& rig);

/// Iterative rigging with soft joints of growing weight [§3.3, §3.8.3]; bones whose weights degenerate are pruned
/// [§3.9] while there are more than `fewest`. False: asked to stop.
bool soft_rigging(Rigging& rig, int iterations, int fewest, const Progress& progress);

/// Rounds of rotations, joints and weights under strict joints; the first with `steps` steps of the rotations.
void strict_rounds(Rigging& rig, int rounds, int steps);

/// Called with E_RMS after every round; false stops.
using RoundDone = std::function<bool(double)>;

/// Alternates under strict joints with Nesterov extrapolation of rotations and joints, restarted when the error would
/// rise, until nothing is gained or `rounds` are done. False: asked to stop.
bool converge(Rigging& rig, int rounds, const RoundDone& done = {});

/// Takes bone b out of the tree: its neighbours join the one it blends with most, each keeping its joint.
void contract_bone(Rigging& rig, int b);

/// Takes away the bones that cost least until `most` are left, with two rounds after each.
void shrink_to(Rigging& rig, int most);

/// A bone that a tree might have.
struct ProposedBone {
  int parent;
  Eigen::Vector3d joint;
  Eigen::MatrixXd motion;  // 3F×4 block of D
};

/// `count` bones that would gain most, each the best of so many candidates.
std::vector<ProposedBone> propose_jointed(const Rigging& rig, int count, int candidates, std::uint64_t seed);

/// Adds bones where they gain most.
void grow_by(Rigging& rig, int count, std::uint64_t seed);

/// Exchanges edges of the tree for others across the same cut while that lowers the error for the current weights.
/// Returns how many were exchanged.
int exchange_edges(Rigging& rig);

/// Allows more influences per vertex for a while, then takes them back one by one.
void loosen(Rigging& rig);

/// Rotations and joints of another tree for the same weights: a few rounds. Returns the squared error but for the
/// constant of the data. Sums, not weights, are used: the cost does not depend on the number of vertices.
double settle_tree(Rigging& rig, int rounds);

/// Tries moves in turn: bones added where they gain most and as many taken away where that costs least, edges
/// exchanged, influences loosened for a while. Goes on from results that are a little worse than the best, less and
/// less so. The number of bones stays. The checkpoint may be null. False: asked to stop.
bool search_skeleton(Rigging& best, int moves, std::uint64_t seed, Checkpoint* checkpoint, const Progress& progress);

/// The name of that loop in a checkpoint.
inline constexpr const char* kSkeletonSearch = "search skeleton";

/// Adds a rigging to the arrays of a checkpoint, under names that begin with `prefix`.
void save_rigging(const Rigging& rig, const std::string& prefix, SavedArrays& arrays);

/// Takes up a saved rigging; the sums are those of its weights again. Throws Error{input} where it is not one.
void take_rigging(const SavedArrays& arrays, const std::string& prefix, Rigging& rig);

/// Settles under strict joints, influences loosened a few times on the way. False: asked to stop.
bool settle_all(Rigging& rig, const SkeletonOptions& options, const RoundDone& done);

/// Throws Error{usage} for options out of range.
void check_options(const SkeletonOptions& options);

}  // namespace sinew
