#include <fmt/format.h>

#include <algorithm>

#include "sinew/core/error.h"
#include "sinew/solve/ssdr.h"
#include "solve.h"

namespace sinew::tool {
namespace {

/// Options that only this method has.
struct SsdrRequest {
  std::string laplacian = "rigidness";
  std::string lock_vertices;
  bool rest_pose = false;
};

SsdrOptions ssdr_options(const SolveOptions& options, const SsdrRequest& own) {
  SsdrOptions solver;
  solver.bones = options.bones.value_or(solver.bones);
  solver.influences = influences_of(options, solver.influences);
  if (options.transforms == "affine") solver.transforms = Transforms::affine;
  solver.smoothness = options.smoothness.value_or(solver.smoothness);
  solver.laplacian = own.laplacian == "graph" ? LaplacianKind::graph : LaplacianKind::rigidness;
  solver.max_iterations = options.iterations.value_or(0);
  solver.max_error = options.max_error.value_or(0);
  solver.min_bones = options.min_bones.value_or(solver.min_bones);
  solver.max_bones = options.max_bones.value_or(solver.max_bones);
  if (options.start == "flats") solver.start = Start::flats;
  solver.optimize_rest = own.rest_pose;
  solver.seed = options.seed;
  solver.threads = options.threads;
  solver.checkpoint = options.checkpoint;
  solver.quality = options.quality;
  return solver;
}

/// A bone by its name, or by its number where no bone has that name.
Index bone_called(const Rig& rig, const std::string& name) {
  for (std::size_t b = 0; b < rig.bone_count(); ++b) {
    if (rig.bones[b].name == name) return static_cast<Index>(b);
  }
  const bool number = !name.empty() && name.size() < 7 && std::all_of(name.begin(), name.end(), ::isdigit);
  if (number && std::stoul(name) < rig.bone_count()) return static_cast<Index>(std::stoul(name));
  throw Error(ErrorKind::usage,
              fmt::format("no bone of the given rig is called '{}' (it has {} bones)", name, rig.bone_count()));
}

/// 1 where vertices are in the named group: at least half of their weight on the bone of that name, or at least half
/// red in the colour set of that name.
std::vector<std::uint8_t> group_called(const std::string& name, const Rig& rig, const Mesh& mesh) {
  std::vector<std::uint8_t> inside(mesh.vertex_count(), 0);
  for (const CornerAttribute<4>& colors : mesh.color_sets) {
    if (colors.name != name) continue;
    for (std::size_t c = 0; c < colors.indices.size(); ++c) {
      if (colors.values[4 * std::size_t{colors.indices[c]}] >= 0.5F) inside[mesh.corners[c]] = 1;
    }
    return inside;
  }
  const Index bone = bone_called(rig, name);
  const auto K = static_cast<std::size_t>(rig.weights.influences);
  for (std::size_t i = 0; i < rig.weights.values.size(); ++i) {
    if (rig.weights.bones[i] == bone && rig.weights.values[i] >= 0.5F) inside[i / K] = 1;
  }
  return inside;
}

Rig refit(const Sequence& sequence, const SolveOptions& options, const SsdrRequest& own, FitReport& report,
          const Progress& progress) {
  if (options.bones || options.max_error) {
    throw Error(ErrorKind::usage, "--rig brings its own bones: use --add-bones rather than --bones or --max-error");
  }
  if (!options.start.empty()) throw Error(ErrorKind::usage, "--rig is where its bones start: leave --start out");
  RefitOptions refit;
  refit.solver = ssdr_options(options, own);
  if (options.transforms.empty()) refit.solver.transforms = options.given->transforms;
  if (options.fit == "weights") refit.part = RefitPart::weights;
  if (options.fit == "motion") refit.part = RefitPart::motion;
  if (options.fit == "joints") throw Error(ErrorKind::usage, "--fit joints belongs to --skeleton");
  for (const std::string& name : options.lock) refit.locked_bones.push_back(bone_called(*options.given, name));
  if (!own.lock_vertices.empty()) {
    refit.locked_vertices = group_called(own.lock_vertices, *options.given, sequence.rest);
  }
  refit.add_bones = options.add_bones;
  return refit_ssdr(sequence, *options.given, refit, report, progress);
}

Rig solve(const Sequence& sequence, const SolveOptions& options, const SsdrRequest& own, FitReport& report,
          const Progress& progress) {
  if (options.given) return refit(sequence, options, own, report, progress);
  if (options.add_bones > 0) throw Error(ErrorKind::usage, "--add-bones needs --rig or --skeleton");
  if (!own.lock_vertices.empty()) throw Error(ErrorKind::usage, "--lock-vertices needs --rig");
  return solve_ssdr(sequence, ssdr_options(options, own), report, progress);
}

}  // namespace

Method ssdr_method() {
  const auto own = std::make_shared<SsdrRequest>();
  Method method;
  method.name = "ssdr";
  method.summary = "rigid or affine bones with sparse smooth weights";
  method.takes = {"--influences", "--transforms", "--iterations", "--smoothness", "--max-error", "--min-bones",
                  "--max-bones",  "--start",      "--rig",        "--fit",        "--lock",      "--add-bones"};
  method.add_options = [own](CLI::App& command) {
    command.add_option("--lock-vertices", own->lock_vertices,
                       "With --rig: vertices that keep their weights, by bone or colour set");
    command.add_option("--laplacian", own->laplacian, "What --smoothness goes by: rigidness or graph (rigidness)")
        ->check(CLI::IsMember({"rigidness", "graph"}));
    command.add_flag("--rest-pose", own->rest_pose, "Move the rest pose as well");
  };
  method.solve = [own](const Sequence& sequence, const SolveOptions& options, FitReport& report,
                       const Progress& progress) { return solve(sequence, options, *own, report, progress); };
  method.add_size = [](const SolveOptions& options, SolveSize& size) { size.bones += options.add_bones; };
  return method;
}

Method kavan_method() {
  Method method;
  method.name = "kavan";
  method.summary = "affine bones, fixed sparsity and an optimised rest pose";
  method.affine = true;
  method.takes = {"--influences", "--iterations", "--start"};
  method.solve = [](const Sequence& sequence, const SolveOptions& options, FitReport& report,
                    const Progress& progress) {
    SsdrOptions solver = ssdr_options(options, {});
    solver.transforms = Transforms::affine;
    solver.optimize_rest = true;
    return solve_ssdr(sequence, solver, report, progress);
  };
  return method;
}

}  // namespace sinew::tool
