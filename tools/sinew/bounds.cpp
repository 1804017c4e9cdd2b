#include "sinew/rework/bounds.h"

#include <fmt/format.h>

#include "commands.h"
#include "inputs.h"
#include "output.h"
#include "report.h"
#include "sinew/core/bounds.h"
#include "sinew/core/error.h"
#include "text_options.h"

namespace sinew::tool {
namespace {

struct BoundsRequest {
  std::filesystem::path rig;
  std::filesystem::path output;
  int threads = 0;
  WriteOptions write;
  bool json = false;
};

std::string box_text(const Bounds& box) {
  return fmt::format("{:.6g} {:.6g} {:.6g}  to  {:.6g} {:.6g} {:.6g}", box.low.x(), box.low.y(), box.low.z(),
                     box.high.x(), box.high.y(), box.high.z());
}

Json box_json(const Bounds& box) {
  return {{"min", {box.low.x(), box.low.y(), box.low.z()}}, {"max", {box.high.x(), box.high.y(), box.high.z()}}};
}

/// Half-way between the keys of a file, where players interpolate, boxes reach out a little more: they are joined.
std::vector<ClipBounds> played_bounds(const std::filesystem::path& path, const Rig& rig, int threads) {
  std::vector<ClipBounds> out = clip_bounds(rig, threads);
  const std::string extension = lower_extension(path);
  if (rig.two_layer || (extension != ".glb" && extension != ".gltf")) return out;
  ReadOptions options;
  options.halfway = true;
  const std::vector<ClipBounds> between = clip_bounds(read_rig_file(path, options), threads);
  for (std::size_t i = 0; i < out.size() && between.size() == out.size(); ++i) {
    out[i].box.low = out[i].box.low.cwiseMin(between[i].box.low);
    out[i].box.high = out[i].box.high.cwiseMax(between[i].box.high);
  }
  return out;
}

void run(const BoundsRequest& request) {
  if (!request.output.empty()) {
    check_outputs({{"-o", request.output}}, {request.rig});
    if (lower_extension(request.output) != ".glb")
      throw Error(ErrorKind::usage, fmt::format("-o {}: bounds are kept in .glb files", request.output.string()));
  }
  const Rig rig = read_rig_file(request.rig);
  const std::vector<ClipBounds> clips = played_bounds(request.rig, rig, request.threads);
  const BoundsTree tree = build_bounds_tree(rig);
  if (!request.output.empty()) {
    const std::vector<GltfExtension> extensions{bounds_extension(clips, &tree)};
    write_result(request.output, rig, pose_all(rig),
                 {.threads = request.threads, .extensions = extensions, .write = request.write});
    read_bounds_tree(request.output, rig);
  }
  const Bounds rest{rig.rest.positions.rowwise().minCoeff(), rig.rest.positions.rowwise().maxCoeff()};
  if (request.json) {
    Json json{{"rest", box_json(rest)}, {"clips", Json::array()}};
    for (const ClipBounds& clip : clips) {
      Json entry = box_json(clip.box);
      entry["name"] = clip.name;
      json["clips"].push_back(std::move(entry));
    }
    json["tree"] = {{"nodes", tree.nodes.size()}, {"triangles", tree.numbers.size()}};
    return fmt::print("{}\n", json_text(json));
  }
  std::size_t width = 4;
  for (const ClipBounds& clip : clips) width = std::max(width, clip.name.size());
  fmt::print("{:{}}  {}\n", "rest", width, box_text(rest));
  for (const ClipBounds& clip : clips)
    fmt::print("{:{}}  {}\n", clip.name.empty() ? "clip" : clip.name, width, box_text(clip.box));
  fmt::print(stderr, "tree: {} nodes over {} triangles\n", tree.nodes.size(), tree.numbers.size());
}

}  // namespace

void add_bounds(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("bounds", "Where a rig is in each clip, and a tree for collisions");
  auto request = std::make_shared<BoundsRequest>();
  command.add_option("RIG", request->rig, "A skinned model, " + rig_inputs())->required();
  command.add_option("-o,--output", request->output, "Write the rig with its boxes and its tree (.glb)");
  add_write_options(command, request->write);
  command.add_option("--threads", request->threads, "Threads (all cores)")->check(in_range(0, 4096));
  command.add_flag("--json", request->json, "Print everything as JSON");
  command.footer(R"(
Prints the box of the rest pose and of every clip, at its keys and half-way between them: what an engine needs to cull
a model that leaves its rest pose. The tree is read by sinew_tree.h, which answers rays, nearest points and overlaps in
any pose without posing the vertices. docs/runtime.md

Examples:
  sinew bounds rig.glb
  sinew bounds rig.glb -o bounded.glb)");
  command.callback([request] { run(*request); });
}

}  // namespace sinew::tool
