#include "reduce.h"

#include <fmt/format.h>

#include <algorithm>

#include "commands.h"
#include "inputs.h"
#include "interrupt.h"
#include "output.h"
#include "progress_bar.h"
#include "report.h"
#include "sinew/core/error.h"
#include "sinew/evaluate/errors.h"
#include "sinew/refine/reduce_weights.h"
#include "sinew/solve/ssdr.h"

namespace sinew::tool {
namespace {

struct ReduceRequest {
  std::filesystem::path rig;
  std::filesystem::path out;
  std::vector<std::filesystem::path> examples;
  std::string method = "geometry";
  std::string refit = "auto";
  ReduceOptions options;
  WriteOptions write;
  bool json = false;
};

/// How far the weights moved: sqrt(|W' − W|² / BV), as the papers' Δ_W.
double weight_change(const SkinWeights& before, const SkinWeights& after, std::size_t bones) {
  const auto difference = (unpack_weights(before, bones) - unpack_weights(after, bones)).cast<double>().eval();
  return std::sqrt(difference.squaredNorm() / static_cast<double>(difference.size()));
}

/// The rig with fewer influences, fitted to what it is to do: weights and, where bones are free, their motion.
Rig refitted(const Rig& reduced, const Sequence& target, const ReduceOptions& options, const Progress& progress) {
  RefitOptions refit;
  refit.part = reduced.jointed ? RefitPart::weights : RefitPart::all;
  refit.solver.influences = options.influences;
  refit.solver.transforms = reduced.transforms;
  refit.solver.threads = options.threads;
  FitReport report;
  const Rig fitted = refit_ssdr(target, reduced, refit, report, progress);
  Rig out = reduced;
  out.weights = fitted.weights;
  if (!reduced.jointed) out.motion = fitted.motion;
  return out;
}

/// Whether fitting anew can be tried: ssdr takes up to 8 influences, and rest poses that do not change.
bool can_refit(const Rig& rig, const ReduceOptions& options) {
  return options.influences <= 8 && !rig.corrections && rig.frame_count() > 1;
}

/// What was lost, and to what end.
struct Reduced {
  Rig rig;
  double cut = 0;         // E_RMS with the weights cut alone
  bool refitted = false;  // the rig is the refitted one
};

Reduced reduce(const Rig& before, const Sequence& target, const ReduceRequest& request) {
  ProgressBar bar;
  Reduced out{before, 0, false};
  out.rig.weights = reduce_weights(before, &target, request.options, bar.callback());
  out.cut = evaluate(out.rig, target, request.options.threads).e_rms;
  constexpr double kNothingLost = 0.01;  // E_RMS
  if (request.refit == "never" || !can_refit(before, request.options)) {
    if (request.refit == "always")
      throw Error(ErrorKind::usage, "--refit always: it takes at most 8 influences, several frames and no corrections");
    return out;
  }
  if (request.refit == "auto" && out.cut < kNothingLost) return out;
  Rig fitted = refitted(out.rig, target, request.options, bar.callback());
  stop_if_interrupted("interrupted: nothing was written");
  if (request.refit == "auto" && !(evaluate(fitted, target, request.options.threads).e_rms < out.cut)) return out;
  out.rig = std::move(fitted);
  out.refitted = true;
  return out;
}

void run(ReduceRequest request) {
  std::vector<std::filesystem::path> all = request.examples;
  all.push_back(request.rig);
  check_outputs({{"-o", request.out}}, all);
  request.options.method = reduce_method(request.method);
  const Rig before = read_rig_file(request.rig);
  if (before.two_layer)
    throw Error(ErrorKind::input, fmt::format("{}: is a two-layer model, reduce its original", request.rig.string()));
  SequenceInputs inputs;
  inputs.paths = request.examples;
  const Sequence target = request.examples.empty() ? pose_all(before) : read_inputs(inputs);
  const double base = request.examples.empty() ? 0 : evaluate(before, target, request.options.threads).e_rms;
  const Reduced reduced = reduce(before, target, request);
  const Written written =
      write_result(request.out, reduced.rig, target, {.threads = request.options.threads, .write = request.write});
  const double change = weight_change(before.weights, written.rig.weights, before.bone_count());
  if (request.json) {
    Json out{{"file", request.out.string()}, {"method", request.method}};
    out["influences"] = {{"before", used_influences(before.weights)}, {"after", used_influences(written.rig.weights)}};
    out["weight_change"] = change;
    out["e_rms_before"] = base;
    out["e_rms_cut"] = reduced.cut;
    out["refitted"] = reduced.refitted;
    out["errors"] = facts_of(written.errors);
    fmt::print("{}\n", json_text(out));
    return;
  }
  fmt::print("influences   {} -> {} ({})\n", used_influences(before.weights), used_influences(written.rig.weights),
             request.method);
  fmt::print("weights      moved by {} (RMS x 1000)\n", short_number(1000 * change));
  fmt::print("E_RMS        {} -> {} against {}{}\n", short_number(base), short_number(written.errors.e_rms),
             request.examples.empty() ? "the rig before" : "the examples",
             reduced.refitted ? fmt::format("; {} before weights{} were fitted anew", short_number(reduced.cut),
                                            before.jointed ? "" : " and motion")
                              : "");
  fmt::print("max          {} % of the diagonal (frame {}, vertex {})\n", short_number(written.errors.max_percent),
             written.errors.worst_frame, written.errors.worst_vertex);
}

}  // namespace

Rig with_influences(const Rig& rig, const Sequence& target, int influences, int threads) {
  ReduceRequest request;
  request.options.influences = influences;
  request.options.threads = threads;
  request.options.method = reduce_method(request.method);
  return reduce(rig, target, request).rig;
}

void add_reduce(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("reduce", "Fewer influences per vertex, and what that costs");
  auto request = std::make_shared<ReduceRequest>();
  command.add_option("RIG", request->rig, "A skinned model, " + rig_inputs())->required();
  command.add_option("-o,--output", request->out, fmt::format("The rig to write, {}", rig_outputs()))->required();
  add_write_options(command, request->write);
  command.add_option("--influences", request->options.influences, "Influences per vertex")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  command.add_option("--method", request->method, "largest, smooth, geometry or poisson")->capture_default_str();
  command
      .add_option(
          "--refit", request->refit,
          "Fit weights and motion to what the rig did before: auto (where that lowers the error), always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}).description(""))
      ->capture_default_str();
  command.add_option("--examples", request->examples,
                     "SEQUENCE that the rig was made from (what the rig itself poses)");
  command.add_option("--threads", request->options.threads, "Threads (all cores)")->check(CLI::Range(0, 4096));
  command.add_flag("--json", request->json, "Print everything as JSON");
  command.footer(R"(
Methods: docs/algorithms/reduce.md. Where a sequence is at hand, solving it with fewer influences is better still:
'sinew solve SEQUENCE --influences 4'.

Examples:
  sinew reduce dense.glb --influences 4 -o four.glb
  sinew reduce dense.glb --method poisson --examples horse-gallop -o four.glb)");
  command.callback([request] { run(*request); });
}

}  // namespace sinew::tool
