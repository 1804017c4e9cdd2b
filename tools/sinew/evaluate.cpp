#include "sinew/evaluate/errors.h"

#include <fmt/format.h>

#include "commands.h"
#include "inputs.h"
#include "report.h"

namespace sinew::tool {
namespace {

struct Request {
  std::filesystem::path rig;
  std::shared_ptr<SequenceInputs> inputs;
  int threads = 0;
  bool json = false;
  bool per_vertex = false;
};

void run(const Request& request) {
  const Rig rig = read_rig_file(request.rig);
  const Sequence sequence = read_inputs(*request.inputs);
  const Errors errors = evaluate(rig, sequence, request.threads);
  if (request.json) {
    Json out{{"file", request.rig.string()}};
    out["rig"] = facts_of(rig);
    out["input"] = facts_of(sequence);
    out["errors"] = facts_of(errors, request.per_vertex);
    fmt::print("{}\n", out.dump(2));
    return;
  }
  fmt::print("bones       {}\n", rig.bone_count());
  fmt::print("influences  {}\n", used_influences(rig.weights));
  fmt::print("frames      {}\n", rig.frame_count());
  fmt::print("E_RMS       {}\n", short_number(errors.e_rms));
  fmt::print("RMSE        {} % of the diagonal\n", short_number(errors.rmse_percent));
  fmt::print("distortion  {} %\n", short_number(errors.distortion_percent));
  fmt::print("normals     {}°\n", short_number(errors.normal_degrees));
  fmt::print("max         {} % of the diagonal, {} in its unit (frame {}, vertex {})\n",
             short_number(errors.max_percent), short_number(errors.max_distance), errors.worst_frame,
             errors.worst_vertex);
}

}  // namespace

void add_evaluate(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("evaluate", "How far a written rig is from an animated mesh");
  auto request = std::make_shared<Request>();
  command.add_option("RIG", request->rig, "A skinned .glb or .gltf")->required();
  request->inputs = add_sequence_inputs(command);
  command.add_option("--threads", request->threads, "Threads (all cores)")->check(CLI::Range(0, 4096));
  auto* const json = command.add_flag("--json", request->json, "Print everything as JSON, errors per frame included");
  command.add_flag("--per-vertex", request->per_vertex, "With --json: errors per vertex too")->needs(json);
  command.footer(std::string(kSequenceHelp) + R"(
What the figures mean: docs/conventions.md.

Examples:
  sinew evaluate horse.glb horse-gallop
  sinew evaluate rig.glb rest.obj frames.pc2 --json)");
  command.callback([request] { run(*request); });
}

}  // namespace sinew::tool
