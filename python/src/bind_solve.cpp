#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "arrays.h"
#include "callback.h"
#include "model.h"
#include "options.h"
#include "sinew/core/error.h"
#include "sinew/evaluate/inside.h"
#include "sinew/evaluate/rig_match.h"
#include "sinew/evaluate/skeleton_match.h"
#include "sinew/evaluate/sted.h"
#include "sinew/evaluate/vertex_match.h"
#include "sinew/io/checkpoint_file.h"
#include "sinew/refine/corrections.h"

namespace sinew::python {
namespace {

/// Where a solve keeps its state, in a file or nowhere.
std::unique_ptr<CheckpointFile> open_checkpoint(const std::filesystem::path& path, double seconds,
                                                const Sequence& sequence, const SolveRequest& request,
                                                const nb::dict& options) {
  if (path.empty()) return {};
  std::string input = digest_of(sequence);
  if (request.given != nullptr) input += " " + digest_of(*request.given);
  CheckpointFileOptions file;
  file.seconds = seconds;
  return std::make_unique<CheckpointFile>(path, SolveIdentity{options_line(options), input}, file);
}

struct Solved {
  Rig rig;
  FitReport report;
  Errors errors;
  double seconds = 0;
};

/// Without the interpreter's lock.
Solved solve_and_evaluate(const Sequence& sequence, const Request& request, const Progress& progress) {
  Solved out;
  const double start = now_seconds();
  out.rig = solve(sequence, request.solve, out.report, progress);
  const CorrectionOptions corrections{
      .rank = request.corrections, .seed = request.solve.seed, .threads = request.solve.threads};
  if (out.report.termination != Termination::cancelled)
    add_corrections(out.rig, sequence, corrections, out.report, progress);
  out.seconds = now_seconds() - start;
  try {
    out.rig.check();
  } catch (const Error& error) {
    throw Error(ErrorKind::unusable, fmt::format("the solve ended without a usable model: {}", error.what()));
  }
  const StepTimer timer(out.report, "evaluate");
  out.errors = evaluate(out.rig, sequence, request.solve.threads);
  if (!std::isfinite(out.errors.e_rms))
    throw Error(ErrorKind::unusable, "the solve ended without a usable model: its error is not finite");
  return out;
}

Model solve_model(const Sequence& sequence, const nb::dict& options, nb::object progress,
                  const std::filesystem::path& checkpoint, double checkpoint_seconds, double memory_limit) {
  Request request = solve_request(options);
  if (memory_limit > 0) {
    const double bytes = estimate(sequence, request.solve).bytes;
    if (bytes > memory_limit)
      throw Error(ErrorKind::unusable,
                  fmt::format("this solve takes about {:.3g} GB of memory, more than the {:.3g} GB that memory_limit "
                              "allows",
                              bytes / 1e9, memory_limit / 1e9));
  }
  const auto file = open_checkpoint(checkpoint, checkpoint_seconds, sequence, request.solve, options);
  request.solve.checkpoint = file.get();
  LongWork work(std::move(progress));
  Solved solved = work.run([&](const Progress& told) { return solve_and_evaluate(sequence, request, told); });
  if (file && solved.report.termination != Termination::cancelled) file->discard();
  nb::dict facts = facts_of(solved.report);
  facts["seconds"]["solve"] = solved.seconds;
  facts["errors"] = facts_of(solved.errors);
  return {std::move(solved.rig), make_report(facts)};
}

nb::dict facts_of(const Inside& inside) {
  nb::dict out;
  out["joints"] = inside.joints;
  out["joint_share"] = inside.joint_share;
  out["length_share"] = inside.length_share;
  out["worst_percent"] = inside.worst_percent;
  out["worst_joint"] = inside.worst_joint;
  return out;
}

nb::dict facts_of(const VertexMatch& match) {
  nb::dict out;
  out["vertices"] = match.of.size() - match.missing;
  out["largest_percent"] = match.largest_percent;
  out["by_motion"] = match.by_motion;
  out["copies"] = match.copies;
  out["left_out"] = match.missing;
  return out;
}

nb::dict facts_of(const SkeletonMatch& match) {
  nb::list joints;
  for (const JointMatch& joint : match.joints) {
    nb::dict facts;
    facts["name"] = joint.name;
    facts["degrees"] = joint.degrees;
    facts["slide_percent"] = joint.slide;
    facts["counts"] = joint.turns;
    facts["percent"] = joint.percent;
    facts["nearest"] = joint.nearest;
    facts["near"] = joint.near;
    facts["matched"] = joint.matched;
    facts["found"] = joint.found;
    joints.append(facts);
  }
  nb::dict out;
  out["recall"] = match.recall;
  out["precision"] = match.precision;
  out["near_recall"] = match.near_recall;
  out["near_precision"] = match.near_precision;
  out["parent_agreement"] = match.parent_agreement;
  out["recovered_joints"] = match.recovered_joints;
  out["joints"] = joints;
  return out;
}

nb::dict facts_of(const RigMatch& match) {
  nb::dict out;
  out["weight_error"] = match.weight_error;
  out["transform_error"] = match.transform_error;
  out["vertex_transform_error"] = match.vertex_transform_error;
  out["partners"] = match.partner;
  return out;
}

/// All that `sinew evaluate` says of a rig in memory.
struct Judgement {
  std::optional<VertexMatch> match;  // where the vertices are not in the order of the sequence
  Errors errors;
  EdgeErrors edges;
  std::optional<std::pair<Inside, Inside>> inside;  // at rest and posed, of a skeleton
  std::optional<SkeletonMatch> joints;
  std::optional<RigMatch> model;
};

/// Without the interpreter's lock.
Judgement judge(const Rig& given, const Sequence& whole, int threads, const Rig* truth) {
  Judgement out;
  Rig ordered;
  Sequence part;
  if (!same_vertices(given, whole)) {
    out.match = match_vertices(given, whole);
    part = matched_part(whole, *out.match);
    ordered = in_order_of(given, *out.match, part);
  }
  const Rig& rig = out.match ? ordered : given;
  const Sequence& sequence = out.match ? part : whole;
  out.errors = evaluate(rig, sequence, threads);
  out.edges = evaluate_edges(rig, sequence, threads);
  if (rig.jointed) out.inside = {inside_at_rest(rig), inside_when_posed(rig)};
  if (truth == nullptr) return out;
  const bool same = truth->vertex_count() == rig.vertex_count() && truth->frame_count() == rig.frame_count();
  const bool hierarchy =
      std::any_of(truth->bones.begin(), truth->bones.end(), [](const Bone& bone) { return bone.parent >= 0; });
  if (hierarchy || !same) out.joints = match_skeletons(rig, *truth);
  if (same) out.model = match_rigs(rig, *truth);
  return out;
}

nb::object evaluate_model(const Model& model, const Sequence& sequence, int threads, const Model* truth) {
  Judgement judged;
  {
    const nb::gil_scoped_release released;
    judged = judge(model.rig, sequence, threads, truth == nullptr ? nullptr : &truth->rig);
  }
  nb::dict out = python::facts_of(judged.errors);
  nb::dict edges;
  edges["spatial_percent"] = judged.edges.spatial_percent;
  edges["temporal_percent"] = judged.edges.temporal_percent;
  out["edges"] = edges;
  if (judged.match) out["matched"] = facts_of(*judged.match);
  if (judged.inside) {
    nb::dict inside;
    inside["rest"] = facts_of(judged.inside->first);
    inside["posed"] = facts_of(judged.inside->second);
    out["inside"] = inside;
  }
  if (judged.joints) out["skeleton"] = facts_of(*judged.joints);
  if (judged.model) out["model"] = facts_of(*judged.model);
  return make_report(out);
}

}  // namespace

nb::dict facts_of(const FitReport& report) {
  nb::dict out;
  out["method"] = report.method;
  out["bones_asked"] = report.bones_asked;
  out["bones"] = report.bones;
  out["device"] = report.device;
  out["remark"] = report.remark;
  out["termination"] = std::string(to_string(report.termination));
  nb::list iterations;
  for (const IterationRecord& record : report.iterations) {
    nb::dict entry;
    entry["e_rms"] = record.e_rms;
    entry["seconds"] = record.seconds;
    iterations.append(entry);
  }
  out["iterations"] = iterations;
  nb::list search;
  for (const SearchRecord& record : report.search) {
    nb::dict entry;
    entry["bones"] = record.bones;
    entry["e_rms"] = record.e_rms;
    search.append(entry);
  }
  out["search"] = search;
  nb::dict seconds;
  for (const auto& [step, value] : report.seconds) seconds[step.c_str()] = value;
  out["seconds"] = seconds;
  return out;
}

nb::dict facts_of(const Errors& errors) {
  nb::dict out;
  out["e_rms"] = errors.e_rms;
  out["rmse_percent"] = errors.rmse_percent;
  out["distortion_percent"] = errors.distortion_percent;
  out["normal_degrees"] = errors.normal_degrees;
  out["played_degrees"] = errors.played_degrees;
  out["max_distance"] = errors.max_distance;
  out["max_percent"] = errors.max_percent;
  out["worst_frame"] = errors.worst_frame;
  out["worst_vertex"] = errors.worst_vertex;
  out["per_frame_percent"] = array_of(std::vector<double>(errors.per_frame), {errors.per_frame.size()});
  out["per_vertex_percent"] = array_of(std::vector<double>(errors.per_vertex), {errors.per_vertex.size()});
  return out;
}

void bind_solve(nb::module_& module) {
  module.def(
      "solve", &solve_model,
      nb::sig("def solve(sequence: Sequence, options: dict[str, typing.Any], progress: typing.Any, checkpoint: str, "
              "checkpoint_seconds: float, memory_limit: float) -> Rig"),
      nb::arg("sequence"), nb::arg("options"), nb::arg("progress").none(), nb::arg("checkpoint"),
      nb::arg("checkpoint_seconds"), nb::arg("memory_limit"));
  module.def(
      "estimate",
      [](const Sequence& sequence, const nb::dict& options) {
        const SolveEstimate needed = estimate(sequence, solve_request(options).solve);
        nb::dict out;
        out["memory_bytes"] = needed.bytes;
        out["seconds"] = needed.seconds;
        return out;
      },
      nb::sig("def estimate(sequence: Sequence, options: dict[str, typing.Any]) -> dict[str, float]"),
      nb::arg("sequence"), nb::arg("options"));
  module.def("evaluate", &evaluate_model,
             nb::sig("def evaluate(rig: Rig, sequence: Sequence, threads: int, truth: Rig | None) -> "
                     "sinew._types.Report"),
             nb::arg("rig"), nb::arg("sequence"), nb::arg("threads"), nb::arg("truth").none());
}

}  // namespace sinew::python
