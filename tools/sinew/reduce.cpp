#include <fmt/format.h>

#include <algorithm>

#include "commands.h"
#include "inputs.h"
#include "output.h"
#include "progress_bar.h"
#include "report.h"
#include "sinew/core/error.h"
#include "sinew/evaluate/errors.h"
#include "sinew/io/gltf_levels.h"
#include "sinew/refine/reduce.h"
#include "text_options.h"

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

/// What the file holds behind its finest level, where the output can hold it too.
std::vector<Rig> coarser_levels(const ReduceRequest& request) {
  if (count_rig_levels(request.rig) < 2) return {};
  if (lower_extension(request.out) != ".glb") {
    fmt::print(stderr, "sinew: {}: only .glb holds levels of detail, the finest is written\n", request.out.string());
    return {};
  }
  std::vector<Rig> levels = read_rig_levels(request.rig);
  levels.erase(levels.begin());
  return levels;
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
  // Sliders and coarser levels of detail know the bones by their motion.
  const std::vector<GltfExtension> sliders = sliders_for(request.out, request.rig, before);
  const std::vector<Rig> coarser = coarser_levels(request);
  Refit refit = refit_called(request.refit);
  if (refit == Refit::automatic && !(sliders.empty() && coarser.empty())) refit = Refit::weights;
  if (refit == Refit::always && !before.jointed && !(sliders.empty() && coarser.empty()))
    throw Error(ErrorKind::usage,
                fmt::format("{}: its {} would not fit a motion that is fitted anew: --refit weights keeps the motion",
                            request.rig.string(), sliders.empty() ? "levels of detail" : "sliders"));
  ReduceReport report;
  Rig reduced;
  std::vector<Rig> levels;
  {
    ProgressBar bar;
    reduced = reduce(before, &target, request.options, refit, report, bar.callback());
    for (const Rig& level : coarser) {
      ReduceReport of_level;
      levels.push_back(reduce(level, nullptr, request.options, refit, of_level, bar.callback()));
    }
  }
  const Written written = write_result(
      request.out, reduced, target,
      {.threads = request.options.threads, .extensions = sliders, .levels = levels, .write = request.write});
  const double change = weight_change(before.weights, written.rig.weights, before.bone_count());
  if (request.json) {
    Json out{{"file", request.out.string()}, {"method", request.method}};
    out["influences"] = {{"before", used_influences(before.weights)}, {"after", used_influences(written.rig.weights)}};
    out["weight_change"] = change;
    out["e_rms_before"] = base;
    out["e_rms_cut"] = report.e_rms_cut;
    out["refitted"] = report.refitted;
    out["errors"] = facts_of(written.errors);
    fmt::print("{}\n", json_text(out));
    return;
  }
  fmt::print("influences   {} -> {} ({})\n", used_influences(before.weights), used_influences(written.rig.weights),
             request.method);
  fmt::print("weights      moved by {} (RMS x 1000)\n", short_number(1000 * change));
  fmt::print("E_RMS        {} -> {} against {}{}\n", short_number(base), short_number(written.errors.e_rms),
             request.examples.empty() ? "the rig before" : "the examples",
             report.refitted ? fmt::format("; {} before weights{} were fitted anew", short_number(report.e_rms_cut),
                                           before.jointed || refit == Refit::weights ? "" : " and motion")
                             : "");
  fmt::print("max          {} % of the diagonal (frame {}, vertex {})\n", short_number(written.errors.max_percent),
             written.errors.worst_frame, written.errors.worst_vertex);
}

}  // namespace

void add_reduce(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("reduce", "Fewer influences per vertex, and what that costs");
  auto request = std::make_shared<ReduceRequest>();
  command.add_option("RIG", request->rig, "A skinned model, " + rig_inputs())->required();
  command.add_option("-o,--output", request->out, fmt::format("The rig to write, {}", rig_outputs()))->required();
  add_write_options(command, request->write);
  command.add_option("--influences", request->options.influences, "Influences per vertex")
      ->check(in_range(1, 65536))
      ->capture_default_str();
  command.add_option("--method", request->method, "largest, smooth, geometry or poisson")->capture_default_str();
  command
      .add_option(
          "--refit", request->refit,
          "Fit weights and motion to what the rig did before: auto (where that lowers the error), always, never or "
          "weights (auto without the motion; so are rigs with sliders or levels of detail)")
      ->check(word_of({"auto", "always", "never", "weights"}))
      ->capture_default_str();
  command.add_option("--examples", request->examples,
                     "SEQUENCE that the rig was made from (what the rig itself poses)");
  command.add_option("--threads", request->options.threads, "Threads (all cores)")->check(in_range(0, 4096));
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
