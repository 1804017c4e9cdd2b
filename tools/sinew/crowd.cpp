#include <fmt/format.h>

#include <cmath>

#include "commands.h"
#include "inputs.h"
#include "interrupt.h"
#include "output.h"
#include "report.h"
#include "sinew/core/error.h"
#include "sinew/io/gltf_levels.h"
#include "sinew/io/output_file.h"
#include "sinew/view/crowd.h"
#include "text_options.h"

namespace sinew::tool {
namespace {

struct CrowdRequest {
  std::vector<std::filesystem::path> rigs;
  std::filesystem::path output;
  CrowdOptions options;
  std::string precision = "auto";
  std::string max_size = "64M";
  bool json = false;
};

ReadOptions with_warnings() {
  ReadOptions options;
  options.warn = [](std::string_view sentence) { fmt::print(stderr, "sinew: {}\n", sentence); };
  return options;
}

std::string percent_text(double percent) {
  return std::isfinite(percent) ? short_number(percent) : "too large";
}

void print_report(const CrowdRequest& request, const std::vector<CrowdCharacter>& characters, const CrowdReport& report,
                  std::size_t bytes) {
  for (const std::string& note : report.notes) fmt::print(stderr, "sinew: {}\n", note);
  Json json{{"file", request.output.string()}, {"bytes", bytes}, {"half", report.half}};
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < characters.size(); ++i) {
    const CrowdCharacterReport& said = report.characters[i];
    const Rig& rig = characters[i].levels[0];
    const auto or_null = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
    json["rigs"].push_back(
        {{"name", characters[i].name},
         {"bones", rig.bone_count()},
         {"frames", rig.frame_count()},
         {"levels", said.levels},
         {"methods", said.methods},
         {"bytes_of_motion", said.bytes_of_motion},
         {"half_error_percent",
          {{"rms", or_null(said.half_error.rms_percent)}, {"max", or_null(said.half_error.max_percent)}}}});
    rows.push_back({characters[i].name, fmt::to_string(rig.bone_count()), fmt::to_string(rig.frame_count()),
                    fmt::to_string(said.levels), fmt::format("{}", fmt::join(said.methods, ", ")),
                    size_text(static_cast<double>(said.bytes_of_motion)), percent_text(said.half_error.max_percent)});
  }
  if (request.json) return fmt::print("{}\n", json_text(json));
  print_table({"rig", "bones", "frames", "levels", "methods", "motion", "half max %"}, rows);
  fmt::print(stderr, "transforms in {} bits; half max %: how far half floats would move a vertex, % of the diagonal\n",
             report.half ? 16 : 32);
  fmt::print("{}\n", request.output.string());
}

void run(CrowdRequest request) {
  check_outputs({{"-o", request.output, OutputKind::page}}, request.rigs);
  request.options.precision = texel_precision(request.precision);
  request.options.max_bytes = static_cast<std::size_t>(parse_size("--max-size", request.max_size));
  request.options.name = request.output.stem().string();
  std::vector<CrowdCharacter> characters;
  for (const std::filesystem::path& path : request.rigs) {
    characters.push_back({path.stem().string(), read_rig_levels(path, with_warnings())});
    stop_if_interrupted("interrupted: nothing was written");
  }
  CrowdReport report;
  const std::string page = crowd_page(characters, request.options, report);
  stop_if_interrupted("interrupted: nothing was written");
  too_late_to_stop();
  OutputFile file(request.output);
  file.write(std::string_view(page));
  file.commit();
  print_report(request, characters, report, page.size());
}

}  // namespace

void add_crowd(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("crowd", "Make a web page with thousands of instances of rigs");
  auto request = std::make_shared<CrowdRequest>();
  command
      .add_option("RIG", request->rigs, "Up to 6 animated rigs, " + rig_inputs() + "; .glb with its levels of detail")
      ->required()
      ->expected(1, -1);
  command.add_option("-o,--output", request->output, "The page to write")->required();
  command.add_option("--count", request->options.count, "Instances at first; a slider changes them")
      ->check(in_range(1, kMostInstances))
      ->capture_default_str();
  command.add_option("--precision", request->precision, "Transforms in half or float; auto: half where that is enough")
      ->check(word_of({"auto", "half", "float"}))
      ->capture_default_str();
  command
      .add_option("--max-error", request->options.max_error,
                  "For auto: how far half floats may move a vertex, in % of the diagonal")
      ->check(not_negative)
      ->capture_default_str();
  command.add_option("--max-size", request->max_size, "Largest page, e.g. 20M")->capture_default_str();
  command.add_flag("--json", request->json, "Print everything as JSON");
  command.footer(R"(
The page is one file without any link to the outside. Every instance has its own clip, phase and place; the GPU poses all of
them. Sliders change their number, the level of detail and the method: four bones a vertex, two layers (sinew compress),
dense weights, or vertices that are sent every frame. docs/crowd.md

Examples:
  sinew crowd fox.glb -o crowd.html
  sinew lod fox.glb --levels 3 -o foxes.glb && sinew crowd foxes.glb horse.glb --count 20000 -o crowd.html)");
  command.callback([request] { run(*request); });
}

}  // namespace sinew::tool
