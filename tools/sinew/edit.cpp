#include <fmt/format.h>

#include "commands.h"
#include "inputs.h"
#include "output.h"
#include "progress_bar.h"
#include "report.h"
#include "sinew/core/error.h"
#include "sinew/io/npz.h"
#include "sinew/rework/edit_rest.h"
#include "text_options.h"

namespace sinew::tool {
namespace {

struct EditRequest {
  std::filesystem::path rig;
  std::filesystem::path rest;
  std::filesystem::path displacements;
  std::filesystem::path output;
  std::string corrections = "keep";
  EditOptions options;
  int threads = 0;
  WriteOptions write;
  bool json = false;
};

/// The rig's rest pose with what a V×3 array adds to it.
Mesh displaced(const Mesh& rest, const std::filesystem::path& path) {
  const NpyArray<float> array = read_npy<float>(path);
  if (array.shape != std::vector<std::size_t>{rest.vertex_count(), 3})
    throw Error(ErrorKind::input, fmt::format("{}: is an array of {}, expected {}×3, one row per vertex of the rig",
                                              path.string(), fmt::join(array.shape, "×"), rest.vertex_count()));
  Mesh out = rest;
  out.positions += ConstPointsMap(array.values.data(), 3, rest.positions.cols());
  return out;
}

void run(EditRequest request) {
  if (request.rest.empty() == request.displacements.empty())
    throw Error(ErrorKind::usage, "edit: give the edited rest pose, either --rest or --displacements");
  const std::filesystem::path& edited = request.rest.empty() ? request.displacements : request.rest;
  check_outputs({{"-o", request.output}}, {request.rig, edited});
  request.options.corrections = request.corrections == "keep"   ? CorrectionRule::keep
                                : request.corrections == "drop" ? CorrectionRule::drop
                                                                : CorrectionRule::rescale;
  request.options.transfer.threads = request.threads;
  const Rig rig = read_rig_file(request.rig);
  say_what_is_left_out(request.rig, rig, Sliders::left_out);
  const Mesh mesh = request.rest.empty() ? displaced(rig.rest, edited) : read_mesh_file(edited);
  EditReport report;
  Rig out;
  {
    ProgressBar bar;
    out = edit_rest(rig, mesh, request.options, report, bar.callback());
  }
  const Written written =
      write_result(request.output, out, pose_all(out), {.threads = request.threads, .write = request.write});
  if (request.json) {
    Json json{{"file", request.output.string()}, {"same_faces", report.same_faces}};
    json["moved_percent"] = report.moved_percent;
    json["joints_percent"] = report.joints_percent;
    json["filled"] = report.transfer.filled;
    json["rig"] = facts_of(written.rig);
    fmt::print("{}\n", json_text(json));
    return;
  }
  fmt::print("rest pose    {}\n",
             report.same_faces ? "the rig's own vertices"
                               : fmt::format("{} other vertices, {} matched, {} filled in", report.transfer.vertices,
                                             report.transfer.matched, report.transfer.filled));
  fmt::print("moved        {} % of the diagonal at most, joints {} %\n", short_number(report.moved_percent),
             short_number(report.joints_percent));
}

}  // namespace

void add_edit(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("edit", "Carry an edited rest pose through a rig's animation");
  auto request = std::make_shared<EditRequest>();
  command.add_option("RIG", request->rig, "A skinned model, " + rig_inputs())->required();
  command.add_option("--rest", request->rest,
                     "The edited rest pose: the rig's vertices moved, or another mesh in their place");
  command.add_option("--displacements", request->displacements,
                     "Instead: an array of vertices × 3 to add to the rest pose (.npy)");
  command.add_option("-o,--output", request->output, "The rig to write, " + rig_outputs())->required();
  add_write_options(command, request->write);
  command.add_option("--joints", request->options.follow, "How much of the move around them joints make, 0 to 1")
      ->check(in_range(0.0, 1.0))
      ->capture_default_str();
  command.add_option("--reach", request->options.reach, "What is around a joint, as a share of the diagonal")
      ->check(above_zero)
      ->capture_default_str();
  command.add_option("--corrections", request->corrections, "keep, drop, or rescale with the surface")
      ->check(word_of({"keep", "drop", "rescale"}))
      ->capture_default_str();
  command.add_option("--threads", request->threads, "Threads (all cores)")->check(in_range(0, 4096));
  command.add_flag("--json", request->json, "Print everything as JSON");
  command.footer(R"(
'sinew convert RIG -o FOLDER' writes FOLDER/rest.obj to edit. A mesh with other faces (subdivided, re-meshed) takes its
weights as 'sinew transfer' gives them; it must lie close to the rig's rest pose. docs/algorithms/rework.md

Examples:
  sinew edit horse.glb --rest unicorn.obj -o unicorn.glb
  sinew edit body.glb --displacements wrinkles.npy --joints 0 -o old.glb)");
  command.callback([request] { run(*request); });
}

}  // namespace sinew::tool
