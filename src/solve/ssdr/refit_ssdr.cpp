#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sinew/core/error.h"
#include "sinew/solve/ssdr.h"
#include "solve/lbs/alternation.h"
#include "solve/lbs/bone_moves.h"
#include "solve/lbs/given_rig.h"
#include "solve/lbs/problem.h"
#include "solve/lbs/to_rig.h"
#include "solve/ssdr/options.h"

namespace sinew::ssdr {
namespace {

constexpr const char* kFit = "fit";  // the loop of a checkpoint

void check_refit(const Sequence& sequence, const Rig& given, const RefitOptions& options) {
  const auto wrong = [](ErrorKind kind, const std::string& sentence) { throw Error(kind, sentence); };
  given.check();
  if (given.vertex_count() != sequence.vertex_count()) {
    wrong(ErrorKind::input,
          fmt::format("the given rig has {} vertices, the sequence {}", given.vertex_count(), sequence.vertex_count()));
  }
  const bool same_frames = given.frame_count() == sequence.frame_count();
  if (!same_frames && (options.part != RefitPart::motion || !options.locked_bones.empty())) {
    wrong(ErrorKind::input,
          fmt::format("the given rig moves over {} frames, the sequence over {}: only its weights can be used",
                      given.frame_count(), sequence.frame_count()));
  }
  for (const Index b : options.locked_bones) {
    if (b >= given.bone_count()) {
      wrong(ErrorKind::usage, fmt::format("bone {} is to be locked, the given rig has {}", b, given.bone_count()));
    }
  }
  if (!options.locked_vertices.empty() && options.locked_vertices.size() != sequence.vertex_count()) {
    wrong(ErrorKind::usage,
          fmt::format("{} locks for {} vertices", options.locked_vertices.size(), sequence.vertex_count()));
  }
  if (options.add_bones < 0 || options.add_bones > 1024) {
    wrong(ErrorKind::usage, fmt::format("{} bones to add, expected 0 to 1024", options.add_bones));
  }
  if (options.add_bones > 0 && options.part == RefitPart::motion) {
    wrong(ErrorKind::usage, "bones cannot be added when only motion is fitted: they would have no weights");
  }
}

/// What is locked comes out bit for bit as it went in.
void keep_given(const Rig& given, const std::vector<std::uint8_t>& locked_bones,
                const std::vector<std::uint8_t>& locked_vertices, bool weights_stay, Rig& rig) {
  for (std::size_t b = 0; b < given.bone_count(); ++b) {
    rig.bones[b].name = given.bones[b].name;
    rig.bones[b].head = given.bones[b].head;
    rig.bones[b].tail = given.bones[b].tail;
    if (locked_bones[b] == 0) continue;
    for (std::size_t f = 0; f < rig.frame_count(); ++f) rig.motion(f, b) = given.motion(f, b);
  }
  const auto from = static_cast<std::size_t>(given.weights.influences);
  const auto to = static_cast<std::size_t>(rig.weights.influences);
  for (std::size_t v = 0; v < rig.vertex_count(); ++v) {
    if (!weights_stay && (locked_vertices.empty() || locked_vertices[v] == 0)) continue;
    for (std::size_t k = 0; k < to; ++k) {
      rig.weights.bones[v * to + k] = k < from ? given.weights.bones[v * from + k] : 0;
      rig.weights.values[v * to + k] = k < from ? given.weights.values[v * from + k] : 0;
    }
  }
}

}  // namespace

}  // namespace sinew::ssdr

namespace sinew {

Rig refit_ssdr(const Sequence& sequence, const Rig& given, const RefitOptions& options, FitReport& report,
               const Progress& progress) {
  using namespace ssdr;
  check_options(options.solver);
  check_refit(sequence, given, options);
  report = fresh_report("ssdr");
  const int bones = static_cast<int>(given.bone_count()) + options.add_bones;
  const bool weights_stay = options.part == RefitPart::motion;
  const bool vertices_locked = !options.locked_vertices.empty();
  // Locked vertices and kept weights may use more bones than asked for anew.
  const int K = slots(options.solver, bones);
  const int widest = weights_stay      ? given.weights.influences
                     : vertices_locked ? std::max(K, given.weights.influences)
                                       : K;
  std::vector<std::uint8_t> locked(static_cast<std::size_t>(bones), 0);
  for (const Index b : options.locked_bones) locked[b] = 1;
  if (options.part == RefitPart::weights) std::fill_n(locked.begin(), given.bone_count(), std::uint8_t{1});

  const Problem problem(sequence, {0.01, options.solver.threads, options.solver.seed});
  const SmoothingEdges edges(sequence, problem, options.solver);
  FitState state;
  state.D = motion_in(problem, given, locked, options.solver.transforms);
  state.weights = weights_in(given, widest);

  RunOptions last;
  last.iterations = options.solver.max_iterations > 0 ? options.solver.max_iterations : 100;
  last.tolerance = options.solver.tolerance;
  last.influences = weights_stay ? widest : K;
  last.update_weights = !weights_stay;
  last.update_bones = std::find(locked.begin(), locked.end(), 0) != locked.end();
  last.bones.transforms = options.solver.transforms;
  last.bones.locked = locked;
  last.smoothing = edges.smoothing();
  last.locked_vertices = options.locked_vertices;
  const Checkpoint* const checkpoint = options.solver.checkpoint;
  if (resumes(checkpoint, kFit)) {
    saved_array(checkpoint->earlier->arrays, "motion", state.D.rows(), 4 * bones);  // or it is of another rig
  } else if (options.add_bones > 0) {
    RunOptions look = last;
    look.iterations = 1;
    look.update_bones = false;
    run(problem, look, state);
    const double whole[] = {1};
    add_bones(state,
              propose_bones(problem, state, options.add_bones, options.solver.transforms, whole, options.solver.seed));
  }
  last.checkpoint = options.solver.checkpoint;
  last.phase = kFit;
  const double start = now_seconds();
  last.after = [&](const FitState& now) {
    report.iterations.push_back({problem.e_rms(now.squares), now_seconds() - start});
    return tell(progress, "fit", static_cast<double>(report.iterations.size()) / last.iterations);
  };
  report.termination = termination_of(run(problem, last, state));
  report.add_seconds("fit", now_seconds() - start);
  report.bones_asked = report.bones = bones;

  const bool given_affine =
      given.transforms == Transforms::affine && std::find(locked.begin(), locked.end(), 1) != locked.end();
  const Transforms transforms = given_affine ? Transforms::affine : options.solver.transforms;
  Rig rig = to_rig(sequence, problem, state.D, state.weights, transforms, options.solver.influences == 0 ? 0 : widest);
  keep_given(given, locked, options.locked_vertices, weights_stay, rig);
  for (int i = 0; i < options.add_bones; ++i)
    rig.bones[given.bone_count() + static_cast<std::size_t>(i)].name = fmt::format("helper_{}", i);
  // Bones that all move as before are the skeleton that they were; helpers hang on no joint, so they end it.
  for (std::size_t b = 0; b < given.bone_count(); ++b) {
    rig.bones[b].parent = given.bones[b].parent;
    rig.bones[b].helper = given.bones[b].helper;
  }
  rig.drives = given.drives;
  rig.jointed = given.jointed && std::find(locked.begin(), locked.end(), 0) == locked.end();
  return rig;
}

}  // namespace sinew
