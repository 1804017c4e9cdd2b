#include "sinew/solve/skeleton.h"

#include <optional>

#include "math/laplacian.h"
#include "sinew/core/error.h"
#include "solve/lbs/weight_samples.h"
#include "solve/skeleton/exact_bones.h"
#include "solve/skeleton/helpers.h"
#include "solve/skeleton/layout.h"
#include "solve/skeleton/open_number.h"
#include "solve/skeleton/options.h"
#include "solve/skeleton/reach_error.h"
#include "solve/skeleton/search.h"
#include "solve/skeleton/strict.h"
#include "solve/skeleton/symmetry.h"
#include "solve/skeleton/tidy.h"

// Skeletal rigging [Le2014 §3]. The dissertation's symbols in code:
//   [R_j^f | T_j^f]  FitState::D plus the problem's common motion      C_jk  JointTree::joint
//   w_ij             FitState::weights                                 𝕊     JointTree::parent
namespace sinew::skeleton {
namespace {

constexpr double kTruncation = 0.01;           // E_RMS that the reduction of the trajectories may leave out
constexpr std::size_t kSearchVertices = 1000;  // that stand for all while searching
constexpr std::size_t kCurveVertices = 1500;   // the same for the number of bones
constexpr std::size_t kSearchFrames = 60;      // at most, the same
constexpr std::size_t kExactFrames = 110;      // the same for bones that explain a motion without rest
constexpr double kSampleLeaves = 0.95;         // of the error that all vertices leave
constexpr int kSwapPeriod = 4;                 // every so many passes a vertex tries to exchange a bone
constexpr double kStill = 5e-3;  // E_RMS that the common rigid motion may leave for a sequence to count as not moving

/// A sample of the vertices and frames, in which a skeleton is searched for.
struct Sketch {
  Sketch(const Sequence& sequence, const SkeletonFit& all, const SkeletonOptions& options, std::size_t most_frames,
         std::size_t most_vertices)
      : step((all.problem->frame_count() + most_frames - 1) / most_frames) {
    if (step > 1) {
      some = select_frames(sequence, 0, sequence.frame_count(), step);
      thin.emplace(*some, ProblemOptions{kTruncation, options.threads, options.seed});
    }
    few = thin ? &*thin : all.problem;
    chosen = spread_vertices(few->vertex_count(), most_vertices);
    part.emplace(few->sample(chosen, kSearchTruncation, options.seed));
    fit = {&*part, nullptr, {}, {}, options.influences, 0, kSwapPeriod, 0};
    fit.body = all.body;
    edges = all.edges;
  }

  Sketch(const Sketch&) = delete;
  Sketch& operator=(const Sketch&) = delete;

  Whole whole() const { return {*few, *edges, chosen}; }

  std::size_t step;  // of the frames
  std::optional<Sequence> some;
  std::optional<Problem> thin;
  const Problem* few = nullptr;
  const EdgeWeights* edges = nullptr;
  std::vector<Index> chosen;
  std::optional<Problem> part;
  SkeletonFit fit;
};

/// A given number of bones: the best of several starts, then moves that alternation cannot make. False: asked to stop.
bool find_given_number(Sketch& sketch, int bones, const SkeletonOptions& options, FitReport& report,
                       const Progress& progress) {
  if (!resumes(options.checkpoint, kSkeletonSearch)) {
    const StepTimer timer(report, "start");
    const SkeletonFit empty = sketch.fit;
    const Whole whole = sketch.whole();
    const bool go_on = options.keep_all_bones ? start_over_complete(whole, options, progress, sketch.fit)
                                              : Starts(whole, options, empty).start_with(bones, progress, sketch.fit);
    if (!go_on) return false;
  }
  const StepTimer timer(report, "search");
  return search_skeleton(sketch.fit, options.moves, options.seed, options.checkpoint, progress);
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

/// The skeleton of a sample, its motion in all frames and its weights at all vertices.
void spread(const Sketch& sketch, SkeletonFit& fit) {
  const Problem& problem = *fit.problem;
  const FitState& state = sketch.fit.state;
  fit.tree = sketch.fit.tree;
  fit.state.D = sketch.step > 1 ? spread_motion(*sketch.few, state.D, problem, sketch.step) : state.D;
  fit.state.weights = spread_weights(problem.adjacency(), sketch.chosen, state.weights);
  if (sketch.step > 1) {
    sum_up(fit);
    settle_tree(fit, 3);
  }
  update_weights(fit);
}

/// Where nobody asked for the number of bones or the error: bones go that are not missed, and those that mirror each
/// other hang alike. Then all vertices and frames.
void tidy_and_spread(Sketch& sketch, const SkeletonOptions& options, SkeletonFit& fit) {
  const bool open = options.max_bones == 0 && options.max_error == 0 && !options.keep_all_bones;
  if (open && !options.symmetric) {
    drop_idle_bones(sketch.fit);
    if (!options.uneven)
      if (const auto plane = find_mirror_plane(fit.problem->rest())) hang_evenly(sketch.fit, *plane);
  }
  spread(sketch, fit);
}

/// Finds how many bones, and where, on a sample, and spreads them. False: asked to stop.
bool search_and_spread(const Sequence& sequence, const SkeletonOptions& options, FitReport& report,
                       const Progress& progress, SkeletonFit& fit) {
  const bool still = fit.problem->e_rms(fit.problem->total_energy()) < kStill;
  if (still) report.remark = "nothing moves but the mesh as a whole: one bone";
  int bones = still ? 1 : options.max_bones;
  if (bones == 0 && !options.keep_all_bones) {
    const bool may_be_exact = options.max_error == 0 && options.detail != Detail::low;
    if (may_be_exact && !resumes(options.checkpoint, kSkeletonSearch)) {
      Sketch exact(sequence, fit, options, kExactFrames, kCurveVertices);
      const StepTimer timer(report, "search");
      const ExactBones bones_of_rig = find_exact_bones(exact.whole(), options, progress, exact.fit);
      report.search = bones_of_rig.curve;
      if (bones_of_rig.end != ExactEnd::not_exact) {
        spread(exact, fit);
        return bones_of_rig.end == ExactEnd::found;
      }
    }
    Sketch sketch(sequence, fit, options, kSearchFrames, kCurveVertices);
    OpenNumber number;
    {
      const StepTimer timer(report, "number of bones");
      number = open_number(sketch.whole(), options, sketch.fit);
    }
    report.search = number.curve;
    bones = number.bones;
    if (options.max_error > 0) {
      const StepTimer timer(report, "search");
      const SkeletonFit empty = sketch.fit;
      const bool go_on =
          reach_error(sketch.whole(), options, bones, kSampleLeaves * options.max_error, progress, empty, sketch.fit);
      spread(sketch, fit);
      return go_on;
    }
  }
  Sketch sketch(sequence, fit, options, kSearchFrames, kSearchVertices);
  const bool go_on = find_given_number(sketch, bones, options, report, progress);
  tidy_and_spread(sketch, options, fit);
  return go_on;
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
  RunEnd end = RunEnd::stopped;
  if (finished) {
    const StepTimer timer(report, "strict joints");
    end = converge(fit, options.strict_iterations, round_done);
  }
  if (end != RunEnd::stopped) {
    const StepTimer timer(report, "tidy");
    tidy(options, fit);
  }
  report.termination = termination_of(end);
  report.bones = fit.state.bones();
  Rig rig = lay_out_skeleton(sequence, fit, options, report);
  if (options.helpers == 0 || end == RunEnd::stopped) return rig;
  {
    const StepTimer timer(report, "helpers");
    if (!add_helpers(sequence, problem, edges, options, progress, rig)) report.termination = Termination::cancelled;
  }
  report.bones = static_cast<int>(rig.bone_count());
  if (options.drive_helpers) {
    const StepTimer timer(report, "drive");
    const std::string sentence = sentence_about(drive_helpers(sequence, rig, options.threads));
    report.remark += (report.remark.empty() ? "" : "; ") + sentence;
  }
  return rig;
}

}  // namespace sinew
