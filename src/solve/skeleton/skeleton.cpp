#include "sinew/solve/skeleton.h"

#include <optional>

#include "math/laplacian.h"
#include "sinew/core/error.h"
#include "solve/lbs/weight_samples.h"
#include "solve/skeleton/bone_count.h"
#include "solve/skeleton/layout.h"
#include "solve/skeleton/options.h"
#include "solve/skeleton/search.h"
#include "solve/skeleton/strict.h"
#include "solve/skeleton/symmetry.h"

// Skeletal rigging [Le2014 §3]. The dissertation's symbols in code:
//   [R_j^f | T_j^f]  FitState::D plus the problem's common motion      C_jk  JointTree::joint
//   w_ij             FitState::weights                                 𝕊     JointTree::parent
namespace sinew::skeleton {
namespace {

constexpr double kTruncation = 0.01;           // E_RMS that the reduction of the trajectories may leave out
constexpr std::size_t kSearchVertices = 1500;  // that stand for all while searching
constexpr std::size_t kMoveVertices = 1000;    // the same where the number of bones is given and many moves are tried
constexpr std::size_t kSearchFrames = 110;     // at most, the same
constexpr int kSwapPeriod = 4;                 // every so many passes a vertex tries to exchange a bone
constexpr double kStill = 5e-3;  // E_RMS that the common rigid motion may leave for a sequence to count as not moving

/// The best of several starts, then moves that alternation cannot make; all on a sample of the vertices.
bool find_skeleton(const Whole& whole, const SkeletonOptions& options, FitReport& report, const Progress& progress,
                   SkeletonFit& fit) {
  const Problem& problem = whole.problem;
  const SkeletonFit empty = fit;
  {
    const StepTimer timer(report, "start");
    const bool still = problem.e_rms(problem.total_energy()) < kStill;
    if (still) report.remark = "nothing moves but the mesh as a whole: one bone";
    std::vector<std::size_t> counts = still ? std::vector<std::size_t>{1} : cluster_counts(options);
    if (resumes(options.checkpoint, kSkeletonSearch) || resumes(options.checkpoint, kFindNumber))
      counts.clear();  // an earlier run did them
    if (!best_start(counts, whole, options, progress, empty, fit)) return false;
  }
  const StepTimer timer(report, "search");
  if (options.max_bones > 0 || options.keep_all_bones)
    return search_skeleton(fit, options.moves, options.seed, options.checkpoint, progress);
  return find_number(whole, options, progress, empty, fit);
}

/// Motion of all frames from that of every `step`-th: each as the nearest of those, carried along with the whole mesh.
Eigen::MatrixXd spread_motion(const Problem& few, const Eigen::MatrixXd& D, const Problem& all, std::size_t step) {
  const Eigen::Index bones = D.cols() / 4;
  Eigen::MatrixXd out(all.common().rows(), D.cols());
  for (std::size_t f = 0; f < all.frame_count(); ++f) {
    const auto to = 3 * static_cast<Eigen::Index>(f);
    const auto from = 3 * static_cast<Eigen::Index>(std::min((f + step / 2) / step, few.frame_count() - 1));
    const Eigen::Matrix3d turn = all.common().block<3, 3>(to, 0) * few.common().block<3, 3>(from, 0).transpose();
    Eigen::Matrix3Xd T = turn * (D.middleRows<3>(from) + few.common().middleRows<3>(from).replicate(1, bones));
    const Eigen::Vector3d shift = all.common().block<3, 1>(to, 3) - turn * few.common().block<3, 1>(from, 3);
    for (Eigen::Index b = 0; b < bones; ++b) T.col(4 * b + 3) += shift;
    out.middleRows<3>(to) = T - all.common().middleRows<3>(to).replicate(1, bones);
  }
  return out;
}

/// The skeleton of a sample of the vertices and frames, then its motion in all frames and its weights at all vertices.
/// False: asked to stop.
bool search_and_spread(const Sequence& sequence, const SkeletonOptions& options, FitReport& report,
                       const Progress& progress, SkeletonFit& fit) {
  const Problem& problem = *fit.problem;
  const std::size_t step = (problem.frame_count() + kSearchFrames - 1) / kSearchFrames;
  std::optional<Sequence> some;
  std::optional<Problem> thin;
  if (step > 1) {
    some = select_frames(sequence, 0, sequence.frame_count(), step);
    thin.emplace(*some, ProblemOptions{kTruncation, options.threads, options.seed});
  }
  const Problem& few = thin ? *thin : problem;
  const std::size_t most = options.max_bones > 0 ? kMoveVertices : kSearchVertices;
  const std::vector<Index> chosen = spread_vertices(few.vertex_count(), most);
  const Problem part = few.sample(chosen, kSearchTruncation, options.seed);
  SkeletonFit sketch{&part, nullptr, {}, {}, options.influences, 0, kSwapPeriod, 0};
  sketch.body = fit.body;
  const bool searched = find_skeleton({few, *fit.edges, chosen}, options, report, progress, sketch);
  fit.tree = sketch.tree;
  fit.state.D = step > 1 ? spread_motion(few, sketch.state.D, problem, step) : sketch.state.D;
  fit.state.weights = spread_weights(problem.adjacency(), chosen, sketch.state.weights);
  if (step > 1) {
    sum_up(fit);
    settle_tree(fit, 3);
  }
  update_weights(fit);
  return searched;
}

}  // namespace

}  // namespace sinew::skeleton

namespace sinew {

Rig solve_skeleton(const Sequence& sequence, const SkeletonOptions& options, FitReport& report,
                   const Progress& progress) {
  using namespace skeleton;
  check_options(options);
  report = fresh_report("skeleton", options.max_bones);
  const double start = now_seconds();
  int rounds = 0;
  const auto round_done = [&](double error) {
    report.iterations.push_back({error, now_seconds() - start});
    return tell(progress, "strict joints", static_cast<double>(++rounds) / options.strict_iterations);
  };
  const Problem problem(sequence, {kTruncation, options.threads, options.seed});
  const EdgeWeights edges = rigidness_laplacian(sequence, problem.adjacency(), 1e-3, problem.threads());
  const Body body(sequence.rest, problem.scaling());
  SkeletonFit fit{&problem, &edges, {}, {}, options.influences, options.smoothness, kSwapPeriod, 0};
  if (!options.free_joints && !body.hollow()) fit.body = &body;
  bool finished = false;
  if (options.symmetric) {
    const MirrorPlane plane = required_mirror_plane(sequence);
    const Sequence mirrored = with_mirrored_frames(sequence, plane);
    const Problem twice(mirrored, {kTruncation, options.threads, options.seed});
    SkeletonFit both = fit;
    both.problem = &twice;
    finished = search_and_spread(mirrored, options, report, progress, both);
    const StepTimer timer(report, "symmetry");
    make_symmetric(both, plane, options.max_bones);
    if (finished) converge(both, options.strict_iterations);
    take_first_half(both, fit);
    update_weights(fit);
  } else {
    finished = search_and_spread(sequence, options, report, progress, fit);
  }
  const StepTimer timer(report, "strict joints");
  const RunEnd end = finished ? converge(fit, options.strict_iterations, round_done) : RunEnd::stopped;
  report.termination = termination_of(end);
  report.bones = fit.state.bones();
  return lay_out_skeleton(sequence, fit, options);
}

}  // namespace sinew
