#include <fmt/format.h>

#include "commands.h"
#include "inputs.h"
#include "interrupt.h"
#include "output.h"
#include "progress_bar.h"
#include "report.h"
#include "sinew/core/error.h"
#include "sinew/core/fit_report.h"
#include "sinew/evaluate/errors.h"
#include "sinew/io/two_layer_gltf.h"
#include "sinew/refine/reduce_weights.h"
#include "sinew/refine/two_layer.h"
#include "text_options.h"

namespace sinew::tool {
namespace {

struct CompressRequest {
  std::filesystem::path rig;
  std::filesystem::path out;
  std::vector<std::filesystem::path> examples;
  TwoLayerOptions options;
  double max_error = 0;  // x 1000, as errors are printed
  WriteOptions write;
  bool force = false;
  bool json = false;
};

/// Bytes of the two-layer model in a file: dictionary, coefficients and motion.
std::size_t model_bytes(const std::filesystem::path& path) {
  std::size_t bytes = 0;
  if (const auto extension = read_gltf_extension(path, kTwoLayerExtension))
    for (const GltfArray& array : extension->arrays) bytes += array.bytes.size();
  return bytes;
}

/// Weights for players that know nothing of virtual bones: four influences that fit what the dense rig does.
SkinWeights stand_in(const Rig& rig, const Sequence* examples, int threads, const Progress& progress) {
  ReduceOptions options;
  options.threads = threads;
  return reduce_weights(rig, examples, options, progress);
}

/// Refuses rigs whose vertices follow no more bones than two layers would blend: the file grows and nothing plays
/// faster.
void refuse_sparse(const CompressRequest& request, const Rig& rig) {
  double influences = 0;
  for (const float w : rig.weights.values) influences += w > 0 ? 1 : 0;
  influences /= static_cast<double>(std::max<std::size_t>(1, rig.vertex_count()));
  if (request.force || influences > request.options.blends_per_vertex) return;
  throw Error(
      ErrorKind::unusable,
      fmt::format("{}: its vertices follow {} bones on average, two layers would blend {}: compression does not "
                  "pay (--force writes it all the same)",
                  request.rig.string(), short_number(influences), short_number(request.options.blends_per_vertex)));
}

Json report_json(const TwoLayerReport& report) {
  return {{"virtual_bones", report.virtual_bones},
          {"bones_per_virtual_bone", report.masters_per_virtual},
          {"blends_per_vertex", report.blends_per_vertex},
          {"weight_error", report.weight_error},
          {"example_error", report.example_error},
          {"iterations", report.history.size()},
          {"cancelled", report.cancelled}};
}

void run(CompressRequest request) {
  std::vector<std::filesystem::path> all = request.examples;
  all.push_back(request.rig);
  check_outputs({{"-o", request.out}}, all);
  request.options.max_error = request.max_error / 1000;
  Rig rig = read_rig_file(request.rig);
  say_what_is_left_out(request.rig, rig, Sliders::left_out);
  if (rig.two_layer)
    throw Error(ErrorKind::input, fmt::format("{}: is a two-layer model already", request.rig.string()));
  refuse_sparse(request, rig);
  SequenceInputs inputs;
  inputs.paths = request.examples;
  const bool with_examples = !request.examples.empty();
  const Sequence target = with_examples ? read_inputs(inputs) : pose_all(rig);
  const double dense = with_examples ? evaluate(rig, target, request.options.threads).e_rms : 0;
  TwoLayerReport report;
  const double start = now_seconds();
  ProgressBar bar;
  const Sequence* const examples = with_examples ? &target : nullptr;
  rig = compress_two_layer(std::move(rig), examples, request.options, report, bar.callback());
  stop_if_interrupted("interrupted: nothing was written");
  const double seconds = now_seconds() - start;
  rig.weights = stand_in(rig, examples, request.options.threads, bar.callback());
  bar.wipe();
  auto [written, errors, between, file_bytes] =
      write_result(request.out, rig, target, {.threads = request.options.threads, .write = request.write});
  const bool kept = written.two_layer.has_value();
  written.two_layer.reset();
  const double standard = evaluate(written, target, request.options.threads).e_rms;
  const std::size_t bytes = kept ? model_bytes(request.out) : 0;
  const double bits = 8 * static_cast<double>(bytes) / static_cast<double>(rig.vertex_count()) /
                      static_cast<double>(std::max<std::size_t>(1, rig.frame_count()));
  if (!kept)
    fmt::print(
        stderr,
        "sinew: warning: {}: the format has no place for two layers; the file holds the weights that stand in for "
        "them\n",
        request.out.string());
  if (request.json) {
    Json out{{"file", request.out.string()}, {"two_layer", report_json(report)}, {"seconds", seconds}};
    out["dense_e_rms"] = dense;
    out["errors"] = facts_of(errors);
    out["standard_e_rms"] = standard;
    out["bytes"] = {{"file", file_bytes}, {"model", bytes}};
    out["bits_per_vertex_per_frame"] = bits;
    fmt::print("{}\n", json_text(out));
    return;
  }
  fmt::print("virtual bones  {} of at most {} bones, {} per vertex: {:.2f} blends per vertex\n", report.virtual_bones,
             report.masters_per_virtual, request.options.virtual_per_vertex, report.blends_per_vertex);
  fmt::print("weights        moved by {} (RMS x 1000)\n", short_number(1000 * report.weight_error));
  fmt::print("E_RMS          {} -> {} against {}; players without the extension show {}\n", short_number(dense),
             short_number(errors.e_rms), with_examples ? "the examples" : "the rig before", short_number(standard));
  fmt::print("size           {} in the file, {} of it the two-layer model: {} bits per vertex per frame\n",
             size_text(static_cast<double>(file_bytes)), size_text(static_cast<double>(bytes)), short_number(bits));
  fmt::print("time           {} s\n", short_number(seconds));
}

}  // namespace

void add_compress(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("compress", "Two-layer sparse compression of many influences per vertex");
  auto request = std::make_shared<CompressRequest>();
  TwoLayerOptions& options = request->options;
  command
      .add_option("RIG", request->rig, fmt::format("A skinned model ({}) with any number of influences", rig_inputs()))
      ->required();
  command.add_option("-o,--output", request->out, "The rig to write, " + rig_outputs())->required();
  command.add_option("--examples", request->examples, "SEQUENCE to stay close to, instead of the rig's weights");
  auto* const blends =
      command.add_option("--blends-per-vertex", options.blends_per_vertex, "Blends per vertex over both layers")
          ->capture_default_str();
  auto* const bones = command.add_option("--virtual-bones", options.virtual_bones, "Number of virtual bones")
                          ->check(in_range(2, 1 << 30));
  auto* const error =
      command
          .add_option("--max-error", request->max_error,
                      "Stop at this error x 1000: of the weights, or over the dense fit with --examples")
          ->check(above_zero);
  blends->excludes(bones)->excludes(error);
  bones->excludes(error);
  command.add_option("--virtual-per-vertex", options.virtual_per_vertex, "Virtual bones per vertex")
      ->check(in_range(2, 4))
      ->capture_default_str();
  command
      .add_option("--bones-per-virtual", options.masters_per_virtual,
                  "Most bones of a virtual bone (as many as a vertex has on average)")
      ->check(in_range(1, 65536));
  command.add_flag(
      "--keep-motion", options.keep_motion,
      "With --examples: leave the bones' motion as it is (it is fitted anew where bones are free and affine)");
  command.add_flag("--force", request->force, "Compress also what follows few bones already");
  command.add_flag("--pack", request->write.pack, "16 bits per number, compressed");
  add_write_options(command, request->write);
  command.add_option("--threads", options.threads, "Threads (all cores)")->check(in_range(0, 4096));
  command.add_flag("--json", request->json, "Print everything as JSON");
  command.footer(R"(
Method: docs/algorithms/two_layer.md. File: docs/formats.md. Formats that have no place for two layers get the weights that
stand in for them, with a warning.

Examples:
  sinew compress dense.glb -o small.glb
  sinew compress dense.glb --examples horse-gallop --blends-per-vertex 4 --pack -o small.glb)");
  command.callback([request] { run(*request); });
}

}  // namespace sinew::tool
