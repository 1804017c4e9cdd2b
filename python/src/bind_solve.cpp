#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <memory>

#include "arrays.h"
#include "callback.h"
#include "model.h"
#include "options.h"
#include "sinew/core/error.h"
#include "sinew/io/checkpoint_file.h"
#include "sinew/refine/corrections.h"

namespace sinew::python {
namespace {

nb::dict solve_facts(const FitReport& report) {
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
  nb::dict facts = solve_facts(solved.report);
  facts["seconds"]["solve"] = solved.seconds;
  facts["errors"] = facts_of(solved.errors);
  return {std::move(solved.rig), make_report(facts)};
}

}  // namespace

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
  module.def(
      "evaluate",
      [](const Model& rig, const Sequence& sequence, int threads) {
        Errors errors;
        {
          const nb::gil_scoped_release released;
          errors = evaluate(rig.rig, sequence, threads);
        }
        return make_report(facts_of(errors));
      },
      nb::sig("def evaluate(rig: Rig, sequence: Sequence, threads: int) -> sinew._types.Report"), nb::arg("rig"),
      nb::arg("sequence"), nb::arg("threads"));
}

}  // namespace sinew::python
