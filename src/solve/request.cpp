#include "sinew/solve/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <exception>

#include "math/parallel.h"
#include "sinew/core/error.h"
#include "sinew/solve/clusters.h"

namespace sinew {
namespace {

[[noreturn]] void misused(const std::string& sentence) {
  throw Error(ErrorKind::usage, sentence);
}

struct MethodFacts {
  SolveMethod method;
  bool affine;                          // its bones shear unless told to be rigid
  std::vector<std::string_view> takes;  // beyond what all methods take
  Rig (*solve)(const Sequence&, const SolveRequest&, FitReport&, const Progress&);
};

/// Writes options as the caller of the request does.
class Words {
 public:
  explicit Words(OptionStyle style) : flags_(style == OptionStyle::flags) {}

  std::string operator()(std::string_view option) const {
    std::string out(option);
    if (!flags_) return out;
    std::replace(out.begin(), out.end(), '_', '-');
    return "--" + out;
  }

  std::string operator()(std::string_view option, std::string_view value) const {
    return flags_ ? fmt::format("{} {}", (*this)(option), value) : fmt::format("{}='{}'", option, value);
  }

 private:
  bool flags_;
};

SsdrOptions ssdr_options(const SolveRequest& request) {
  SsdrOptions options;
  options.bones = request.bones.value_or(options.bones);
  options.influences = request.influences.value_or(options.influences);
  options.transforms = request.transforms.value_or(options.transforms);
  options.smoothness = request.smoothness.value_or(options.smoothness);
  options.laplacian = request.ssdr.laplacian;
  options.start = request.start.value_or(options.start);
  options.quality = request.quality;
  options.time = request.time.value_or(0);
  options.work = request.work.value_or(0);
  options.surface = request.surface.value_or(options.surface);
  options.max_iterations = request.iterations.value_or(0);
  options.max_error = request.max_error.value_or(0);
  options.min_bones = request.min_bones.value_or(options.min_bones);
  options.max_bones = request.max_bones.value_or(options.max_bones);
  options.optimize_rest = request.ssdr.rest_pose;
  options.seed = request.seed;
  options.threads = request.threads;
  options.device = request.device;
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

/// The motion of a rig with joints is that of its joints, unless `transforms` asks for bones that are free of them.
bool keeps_joints(const SolveRequest& request) {
  return request.fit == "motion" && request.given->jointed && !request.transforms && request.lock.empty() &&
         request.add_bones == 0;
}

Rig turn_joints(const Sequence& sequence, const SolveRequest& request, FitReport& report, const Progress& progress) {
  SkeletonOptions options;
  options.strict_iterations = request.iterations.value_or(100);
  options.seed = request.seed;
  options.threads = request.threads;
  return refit_joint_rotations(sequence, *request.given, options, report, progress);
}

Rig refit(const Sequence& sequence, const SolveRequest& request, FitReport& report, const Progress& progress) {
  const Words say(request.style);
  if (request.bones || request.max_error)
    misused(fmt::format("{} brings its own bones: use {} rather than {} or {}", say("rig"), say("add_bones"),
                        say("bones"), say("max_error")));
  if (request.start) misused(fmt::format("{} is where its bones start: leave {} out", say("rig"), say("start")));
  if (request.fit == "joints")
    misused(fmt::format("{} belongs to {}", say("fit", "joints"), say("method", "skeleton")));
  if (keeps_joints(request)) return turn_joints(sequence, request, report, progress);
  RefitOptions options;
  options.solver = ssdr_options(request);
  options.solver.transforms = request.transforms.value_or(request.given->transforms);
  if (request.device.kind == Device::Kind::cuda)
    misused(fmt::format("{} is fitted on the processor: leave {} out", say("rig"), say("device")));
  if (request.fit == "weights") options.part = RefitPart::weights;
  if (request.fit == "motion") options.part = RefitPart::motion;
  for (const std::string& name : request.lock) options.locked_bones.push_back(bone_called(*request.given, name));
  options.locked_vertices = request.ssdr.locked_vertices;
  if (!request.ssdr.lock_vertices.empty())
    options.locked_vertices = group_called(request.ssdr.lock_vertices, *request.given, sequence.rest);
  options.add_bones = request.add_bones;
  return refit_ssdr(sequence, *request.given, options, report, progress);
}

Rig by_ssdr(const Sequence& sequence, const SolveRequest& request, FitReport& report, const Progress& progress) {
  if (request.given != nullptr) return refit(sequence, request, report, progress);
  const Words say(request.style);
  if (request.add_bones > 0)
    misused(fmt::format("{} needs {} or {}", say("add_bones"), say("rig"), say("method", "skeleton")));
  if (!request.ssdr.lock_vertices.empty() || !request.ssdr.locked_vertices.empty())
    misused(fmt::format("{} needs {}", say("lock_vertices"), say("rig")));
  return solve_ssdr(sequence, ssdr_options(request), report, progress);
}

Rig by_kavan(const Sequence& sequence, const SolveRequest& request, FitReport& report, const Progress& progress) {
  SsdrOptions options = ssdr_options(request);
  options.transforms = Transforms::affine;
  options.optimize_rest = true;
  return solve_ssdr(sequence, options, report, progress);
}

Rig by_sma(const Sequence& sequence, const SolveRequest& request, FitReport& report, const Progress& progress) {
  SmaOptions options = request.sma;
  options.bones = request.bones.value_or(0);
  options.influences = request.influences.value_or(options.influences);
  options.transforms = request.transforms.value_or(options.transforms);
  options.iterations = request.iterations.value_or(options.iterations);
  options.threads = request.threads;
  options.checkpoint = request.checkpoint;
  if (request.given == nullptr) return solve_sma(sequence, options, report, progress);
  const Words say(request.style);
  if (!request.fit.empty() && request.fit != "weights")
    misused(fmt::format("{}: {} fits weights to given bones", say("fit", request.fit), say("method", "sma")));
  if (request.bones) misused(fmt::format("{} does not go with {}: the bones are given", say("bones"), say("rig")));
  return fit_sma_weights(sequence, *request.given, options, report, progress);
}

Rig by_flats(const Sequence& sequence, const SolveRequest& request, FitReport& report, const Progress& progress) {
  const Words say(request.style);
  if (request.transforms == Transforms::rigid)
    misused(fmt::format("{}: {} finds affine bones only; use {}", say("transforms", "rigid"), say("method", "flats"),
                        say("method", "ssdr")));
  FlatsOptions options = request.flats;
  options.bones = request.bones.value_or(options.bones);
  options.max_error = request.max_error.value_or(0);
  options.influences = request.influences.value_or(0);
  options.seed = request.seed;
  options.threads = request.threads;
  options.checkpoint = request.checkpoint;
  set_quality(options, request.quality);
  if (request.starts > 0) {
    options.max_starts = request.starts;
    options.start_work = 1e15;
  }
  options.max_steps = request.iterations.value_or(options.max_steps);
  if (options.solver == FlatSolver::alternating)
    options.alternations = request.iterations.value_or(options.alternations);
  return solve_flats(sequence, options, report, progress);
}

Rig by_skeleton(const Sequence& sequence, const SolveRequest& request, FitReport& report, const Progress& progress) {
  const Words say(request.style);
  if (request.bones && request.max_bones)
    misused(fmt::format("{} and {} say the same to {}: give one of them", say("bones"), say("max_bones"),
                        say("method", "skeleton")));
  if (request.influences == 0) misused("a skeleton has 1 to 8 influences per vertex, not all");
  SkeletonOptions options = request.skeleton;
  options.max_bones = request.bones.value_or(request.max_bones.value_or(0));
  options.max_error = request.max_error.value_or(0);
  if (options.max_bones > 0 && options.max_error > 0)
    misused(fmt::format("{} looks for the number of bones: {} and {} give it", say("max_error"), say("bones"),
                        say("max_bones")));
  options.influences = request.influences.value_or(options.influences);
  options.smoothness = request.smoothness.value_or(options.smoothness);
  options.strict_iterations = request.iterations.value_or(options.strict_iterations);
  if (request.quality == Quality::fast) options.moves = 0;
  if (request.quality == Quality::best) options.moves = 200;
  options.seed = request.seed;
  options.threads = request.threads;
  options.checkpoint = request.checkpoint;
  options.helpers = request.add_bones;
  if (options.drive_helpers && options.helpers == 0)
    misused(fmt::format("{} needs {}: a skeleton has no helpers by itself", say("drive_helpers"), say("add_bones")));
  if (request.given == nullptr) return solve_skeleton(sequence, options, report, progress);
  if (request.fit != "joints")
    misused(fmt::format("{} keeps the hierarchy of {} with {} only", say("method", "skeleton"), say("rig"),
                        say("fit", "joints")));
  if (options.max_bones > 0 || options.max_error > 0)
    misused(fmt::format("{} brings its own bones: {}, {} and {} do not go with it", say("rig"), say("bones"),
                        say("max_bones"), say("max_error")));
  if (options.helpers > 0)
    misused(fmt::format("{} adds to {} with {}, which {} is not", say("add_bones"), say("rig"), say("method", "ssdr"),
                        say("method", "skeleton")));
  if (options.symmetric)
    misused(fmt::format("{} brings its own joints: {} does not go with it", say("rig"), say("symmetric")));
  return refit_skeleton(sequence, *request.given, options, report, progress);
}

Rig by_clusters(const Sequence& sequence, const SolveRequest& request, FitReport& report, const Progress& progress) {
  ClustersOptions options;
  options.bones = request.bones.value_or(options.bones);
  set_quality(options, request.quality);
  options.max_iterations = request.iterations.value_or(options.max_iterations);
  options.threads = request.threads;
  options.checkpoint = request.checkpoint;
  return solve_clusters(sequence, options, report, progress);
}

const std::vector<MethodFacts>& all_methods() {
  static const std::vector<MethodFacts> all{
      {{"ssdr", "rigid or affine bones with sparse smooth weights"},
       false,
       {"influences", "transforms", "iterations", "smoothness", "max_error", "min_bones", "max_bones", "start", "rig",
        "fit", "lock", "add_bones", "lock_vertices", "laplacian", "rest_pose", "time", "work", "surface", "device"},
       by_ssdr},
      {{"kavan", "affine bones, sparse weights and an optimised rest pose"},
       true,
       {"influences", "iterations", "start", "time", "work", "device"},
       by_kavan},
      {{"sma", "near-rigid parts by mean shift; finds the number of bones itself"},
       true,
       {"influences", "transforms", "iterations", "rig", "fit", "epsilon", "weights"},
       by_sma},
      {{"flats", "affine bones with dense weights, lowest error (hyperspectral inverse skinning)"},
       true,
       {"max_error", "influences", "transforms", "iterations", "flat_solver", "outliers", "quantile", "starts",
        "optimize_rest"},
       by_flats},
      {{"skeleton", "a joint hierarchy whose bones only rotate (also: --skeleton)"},
       false,
       {"influences", "smoothness", "iterations", "max_bones", "max_error", "skeleton", "rig", "fit", "clusters",
        "detail", "keep_all_bones", "free_joints", "symmetric", "no_symmetric", "root", "add_bones", "drive_helpers"},
       by_skeleton},
      {{"clusters", "rigid parts, one bone per vertex; fast and crude"}, false, {"iterations"}, by_clusters},
  };
  return all;
}

const MethodFacts& facts_of(std::string_view method) {
  for (const MethodFacts& facts : all_methods())
    if (facts.method.name == method) return facts;
  misused(fmt::format("there is no method '{}': ssdr, kavan, sma, flats, skeleton or clusters is expected", method));
}

SolveSize size_of(const Sequence& sequence, const SolveRequest& request) {
  SolveSize size;
  size.vertices = sequence.vertex_count();
  size.triangles =
      sequence.rest.corners.size() - std::min(sequence.rest.corners.size(), 2 * sequence.rest.face_sizes.size());
  size.frames = sequence.frame_count();
  size.bones = request.bones.value_or(request.max_bones.value_or(request.max_error ? 128 : 20));
  if (request.given != nullptr) size.bones = static_cast<int>(request.given->bone_count());
  size.influences = request.influences.value_or(request.method == "flats" ? 0 : 4);
  size.quality = request.quality;
  size.threads = resolve_threads(request.threads);
  if (request.time || request.work) size.quality = Quality::best;  // memory of whatever there may be time for
  size.bones += request.add_bones;
  if (request.method != "skeleton") return size;
  size.symmetric = request.skeleton.symmetric;
  if (!request.bones && !request.max_bones && request.given == nullptr) {
    size.bones = request.skeleton.clusters + request.add_bones;
    size.open_number = !request.skeleton.keep_all_bones;
  }
  return size;
}

}  // namespace

const std::vector<SolveMethod>& solve_methods() {
  static const std::vector<SolveMethod> names = [] {
    std::vector<SolveMethod> out;
    for (const MethodFacts& facts : all_methods()) out.push_back(facts.method);
    return out;
  }();
  return names;
}

bool takes(std::string_view method, std::string_view option) {
  const MethodFacts& facts = facts_of(method);
  return std::find(facts.takes.begin(), facts.takes.end(), option) != facts.takes.end();
}

bool is_affine(const SolveRequest& request) {
  if (request.transforms) return *request.transforms == Transforms::affine;
  return facts_of(request.method).affine;
}

bool set_sma_weights(std::string_view text, SmaOptions& options) {
  if (text == "nnls" || text == "tsvd") {
    options.weights = text == "nnls" ? SmaWeights::nnls : SmaWeights::tsvd;
    return true;
  }
  const std::string_view prefix = "bounded:";
  if (text.substr(0, prefix.size()) != prefix) return false;
  const std::string number(text.substr(prefix.size()));
  std::size_t used = 0;
  double bound = -1;
  try {
    bound = std::stod(number, &used);
  } catch (const std::exception&) {
    return false;
  }
  if (used != number.size() || !(bound >= 0)) return false;
  options.weights = SmaWeights::bounded;
  options.negative_bound = bound;
  return true;
}

Rig solve(const Sequence& sequence, const SolveRequest& request, FitReport& report, const Progress& progress) {
  const Words say(request.style);
  if (request.bones && request.max_error)
    misused(fmt::format("{} and {} exclude each other", say("bones"), say("max_error")));
  if (request.time && request.work) misused(fmt::format("{} and {} exclude each other", say("time"), say("work")));
  if (request.given == nullptr && (!request.fit.empty() || !request.lock.empty()))
    misused(fmt::format("{} and {} need {}", say("fit"), say("lock"), say("rig")));
  Rig rig = facts_of(request.method).solve(sequence, request, report, progress);
  report.method = request.method;  // kavan is solve_ssdr as well
  report.bones = static_cast<int>(rig.bone_count());
  return rig;
}

SolveEstimate estimate(const Sequence& sequence, const SolveRequest& request) {
  SolveSize size = size_of(sequence, request);
  const Paging* const paging = sequence.frames.paging();
  SolveEstimate out = paging != nullptr ? estimate_paged(request.method, size, static_cast<double>(paging->memory))
                                        : estimate_solve(request.method, size);
  // Reading, writing and evaluating beside it; a unit of work is about a millisecond.
  if (request.time) out.seconds = *request.time + 0.2 + 2e-8 * static_cast<double>(size.frames * size.vertices);
  if (request.work) out.seconds = 1e-3 * *request.work + 0.2;
  if (request.time || request.work) out.cpu_seconds = out.seconds * size.threads;
  if (request.start != Start::flats) return out;
  size.influences = 0;
  size.quality = Quality::fast;
  const SolveEstimate start = paging != nullptr ? estimate_paged("flats", size, static_cast<double>(paging->memory))
                                                : estimate_solve("flats", size);
  out.passes += paging != nullptr ? 3 : 0;
  out.bytes = std::max(out.bytes, start.bytes);
  out.seconds += start.seconds;
  out.cpu_seconds += start.cpu_seconds;
  return out;
}

}  // namespace sinew
