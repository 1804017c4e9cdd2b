#include "sinew/solve/skeleton.h"

#include <fmt/format.h>

#include <algorithm>

#include "sinew/core/error.h"
#include "sinew/math/laplacian.h"
#include "solve/motion_clusters.h"
#include "solve/skeleton_layout.h"
#include "solve/skeleton_rigging.h"

// Skeletal rigging [Le2014 §3]. The dissertation's symbols in code:
//   [R_j^f | T_j^f]  FitState::D plus the problem's common motion      C_jk  JointTree::joint
//   w_ij             FitState::weights                                 𝕊     JointTree::parent
namespace sinew {
namespace {

constexpr double kStill = 5e-3;  // E_RMS that the common rigid motion may leave for a sequence to count as not moving

void check_options(const SkeletonOptions& options) {
  const auto refuse = [](const std::string& sentence) { throw Error(ErrorKind::usage, sentence); };
  if (options.clusters < 1)
    refuse(fmt::format("skeleton: {} initial clusters, at least 1 is needed", options.clusters));
  if (options.influences < 1 || options.influences > 8)
    refuse(fmt::format("skeleton: {} influences per vertex, 1 to 8 are possible", options.influences));
  if (options.max_bones < 0) refuse(fmt::format("skeleton: at most {} bones are asked for", options.max_bones));
  if (!(options.smoothness >= 0) || !(options.final_smoothness >= 0)) refuse("skeleton: smoothness is negative");
}

/// Over-complete clusters in connected patches [§3.4].
void initialise(Rigging& rig, std::size_t clusters) {
  MotionClusters start = cluster_by_motion(rig.problem, clusters);
  if (clusters > 1)
    start = split_into_patches(rig.problem, start, std::max<std::size_t>(3, rig.problem.vertex_count() / 400),
                               2 * clusters);
  rig.state.D = start.D;
  rig.state.weights = weights_of(start, rig.options.influences);
}

/// Ten iterations without joints, the influence count growing by one every three [§3.6].
void free_iterations(Rigging& rig) {
  for (int i = 0; i < 10; ++i) {
    update_weights(rig, std::min(rig.options.influences, 1 + i / 3), rig.options.smoothness);
    update_bones(rig.problem, rig.state.sums, BoneOptions{}, rig.state.D);
  }
  update_weights(rig, rig.options.influences, rig.options.smoothness);
}

}  // namespace

void update_weights(Rigging& rig, int influences, double smoothness) {
  PassOptions pass;
  pass.influences = influences;
  pass.smoothing = {smoothness, &rig.edges};
  weights_pass(rig.problem, bone_gram(rig.problem, rig.state.D), pass, rig.state.weights, rig.state.sums);
  rig.state.squares = rig.state.sums.squares;
}

Rig solve_skeleton(const Sequence& sequence, const SkeletonOptions& options, FitReport& fit, const Progress& progress) {
  check_options(options);
  fit.method = "skeleton";
  fit.bones_asked = options.max_bones;
  ProblemOptions scaled;
  scaled.threads = options.threads;
  scaled.seed = options.seed;
  const Problem problem(sequence, scaled);
  const bool still = problem.e_rms(problem.total_energy()) < kStill;
  Rigging rig{problem, options, {}, {}, {}};
  {
    const StepTimer timer(fit, "free bones");
    rig.edges = rigidness_laplacian(sequence, problem.adjacency(), 1e-3, problem.threads());
    initialise(rig, still ? 1 : static_cast<std::size_t>(options.clusters));
    free_iterations(rig);
    rig.tree = adopt_edges(spanning_tree(rig.state, problem), rig.state);
  }
  bool finished = true;
  {
    const StepTimer timer(fit, "soft joints");
    finished = soft_rigging(rig, progress);
  }
  if (finished || rig.state.bones() > 1) {
    const StepTimer timer(fit, "strict joints");
    finished = strict_rigging(rig, fit, finished ? progress : Progress([](auto, double) { return false; })) && finished;
  }
  if (!finished) fit.termination = Termination::cancelled;
  if (still) fit.remark = "nothing moves but the mesh as a whole: one bone";
  fit.bones = rig.state.bones();
  return lay_out_skeleton(sequence, rig);
}

}  // namespace sinew
