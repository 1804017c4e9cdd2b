#include "sinew/evaluate/errors.h"

#include <fmt/format.h>

#include <algorithm>

#include "commands.h"
#include "inputs.h"
#include "inside_text.h"
#include "known_rig.h"
#include "output.h"
#include "report.h"
#include "sinew/evaluate/rig_match.h"
#include "sinew/evaluate/skeleton_match.h"
#include "sinew/evaluate/sted.h"
#include "sinew/evaluate/vertex_match.h"
#include "text_options.h"

namespace sinew::tool {
namespace {

struct EvaluateRequest {
  std::filesystem::path rig;
  std::filesystem::path truth;
  std::shared_ptr<SequenceInputs> inputs;
  int threads = 0;
  bool json = false;
  bool per_vertex = false;
};

Json skeleton_facts(const SkeletonMatch& match) {
  Json out{{"recall", match.recall},
           {"precision", match.precision},
           {"near_recall", match.near_recall},
           {"near_precision", match.near_precision},
           {"parent_agreement", match.parent_agreement},
           {"recovered_joints", match.recovered_joints}};
  Json joints = Json::array();
  for (const JointMatch& joint : match.joints)
    joints.push_back({{"name", joint.name},
                      {"degrees", joint.degrees},
                      {"slide_percent", joint.slide},
                      {"counts", joint.turns},
                      {"percent", joint.percent},
                      {"nearest", joint.nearest},
                      {"near", joint.near},
                      {"matched", joint.matched},
                      {"found", joint.found}});
  out["joints"] = std::move(joints);
  return out;
}

void print_match(const SkeletonMatch& match) {
  std::vector<std::vector<std::string>> rows;
  for (const JointMatch& joint : match.joints)
    rows.push_back({short_number(joint.degrees), short_number(joint.percent),
                    joint.found   ? "yes"
                    : joint.turns ? "no"
                                  : "slides",
                    fmt::format("{} -> {}", joint.name, joint.nearest)});
  fmt::print("\n");
  print_table({"bends °", "off by %", "found", "known joint -> nearest"}, rows);
  fmt::print("recall      {:.2f} of {} known joints that bend, one to one\n", match.recall, match.known_joints);
  fmt::print("precision   {:.2f} of {} recovered joints, one to one\n", match.precision, match.recovered_joints);
  fmt::print("near        {:.2f} and {:.2f} with any joint within 3 % of the diagonal\n", match.near_recall,
             match.near_precision);
  fmt::print("parents     {:.2f} of the edges between found joints agree\n", match.parent_agreement);
}

Json model_facts(const RigMatch& match) {
  return {{"weight_error", match.weight_error},
          {"transform_error", match.transform_error},
          {"vertex_transform_error", match.vertex_transform_error},
          {"partners", match.partner}};
}

void print_model(const RigMatch& match) {
  fmt::print("weights     {} from those of the known rig, mean difference, bones paired by weights\n",
             short_number(match.weight_error));
  fmt::print("transforms  {} of the bones, {} of the vertices, mean difference of the matrices' entries\n",
             short_number(match.transform_error), short_number(match.vertex_transform_error));
}

bool has_joints(const Rig& rig) {
  return std::any_of(rig.bones.begin(), rig.bones.end(), [](const Bone& bone) { return bone.parent >= 0; });
}

/// What a known rig is compared in: joints where it has any, weights and transforms where mesh and frames are the same.
struct KnownRig {
  std::optional<SkeletonMatch> joints;
  std::optional<RigMatch> model;
};

KnownRig compare_with_known(const EvaluateRequest& request, const Rig& rig, const Sequence& sequence) {
  KnownRig out;
  if (request.truth.empty()) return out;
  const Rig known = read_known_rig(request.truth, *request.inputs, sequence);
  const bool same = known.vertex_count() == rig.vertex_count() && known.frame_count() == rig.frame_count();
  if (has_joints(known) || !same) out.joints = match_skeletons(rig, known);
  if (same) out.model = match_rigs(rig, known);
  return out;
}

Json match_facts(const VertexMatch& match) {
  return {{"vertices", match.of.size() - match.missing},
          {"largest_percent", match.largest_percent},
          {"by_motion", match.by_motion},
          {"copies", match.copies},
          {"left_out", match.missing}};
}

void print_matched(const VertexMatch& match) {
  fmt::print("matched     {} vertices by place, {} of them by motion too; at most {} % of the diagonal apart\n",
             match.of.size() - match.missing, match.by_motion, short_number(match.largest_percent));
  if (match.copies > 0) fmt::print("            {} vertices of the rig repeat others\n", match.copies);
  if (match.missing > 0) fmt::print("            {} vertices of no face are not in the rig\n", match.missing);
}

/// Whether the rig's file is played whole: half-way between which keys is not asked of a part.
bool is_whole(const SequenceInputs& inputs) {
  return inputs.frames.empty() && inputs.clips.empty() && !(inputs.read.frames_per_second > 0);
}

void run(const EvaluateRequest& request) {
  Sequence sequence = read_inputs(*request.inputs);
  Written read;
  read.rig = read_rig_beside(request.rig, *request.inputs, sequence);
  std::optional<VertexMatch> match;
  if (!same_vertices(read.rig, sequence)) {
    match = match_vertices(read.rig, sequence);
    sequence = matched_part(sequence, *match);
    read.rig = in_order_of(read.rig, *match, sequence);
  }
  if (is_whole(*request.inputs))
    evaluate_file(request.rig, match ? &*match : nullptr, sequence, request.threads, read);
  else
    read.errors = evaluate(read.rig, sequence, request.threads);
  const Rig& rig = read.rig;
  const Errors& errors = read.errors;
  const std::optional<ErrorsBetween>& between = read.between;
  const KnownRig known = compare_with_known(request, rig, sequence);
  if (request.json) {
    Json out{{"file", request.rig.string()}};
    out["rig"] = facts_of(rig);
    if (match) out["matched"] = match_facts(*match);
    out["input"] = facts_of(sequence);
    out["errors"] = facts_of(errors, request.per_vertex);
    const EdgeErrors edges = evaluate_edges(rig, sequence, request.threads);
    out["edges"] = {{"spatial_percent", edges.spatial_percent}, {"temporal_percent", edges.temporal_percent}};
    out["between"] = facts_of(between);
    if (rig.jointed)
      out["inside"] = {{"rest", facts_of(inside_at_rest(rig))}, {"posed", facts_of(inside_when_posed(rig))}};
    if (known.joints) out["skeleton"] = skeleton_facts(*known.joints);
    if (known.model) out["model"] = model_facts(*known.model);
    fmt::print("{}\n", json_text(out));
    return;
  }
  fmt::print("bones       {}\n", rig.bone_count());
  fmt::print("influences  {}\n", used_influences(rig.weights));
  fmt::print("frames      {}\n", rig.frame_count());
  if (match) print_matched(*match);
  fmt::print("E_RMS       {}\n", short_number(errors.e_rms));
  fmt::print("RMSE        {} % of the diagonal\n", short_number(errors.rmse_percent));
  if (between)
    fmt::print("between     {} % half-way between keys, at most {} %\n", short_number(between->rmse_percent),
               short_number(between->max_percent));
  fmt::print("distortion  {} %\n", short_number(errors.distortion_percent));
  fmt::print("normals     {}° of the surfaces, {}° as a player skins them\n", short_number(errors.normal_degrees),
             short_number(errors.played_degrees));
  const EdgeErrors edges = evaluate_edges(rig, sequence, request.threads);
  fmt::print("edges       {} % in space, {} % in time (STED)\n", short_number(edges.spatial_percent),
             short_number(edges.temporal_percent));
  fmt::print("max         {} % of the diagonal, {} in its unit (frame {}, vertex {})\n",
             short_number(errors.max_percent), short_number(errors.max_distance), errors.worst_frame,
             errors.worst_vertex);
  if (rig.jointed) {
    fmt::print("inside      {}\n", inside_text(inside_at_rest(rig)));
    fmt::print("posed       {}\n", inside_text(inside_when_posed(rig)));
  }
  if (known.model) print_model(*known.model);
  if (known.joints) print_match(*known.joints);
}

}  // namespace

void add_evaluate(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("evaluate", "How far a written rig is from an animated mesh");
  auto request = std::make_shared<EvaluateRequest>();
  command.add_option("RIG", request->rig, "A skinned model, " + rig_inputs())->required();
  request->inputs = add_sequence_inputs(command);
  add_paging_options(command, *request->inputs);
  command.add_option("--truth", request->truth,
                     "A known rig of the same mesh, or a folder with its truth_weights.npy and "
                     "truth_transforms.npy: compare joints, weights and transforms");
  command.add_option("--threads", request->threads, "Threads (all cores)")->check(in_range(0, 4096));
  auto* const json = command.add_flag("--json", request->json, "Print everything as JSON, errors per frame included");
  command.add_flag("--per-vertex", request->per_vertex, "With --json: errors per vertex too")->needs(json);
  command.footer(sequence_help() + R"(
What the figures mean: docs/conventions.md. Vertices that another tool has put in another order, split, merged or rounded
are matched by place, and by motion where that does not tell.

Examples:
  sinew evaluate horse.glb horse-gallop
  sinew evaluate rig.glb rest.obj frames.pc2 --json
  sinew evaluate skeleton.glb Fox.glb --truth Fox.glb
  sinew evaluate flats.glb cylinder --truth cylinder)");
  command.callback([request] { run(*request); });
}

}  // namespace sinew::tool
