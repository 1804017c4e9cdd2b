#include "methods.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <thread>

#include "sinew/core/error.h"
#include "sinew/solve/clusters.h"

namespace sinew::python {
namespace {

[[noreturn]] void misused(const std::string& sentence) {
  throw Error(ErrorKind::usage, sentence);
}

struct MethodFacts {
  const char* name;
  std::set<std::string> takes;  // beyond bones, quality, seed, threads and corrections
};

const std::array<MethodFacts, 6>& methods() {
  static const std::array<MethodFacts, 6> all{{
      {"ssdr",
       {"influences", "transforms", "iterations", "smoothness", "max_error", "min_bones", "max_bones", "start", "rig",
        "fit", "lock", "add_bones", "lock_vertices", "laplacian", "rest_pose"}},
      {"kavan", {"influences", "iterations", "start"}},
      {"sma", {"influences", "transforms", "iterations", "rig", "fit", "epsilon", "weights"}},
      {"flats",
       {"max_error", "influences", "transforms", "iterations", "flat_solver", "outliers", "quantile", "starts",
        "optimize_rest"}},
      {"skeleton",
       {"influences", "smoothness", "iterations", "max_bones", "max_error", "rig", "fit", "clusters", "detail",
        "keep_all_bones", "free_joints", "symmetric", "root", "add_bones", "drive_helpers"}},
      {"clusters", {"iterations"}},
  }};
  return all;
}

SsdrOptions ssdr_options(const SolveRequest& request) {
  SsdrOptions options;
  options.bones = request.bones.value_or(options.bones);
  options.influences = request.influences.value_or(options.influences);
  options.transforms = request.transforms.value_or(options.transforms);
  options.smoothness = request.smoothness.value_or(options.smoothness);
  options.laplacian = request.laplacian;
  options.start = request.start.value_or(options.start);
  options.quality = request.quality;
  options.max_iterations = request.iterations.value_or(0);
  options.max_error = request.max_error.value_or(0);
  options.min_bones = request.min_bones.value_or(options.min_bones);
  options.max_bones = request.max_bones.value_or(options.max_bones);
  options.optimize_rest = request.rest_pose;
  options.seed = request.seed;
  options.threads = request.threads;
  options.checkpoint = request.checkpoint;
  return options;
}

/// A bone by its name, or by its number where no bone has that name.
Index bone_called(const Rig& rig, const std::string& name) {
  for (std::size_t b = 0; b < rig.bone_count(); ++b)
    if (rig.bones[b].name == name) return static_cast<Index>(b);
  const bool number = !name.empty() && name.size() < 7 && std::all_of(name.begin(), name.end(), ::isdigit);
  if (number && std::stoul(name) < rig.bone_count()) return static_cast<Index>(std::stoul(name));
  misused(fmt::format("no bone of the given rig is called '{}' (it has {} bones)", name, rig.bone_count()));
}

/// 1 where vertices are in the named group: at least half of their weight on the bone of that name, or at least half
/// red in the colour set of that name.
std::vector<std::uint8_t> group_called(const std::string& name, const Rig& rig, const Mesh& mesh) {
  std::vector<std::uint8_t> inside(mesh.vertex_count(), 0);
  for (const CornerAttribute<4>& colors : mesh.color_sets) {
    if (colors.name != name) continue;
    for (std::size_t c = 0; c < colors.indices.size(); ++c)
      if (colors.values[4 * std::size_t{colors.indices[c]}] >= 0.5F) inside[mesh.corners[c]] = 1;
    return inside;
  }
  const Index bone = bone_called(rig, name);
  const auto K = static_cast<std::size_t>(rig.weights.influences);
  for (std::size_t i = 0; i < rig.weights.values.size(); ++i)
    if (rig.weights.bones[i] == bone && rig.weights.values[i] >= 0.5F) inside[i / K] = 1;
  return inside;
}

Rig refit(const Sequence& sequence, const SolveRequest& request, FitReport& report, const Progress& progress) {
  if (request.bones || request.max_error)
    misused("rig brings its own bones: use add_bones rather than bones or max_error");
  if (request.start) misused("rig is where its bones start: leave start out");
  if (request.fit == "joints") misused("fit='joints' belongs to method='skeleton'");
  RefitOptions options;
  options.solver = ssdr_options(request);
  options.solver.transforms = request.transforms.value_or(request.given->transforms);
  if (request.fit == "weights") options.part = RefitPart::weights;
  if (request.fit == "motion") options.part = RefitPart::motion;
  for (const std::string& name : request.lock) options.locked_bones.push_back(bone_called(*request.given, name));
  options.locked_vertices = request.locked_vertices;
  if (!request.lock_vertices.empty())
    options.locked_vertices = group_called(request.lock_vertices, *request.given, sequence.rest);
  options.add_bones = request.add_bones;
  return refit_ssdr(sequence, *request.given, options, report, progress);
}

Rig solve_ssdr(const Sequence& sequence, const SolveRequest& request, FitReport& report, const Progress& progress) {
  if (request.given != nullptr) return refit(sequence, request, report, progress);
  if (request.add_bones > 0) misused("add_bones needs rig or method='skeleton'");
  if (!request.lock_vertices.empty() || !request.locked_vertices.empty()) misused("lock_vertices needs rig");
  return sinew::solve_ssdr(sequence, ssdr_options(request), report, progress);
}

Rig solve_kavan(const Sequence& sequence, const SolveRequest& request, FitReport& report, const Progress& progress) {
  SsdrOptions options = ssdr_options(request);
  options.transforms = Transforms::affine;
  options.optimize_rest = true;
  return sinew::solve_ssdr(sequence, options, report, progress);
}

Rig solve_sma(const Sequence& sequence, const SolveRequest& request, FitReport& report, const Progress& progress) {
  SmaOptions options;
  options.epsilon = request.epsilon;
  options.bones = request.bones.value_or(0);
  options.influences = request.influences.value_or(options.influences);
  options.transforms = request.transforms.value_or(options.transforms);
  options.weights = request.weights;
  options.negative_bound = request.negative_bound;
  options.iterations = request.iterations.value_or(options.iterations);
  options.threads = request.threads;
  options.checkpoint = request.checkpoint;
  if (request.given == nullptr) return sinew::solve_sma(sequence, options, report, progress);
  if (!request.fit.empty() && request.fit != "weights")
    misused(fmt::format("fit='{}': method='sma' fits weights to given bones", request.fit));
  if (request.bones) misused("bones does not go with rig: the bones are given");
  return fit_sma_weights(sequence, *request.given, options, report, progress);
}

Rig solve_flats(const Sequence& sequence, const SolveRequest& request, FitReport& report, const Progress& progress) {
  if (request.transforms == Transforms::rigid)
    misused("transforms='rigid': method='flats' finds affine bones only; use method='ssdr'");
  FlatsOptions options;
  options.bones = request.bones.value_or(options.bones);
  options.max_error = request.max_error.value_or(0);
  options.influences = request.influences.value_or(0);
  options.solver = request.flat_solver;
  options.outliers = request.outliers;
  options.quantile = request.quantile;
  options.optimize_rest = request.optimize_rest;
  options.seed = request.seed;
  options.threads = request.threads;
  options.checkpoint = request.checkpoint;
  set_quality(options, request.quality);
  if (request.starts > 0) {
    options.max_starts = request.starts;
    options.start_work = 1e15;
  }
  options.max_steps = request.iterations.value_or(options.max_steps);
  if (request.flat_solver == FlatSolver::alternating)
    options.alternations = request.iterations.value_or(options.alternations);
  return sinew::solve_flats(sequence, options, report, progress);
}

Rig solve_skeleton(const Sequence& sequence, const SolveRequest& request, FitReport& report, const Progress& progress) {
  if (request.bones && request.max_bones)
    misused("bones and max_bones say the same to method='skeleton': give one of them");
  if (request.influences == 0) misused("a skeleton has 1 to 8 influences per vertex, not all");
  SkeletonOptions options;
  options.clusters = request.clusters;
  options.detail = request.detail;
  options.free_joints = request.free_joints;
  options.keep_all_bones = request.keep_all_bones;
  options.symmetric = request.symmetric;
  options.uneven = request.uneven;
  options.helpers = request.add_bones;
  options.drive_helpers = request.drive_helpers;
  if (options.drive_helpers && options.helpers == 0) misused("drive_helpers needs add_bones");
  options.root = request.root;
  options.max_bones = request.bones.value_or(request.max_bones.value_or(0));
  options.max_error = request.max_error.value_or(0);
  if (options.max_bones > 0 && options.max_error > 0)
    misused("max_error looks for the number of bones: bones and max_bones give it");
  options.influences = request.influences.value_or(options.influences);
  options.smoothness = request.smoothness.value_or(options.smoothness);
  options.strict_iterations = request.iterations.value_or(options.strict_iterations);
  if (request.quality == Quality::fast) options.moves = 0;
  if (request.quality == Quality::best) options.moves = 200;
  options.seed = request.seed;
  options.threads = request.threads;
  options.checkpoint = request.checkpoint;
  if (request.given == nullptr) return sinew::solve_skeleton(sequence, options, report, progress);
  if (request.fit != "joints") misused("method='skeleton' keeps the hierarchy of rig with fit='joints' only");
  if (options.max_bones > 0 || options.max_error > 0)
    misused("rig brings its own bones: bones, max_bones and max_error do not go with it");
  if (options.symmetric) misused("rig brings its own joints: symmetric does not go with it");
  return refit_skeleton(sequence, *request.given, options, report, progress);
}

Rig solve_clusters(const Sequence& sequence, const SolveRequest& request, FitReport& report, const Progress& progress) {
  ClustersOptions options;
  options.bones = request.bones.value_or(options.bones);
  set_quality(options, request.quality);
  options.max_iterations = request.iterations.value_or(options.max_iterations);
  options.threads = request.threads;
  options.checkpoint = request.checkpoint;
  return sinew::solve_clusters(sequence, options, report, progress);
}

/// What the corrections of a solve came to, as `sinew solve` says it.
std::string sentence(const CorrectionReport& report) {
  return fmt::format("corrections of rank {}: E_RMS {:.3g} before, {:.3g} after", report.rank, report.e_rms.front(),
                     report.e_rms.back());
}

void add_corrections(Rig& rig, const Sequence& sequence, const SolveRequest& request, FitReport& report,
                     const Progress& progress) {
  const StepTimer timer(report, "corrections");
  CorrectionOptions options;
  options.rank = request.corrections;
  options.seed = request.seed;
  options.threads = request.threads;
  const std::string text = sentence(correct(rig, sequence, options, progress));
  report.remark = report.remark.empty() ? text : report.remark + "; " + text;
}

}  // namespace

bool takes(const std::string& method, const std::string& option) {
  for (const MethodFacts& facts : methods())
    if (method == facts.name) return facts.takes.count(option) != 0;
  misused(fmt::format("method='{}': ssdr, kavan, sma, flats, skeleton or clusters is expected", method));
}

Rig solve(const Sequence& sequence, const SolveRequest& request, FitReport& report, const Progress& progress) {
  if (request.bones && request.max_error) misused("bones and max_error exclude each other");
  if (request.given == nullptr && (!request.fit.empty() || !request.lock.empty())) misused("fit and lock need rig");
  const auto by_name = request.method == "ssdr"       ? solve_ssdr
                       : request.method == "kavan"    ? solve_kavan
                       : request.method == "sma"      ? solve_sma
                       : request.method == "flats"    ? solve_flats
                       : request.method == "skeleton" ? solve_skeleton
                                                      : solve_clusters;
  Rig rig = by_name(sequence, request, report, progress);
  if (request.corrections > 0 && report.termination != Termination::cancelled)
    add_corrections(rig, sequence, request, report, progress);
  report.method = request.method;  // kavan is solve_ssdr as well
  report.bones = static_cast<int>(rig.bone_count());
  return rig;
}

SolveEstimate estimate(const Sequence& sequence, const SolveRequest& request) {
  SolveSize size;
  size.vertices = sequence.vertex_count();
  size.triangles =
      sequence.rest.corners.size() - std::min(sequence.rest.corners.size(), 2 * sequence.rest.face_sizes.size());
  size.frames = sequence.frame_count();
  size.bones = request.bones.value_or(request.max_bones.value_or(request.max_error ? 128 : 20));
  if (request.given != nullptr) size.bones = static_cast<int>(request.given->bone_count());
  size.influences = request.influences.value_or(request.method == "flats" ? 0 : 4);
  size.quality = request.quality;
  size.threads =
      request.threads > 0 ? request.threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  if (request.method == "ssdr" || request.method == "skeleton") size.bones += request.add_bones;
  if (request.method == "skeleton") {
    size.symmetric = request.symmetric;
    if (!request.bones && !request.max_bones && request.given == nullptr) {
      size.bones = request.clusters;
      size.open_number = !request.keep_all_bones;
    }
  }
  SolveEstimate estimate = estimate_solve(request.method, size);
  if (request.start == Start::flats) {
    size.influences = 0;
    size.quality = Quality::fast;
    const SolveEstimate start = estimate_solve("flats", size);
    estimate.bytes = std::max(estimate.bytes, start.bytes);
    estimate.seconds += start.seconds;
  }
  return estimate;
}

}  // namespace sinew::python
