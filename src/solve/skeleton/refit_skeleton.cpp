#include <fmt/format.h>

#include <algorithm>

#include "core/index.h"
#include "math/laplacian.h"
#include "sinew/core/error.h"
#include "solve/lbs/given_rig.h"
#include "solve/lbs/to_rig.h"
#include "solve/skeleton/options.h"
#include "solve/skeleton/settle.h"

namespace sinew::skeleton {
namespace {

void check_given(const Sequence& sequence, const Rig& given) {
  given.check();
  if (given.vertex_count() != sequence.vertex_count())
    throw Error(ErrorKind::input, fmt::format("the given rig has {} vertices, the sequence {}", given.vertex_count(),
                                              sequence.vertex_count()));
  if (std::any_of(given.bones.begin(), given.bones.end(), [](const Bone& bone) { return bone.helper; }))
    throw Error(ErrorKind::input, "the given rig has helper bones: its joints cannot be fitted anew around them");
  int roots = 0;
  for (const Bone& bone : given.bones) roots += bone.parent < 0 ? 1 : 0;
  if (roots != 1)
    throw Error(ErrorKind::input,
                fmt::format("the given rig has {} bones without a parent: a hierarchy has one root", roots));
}

/// Bones with the given names and parents, heads at the fitted joints; tails go with their heads.
void place_given(const Problem& problem, const Rig& given, const JointTree& tree, Rig& rig) {
  rig.jointed = true;
  for (int b = 0; b < tree.bones(); ++b) {
    const Bone& old = given.bones[at(b)];
    Bone& bone = rig.bones[at(b)];
    bone = old;
    if (old.parent < 0) continue;
    const Eigen::Vector3d head = tree.joint.col(b) / problem.scaling().scale + problem.scaling().center;
    bone.head = head.cast<float>();
    bone.tail = old.tail + (bone.head - old.head);
  }
}

/// The problem of a fit to a given rig, once all that was given is seen to be usable; begins the report.
Problem problem_of(const Sequence& sequence, const Rig& given, const SkeletonOptions& options, FitReport& report) {
  check_options(options);
  check_given(sequence, given);
  report = fresh_report("skeleton", static_cast<int>(given.bone_count()));
  return Problem(sequence, {0.01, options.threads, options.seed});
}

/// What fits to a given hierarchy start from: its tree, its motion in the problem's units and its weights.
SkeletonFit start_of(const Problem& problem, const EdgeWeights* edges, const Rig& given, int slots,
                     const SkeletonOptions& options) {
  SkeletonFit fit{&problem, edges, {}, tree_in(problem, given), slots, options.smoothness, 4, 0};
  fit.state.D = motion_in(problem, given, std::vector<std::uint8_t>(given.bone_count(), 0), Transforms::rigid);
  fit.state.weights = weights_in(given, slots);
  return fit;
}

}  // namespace

}  // namespace sinew::skeleton

namespace sinew {

Rig refit_skeleton(const Sequence& sequence, const Rig& given, const SkeletonOptions& options, FitReport& report,
                   const Progress& progress) {
  using namespace skeleton;
  const double start = now_seconds();
  const Problem problem = problem_of(sequence, given, options, report);
  const EdgeWeights edges = rigidness_laplacian(sequence, problem.adjacency(), 1e-3, problem.threads());
  SkeletonFit fit = start_of(problem, &edges, given, options.influences, options);
  const Body body(sequence.rest, problem.scaling());
  if (!options.free_joints && !body.hollow()) fit.body = &body;
  const StepTimer timer(report, "strict joints");
  // The given weights carry the motion to where the joints allow it before they change themselves.
  sum_up(fit);
  settle_tree(fit, 6);
  fit.state.squares = objective(problem, fit.state.sums, fit.state.D);
  update_weights(fit);
  fit.state.weights = with_capacity(fit.state.weights, options.influences);
  int rounds = 0;
  const RunEnd end = settle_all(fit, options, [&](double error) {
    report.iterations.push_back({error, now_seconds() - start});
    return tell(progress, "strict joints", std::min(1.0, static_cast<double>(++rounds) / options.strict_iterations));
  });
  report.termination = termination_of(end);
  report.bones = fit.state.bones();
  Rig out = to_rig(sequence, problem, fit.state.D, fit.state.weights, Transforms::rigid, options.influences);
  place_given(problem, given, fit.tree, out);
  return out;
}

Rig refit_joint_rotations(const Sequence& sequence, const Rig& given, const SkeletonOptions& options, FitReport& report,
                          const Progress& progress) {
  using namespace skeleton;
  const double start = now_seconds();
  const Problem problem = problem_of(sequence, given, options, report);
  const int slots = given.weights.influences;
  SkeletonFit fit = start_of(problem, nullptr, given, slots, options);
  const StepTimer timer(report, "rotations");
  sum_up(fit);
  const int rounds = std::max(1, options.strict_iterations);
  const RunEnd end = turn_bones(fit, rounds, [&](double error) {
    report.iterations.push_back({error, now_seconds() - start});
    return tell(progress, "rotations", static_cast<double>(report.iterations.size()) / rounds);
  });
  report.termination = termination_of(end);
  report.bones = fit.state.bones();
  Rig out = to_rig(sequence, problem, fit.state.D, fit.state.weights, Transforms::rigid, slots);
  out.weights = given.weights;
  out.bones = given.bones;
  out.jointed = true;
  return out;
}

}  // namespace sinew
