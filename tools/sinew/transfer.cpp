#include <fmt/format.h>

#include "commands.h"
#include "inputs.h"
#include "output.h"
#include "progress_bar.h"
#include "report.h"
#include "sinew/core/error.h"
#include "sinew/rework/transfer.h"
#include "text_options.h"

namespace sinew::tool {
namespace {

struct TransferRequest {
  std::filesystem::path rig;
  std::filesystem::path mesh;
  std::filesystem::path output;
  TransferOptions options;
  WriteOptions write;
  bool json = false;
};

void run(const TransferRequest& request) {
  check_outputs({{"-o", request.output}}, {request.rig, request.mesh});
  const Rig rig = read_rig_file(request.rig);
  say_what_is_left_out(request.rig, rig, Sliders::kept);
  const Mesh mesh = read_mesh_file(request.mesh);
  TransferReport report;
  Rig out;
  {
    ProgressBar bar;
    out = transfer(rig, mesh, request.options, report, bar.callback());
  }
  const std::vector<GltfExtension> sliders = sliders_for(request.output, request.rig, rig);
  const Written written =
      write_result(request.output, out, pose_all(out),
                   {.threads = request.options.threads, .extensions = sliders, .write = request.write});
  if (request.json) {
    Json json{{"file", request.output.string()}, {"vertices", report.vertices}};
    json["matched"] = report.matched;
    json["filled"] = report.filled;
    json["unreached"] = report.unreached;
    json["farthest_percent"] = report.farthest_percent;
    json["rig"] = facts_of(written.rig);
    fmt::print("{}\n", json_text(json));
    return;
  }
  fmt::print("vertices     {}, {} bones, up to {} influences\n", report.vertices, written.rig.bone_count(),
             used_influences(written.rig.weights));
  fmt::print("matched      {} on the rig's surface\n", report.matched);
  fmt::print("filled in    {} ({:.1f} %) smoothly between those\n", report.filled, 100 * report.filled_share());
  if (report.unreached > 0)
    fmt::print("unreached    {} in parts without a match: they follow what is nearest\n", report.unreached);
  fmt::print("farthest     {} % of the diagonal from the rig\n", short_number(report.farthest_percent));
}

}  // namespace

void add_transfer(CLI::App& app) {
  CLI::App& command =
      *app.add_subcommand("transfer", "Give another mesh of the character a rig's weights, bones and motion");
  auto request = std::make_shared<TransferRequest>();
  command.add_option("RIG", request->rig, "A skinned model, " + rig_inputs())->required();
  command.add_option("MESH", request->mesh, "The other mesh, where the rig's rest pose is: what a SEQUENCE may be")
      ->required();
  command.add_option("-o,--output", request->output, "The rig to write, " + rig_outputs())->required();
  add_write_options(command, request->write);
  command
      .add_option("--distance", request->options.distance,
                  "Take weights from the surface within this share of the rig's diagonal")
      ->check(above_zero)
      ->capture_default_str();
  command.add_option("--degrees", request->options.degrees, "and whose normal differs by at most this")
      ->check(in_range(0.0, 180.0))
      ->capture_default_str();
  command.add_option("--influences", request->options.influences, "Bones per vertex (as many as the rig has)")
      ->check(in_range(1, 65536));
  command.add_option("--threads", request->options.threads, "Threads (all cores)")->check(in_range(0, 4096));
  command.add_flag("--json", request->json, "Print everything as JSON");
  command.footer(R"(
Vertices whose nearest point on the rig is too far off or faces another way get the smoothest weights over the mesh
between those that matched, so that a sleeve does not take weights from the torso. docs/algorithms/rework.md

Examples:
  sinew transfer body.glb jacket.obj -o jacket.glb
  sinew transfer body.glb body_low.obj --influences 4 -o body_low.glb)");
  command.callback([request] { run(*request); });
}

}  // namespace sinew::tool
