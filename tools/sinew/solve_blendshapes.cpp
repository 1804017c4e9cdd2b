#include "solve_blendshapes.h"

#include <fmt/format.h>

#include <set>

#include "interrupt.h"
#include "output.h"
#include "progress_bar.h"
#include "sinew/core/bounds.h"
#include "sinew/core/error.h"
#include "sinew/io/blendshapes.h"
#include "sinew/solve/blendshapes.h"
#include "text_options.h"

namespace sinew::tool {
namespace {

constexpr std::size_t kExpressions = 200;     // random ones that the map is tried with
constexpr std::uint64_t kExpressionSeed = 1;  // the same for all rigs, so that they can be compared

/// One name and errors of the map in some set of poses.
struct Trial {
  const char* key;
  std::string name;
  Errors errors;
};

Blendshapes read_shapes(const BlendshapeRun& run) {
  const SequenceInputs& inputs = run.inputs;
  Blendshapes shapes;
  const std::string extension = inputs.paths.size() == 1 ? lower_extension(inputs.paths[0]) : "";
  if (extension == ".glb" || extension == ".gltf") {
    if (!inputs.frames.empty() || !inputs.read.rest.empty() || inputs.clips.size() > 1)
      misused(
          "--blendshapes takes morph targets as they are: --frames, --rest and a second --clip say nothing about them");
    ReadOptions options = inputs.read;
    options.max_bytes = std::min(options.max_bytes, static_cast<std::size_t>(memory_of(inputs)));
    if (!inputs.clips.empty()) options.clip = inputs.clips[0];
    options.warn = [](std::string_view sentence) { fmt::print(stderr, "sinew: warning: {}\n", sentence); };
    shapes = read_gltf_blendshapes(inputs.paths[0], options);
  } else {
    shapes = blendshapes_of(read_inputs(inputs));
  }
  if (run.normals != "keep") {
    shapes.rest.normals = {};
    shapes.rest.flat = run.normals == "flat";
  }
  return shapes;
}

BlendshapeOptions options_of(const BlendshapeRun& run) {
  const SolveRequest& request = run.run.request;
  BlendshapeOptions out;
  out.bones = request.bones.value_or(out.bones);
  out.influences = request.influences.value_or(out.influences);
  if (out.influences == 0) misused("--influences all: a map of sliders is found for 1 to 8 influences");
  out.transforms = request.transforms.value_or(out.transforms);
  out.sparsity = run.own.sparsity;
  out.quality = request.quality;
  out.seed = request.seed;
  out.threads = request.threads;
  return out;
}

/// Root of the mean squared distance, in the input's unit.
double distance(const Errors& errors, double diagonal) {
  return errors.rmse_percent / 100 * diagonal;
}

double zeros(const SliderRig& found) {
  return 1 - static_cast<double>(found.map.entries.size()) /
                 static_cast<double>(found.rig.bone_count() * found.map.slider_count());
}

Json report_of(const BlendshapeRun& run, const Written& written, const SliderRig& found, const FitReport& report,
               const std::vector<Trial>& trials, double diagonal, double seconds) {
  Json out{{"sinew", SINEW_VERSION}, {"file", run.output.string()}, {"bytes", written.bytes}, {"seconds", seconds}};
  out["rig"] = facts_of(written.rig);
  out["errors"] = facts_of(written.errors);
  out["between"] = facts_of(written.between);
  Json map{{"sliders", found.map.names}, {"entries", found.map.entries.size()}, {"zeros", zeros(found)}};
  map["dense_e_rms"] = found.dense_e_rms;
  map["full_map_e_rms"] = found.full_map_e_rms;
  for (const Trial& trial : trials)
    map["errors"][trial.key] = {{"e_rms", trial.errors.e_rms},
                                {"distance", distance(trial.errors, diagonal)},
                                {"max_distance", trial.errors.max_distance},
                                {"poses", trial.errors.per_frame.size()}};
  out["map"] = std::move(map);
  out["solve"] = facts_of(report);
  return out;
}

void print_result(const SliderRig& found, const std::vector<Trial>& trials, double diagonal, const BlendshapeRun& run) {
  fmt::print("{} bones follow {} sliders: {} of {} transforms, {:.1f} % zeros\n", found.rig.bone_count(),
             found.map.slider_count(), found.map.entries.size(), found.rig.bone_count() * found.map.slider_count(),
             100 * zeros(found));
  std::vector<std::vector<std::string>> rows;
  for (const Trial& trial : trials)
    rows.push_back({std::to_string(trial.errors.per_frame.size()), short_number(trial.errors.e_rms),
                    short_number(distance(trial.errors, diagonal)), short_number(trial.errors.max_distance),
                    trial.name});
  print_table({"poses", "E_RMS", "distance", "largest", "what"}, rows);
  fmt::print("single shapes with nothing left out: E_RMS {} with these weights, {} with weights for it\n",
             short_number(found.full_map_e_rms), short_number(found.dense_e_rms));
  fmt::print("{}\n", run.output.string());
}

}  // namespace

void add_blendshape_options(CLI::App& command, BlendshapeArguments& arguments) {
  const char* const group = "Sliders of a face";
  auto* const wanted = command
                           .add_flag("--blendshapes", arguments.wanted,
                                     "Bones that follow the morph targets' sliders by a sparse map (40 bones,\n8 "
                                     "influences); of other inputs every frame is a shape")
                           ->group(group);
  command.add_option("--sparsity", arguments.sparsity, "Share of all bones × sliders that is left out (0.9)")
      ->check(in_range(0.0, 0.999))
      ->needs(wanted)
      ->group(group);
  command.add_option("--sliders", arguments.map_file, "Write the map as NumPy arrays as well (.npz)")
      ->needs(wanted)
      ->group(group);
}

void check_blendshape_options(const CLI::App& command) {
  const std::set<std::string> taken{"SEQUENCE",  "--frames",       "--rest",        "--clip",        "--mesh",
                                    "--fps",     "--output",       "--bones",       "--influences",  "--transforms",
                                    "--quality", "--seed",         "--threads",     "--safe-names",  "--normals",
                                    "--report",  "--json",         "--progress",    "--blendshapes", "--sparsity",
                                    "--sliders", "--memory-limit", "--keep-partial"};
  for (const CLI::Option* option : command.get_options())
    if (option->count() > 0 && taken.count(option->get_name()) == 0)
      misused(fmt::format("{} is not something --blendshapes can do", option->get_name()));
}

void solve_blendshapes_to_file(const BlendshapeRun& run) {
  if (run.output.empty()) misused("--output is required");
  check_outputs({{"-o", run.output},
                 {"--sliders", run.own.map_file, OutputKind::other},
                 {"--report", run.report, OutputKind::other}},
                files_named(run.inputs));
  if (lower_extension(run.output) != ".glb")
    misused(fmt::format("-o {}: sliders are kept in .glb files", run.output.string()));
  if (!run.own.map_file.empty() && lower_extension(run.own.map_file) != ".npz")
    misused(fmt::format("--sliders {}: expected a name that ends in .npz", run.own.map_file.string()));
  const BlendshapeOptions options = options_of(run);
  const Blendshapes shapes = read_shapes(run);
  stop_if_interrupted("interrupted while reading");
  FitReport report;
  SliderRig found;
  const double start = now_seconds();
  {
    const HoldOn hold(run.run.keep_partial);
    ProgressBar bar(0, run.run.progress_lines);
    found = solve_blendshapes(shapes, options, report, bar.callback());
    if (!run.run.keep_partial)
      stop_if_interrupted("interrupted: nothing was written (--keep-partial keeps the best model so far)");
  }
  const double seconds = now_seconds() - start;
  const std::vector<GltfExtension> extensions{sliders_extension(found.map)};
  const Written written = write_result(run.output, found.rig, shaped_frames(shapes),
                                       {.threads = options.threads,
                                        .keep_partial = run.run.keep_partial,
                                        .extensions = extensions,
                                        .write = run.run.write});
  found.rig = written.rig;
  found.map = read_sliders(run.output, found.rig).value();
  if (!run.own.map_file.empty()) write_sliders_npz(run.own.map_file, found.rig, found.map, shapes.values);
  const auto S = static_cast<Eigen::Index>(shapes.slider_count());
  const auto tried = [&](const Eigen::MatrixXf& values) {
    return evaluate_sliders(found.rig, found.map, shapes, values, options.threads);
  };
  const std::vector<Trial> trials{{"shapes", "single shapes", tried(Eigen::MatrixXf::Identity(S, S))},
                                  {"frames", "frames of the input", written.errors},
                                  {"expressions", "random expressions",
                                   tried(random_slider_values(kExpressions, shapes.slider_count(), kExpressionSeed))}};
  const double diagonal = bounding_box_diagonal(shapes.rest.positions);
  const Json json = report_of(run, written, found, report, trials, diagonal, seconds);
  if (!run.report.empty()) write_json(run.report, json);
  if (run.json)
    fmt::print("{}\n", json_text(json));
  else
    print_result(found, trials, diagonal, run);
  if (report.termination == Termination::cancelled)
    throw Error(ErrorKind::interrupted,
                fmt::format("interrupted: {} holds the best model so far", run.output.string()));
}

}  // namespace sinew::tool
