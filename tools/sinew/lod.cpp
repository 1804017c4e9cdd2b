#include <fmt/format.h>

#include "commands.h"
#include "inputs.h"
#include "interrupt.h"
#include "output.h"
#include "progress_bar.h"
#include "report.h"
#include "sinew/core/error.h"
#include "sinew/evaluate/surface_distance.h"
#include "sinew/rework/lod.h"
#include "text_options.h"

namespace sinew::tool {
namespace {

struct LodRequest {
  std::filesystem::path rig;
  std::filesystem::path output;
  LodOptions options;
  bool separate = false;
  bool no_distance = false;
  WriteOptions write;
  bool json = false;
};

/// OUT-1.glb, OUT-2.glb, ...
std::filesystem::path level_file(const std::filesystem::path& output, std::size_t level) {
  std::filesystem::path out = output;
  return out.replace_filename(fmt::format("{}-{}{}", output.stem().string(), level, output.extension().string()));
}

std::vector<Output> outputs_of(const LodRequest& request) {
  if (!request.separate) return {{"-o", request.output}};
  std::vector<Output> out;
  for (int level = 1; level <= request.options.levels; ++level)
    out.push_back({"-o", level_file(request.output, static_cast<std::size_t>(level))});
  return out;
}

/// Writes the levels and returns them as they are in their files; levels below the first of one file as they were made.
std::vector<Rig> write_levels(const LodRequest& request, const Rig& rig, const std::vector<LodLevel>& levels) {
  std::vector<Rig> rigs;
  for (const LodLevel& level : levels) rigs.push_back(level.rig);
  ResultOptions options{.threads = request.options.threads, .write = request.write};
  const std::vector<GltfExtension> sliders = sliders_for(request.output, request.rig, rig);
  options.extensions = sliders;
  if (request.separate || levels.size() == 1) {
    for (std::size_t i = 0; i < rigs.size(); ++i)
      rigs[i] = write_result(request.separate ? level_file(request.output, i + 1) : request.output, rigs[i],
                             pose_all(rigs[i]), options)
                    .rig;
    return rigs;
  }
  options.levels = rigs;
  write_result(request.output, rig, pose_all(rig), options);
  return rigs;
}

/// How far a level is from the rig. Whoever stops that has the files.
SurfaceDistance measured(const Rig& rig, const Rig& level, const LodRequest& request) {
  ProgressBar bar;
  try {
    return surface_distance(rig, level, request.options.threads, bar.callback());
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::interrupted) throw;
    throw Error(ErrorKind::interrupted, fmt::format("interrupted: {} is written, how far it is from {} is not measured",
                                                    request.output.string(), request.rig.string()));
  }
}

void run(const LodRequest& request) {
  check_outputs(outputs_of(request), {request.rig});
  if (request.options.levels > 1 && !request.separate && lower_extension(request.output) != ".glb")
    throw Error(ErrorKind::usage, "lod: only .glb holds several levels; --separate writes a file for each");
  Rig rig = read_rig_file(request.rig);
  say_what_is_left_out(request.rig, rig, Sliders::kept);
  rig.two_layer.reset();
  LodReport report;
  std::vector<LodLevel> levels;
  {
    ProgressBar bar;
    levels = simplify(rig, request.options, report, bar.callback());
  }
  const std::vector<Rig> written = write_levels(request, rig, levels);
  Json json{{"file", request.output.string()}, {"triangles", report.triangles}, {"frames", report.frames}};
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < written.size(); ++i) {
    Json level{{"triangles", levels[i].triangles}, {"vertices", written[i].vertex_count()}};
    std::vector<std::string> row{fmt::to_string(levels[i].triangles), fmt::to_string(written[i].vertex_count())};
    if (!request.no_distance) {
      const SurfaceDistance distance = measured(rig, written[i], request);
      level["mean_percent"] = distance.mean();
      level["max_percent"] = distance.max();
      level["to_level"] = {{"mean_percent", distance.forward_mean}, {"max_percent", distance.forward_max}};
      level["from_level"] = {{"mean_percent", distance.backward_mean}, {"max_percent", distance.backward_max}};
      level["worst_frame"] = distance.worst_frame;
      for (const double value : {distance.forward_mean, distance.backward_mean, distance.max()})
        row.push_back(short_number(value));
    }
    row.push_back((request.separate ? level_file(request.output, i + 1) : request.output).string());
    rows.push_back(std::move(row));
    json["levels"].push_back(std::move(level));
  }
  if (request.json) return fmt::print("{}\n", json_text(json));
  std::vector<std::string> header{"triangles", "vertices"};
  if (!request.no_distance) header.insert(header.end(), {"to level %", "from level %", "max %"});
  header.emplace_back("file");
  print_table(header, rows);
  fmt::print(stderr, "{} triangles before; {} of {} frames looked at{}\n", report.triangles, report.frames.size(),
             rig.frame_count(),
             request.no_distance ? "" : "; distances of the surfaces over all frames, % of the diagonal");
}

}  // namespace

void add_lod(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("lod", "Levels of detail: fewer triangles that move as the rig does");
  auto request = std::make_shared<LodRequest>();
  command.add_option("RIG", request->rig, "A skinned model, " + rig_inputs())->required();
  command.add_option("-o,--output", request->output, "The rig to write, " + rig_outputs())->required();
  add_write_options(command, request->write);
  auto* const triangles = command.add_option("--triangles", request->options.triangles, "Triangles of the first level")
                              ->check(in_range(1, 1000000000));
  auto* const error = command
                          .add_option("--error", request->options.max_error,
                                      "As few as keep every part of the surface within this % of the diagonal")
                          ->check(above_zero)
                          ->excludes(triangles);
  command.add_option("--ratio", request->options.ratio, "This share of the triangles")
      ->check(in_range(0.0, 1.0))
      ->capture_default_str()
      ->excludes(triangles)
      ->excludes(error);
  command
      .add_option("--levels", request->options.levels,
                  "How many levels, each with half the triangles (or twice the error) of the one before")
      ->check(in_range(1, 16))
      ->capture_default_str();
  command.add_flag("--separate", request->separate,
                   "Write every level to a file of its own: OUT-1.glb, OUT-2.glb, ...");
  command.add_option("--quadric-frames", request->options.frames, "How many frames to look at; 0: the rest pose alone")
      ->check(in_range(0, 1000))
      ->capture_default_str();
  command.add_option("--attributes", request->options.attributes, "How much textures, colours and given normals count")
      ->check(not_negative)
      ->capture_default_str();
  command.add_flag("--no-distance", request->no_distance, "Do not measure how far the levels are from the rig");
  command.add_option("--threads", request->options.threads, "Threads (all cores)")->check(in_range(0, 4096));
  command.add_flag("--json", request->json, "Print everything as JSON");
  command.footer(R"(
Several levels go into one .glb: the rig as it was, and the levels behind it (MSFT_lod). docs/algorithms/rework.md

Examples:
  sinew lod horse.glb --triangles 2100 -o horse-low.glb
  sinew lod horse.glb --levels 3 -o horse-lods.glb
  sinew lod horse.glb --error 0.1 --levels 3 --separate -o horse.glb)");
  command.callback([request] { run(*request); });
}

}  // namespace sinew::tool
