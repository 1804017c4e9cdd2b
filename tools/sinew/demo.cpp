#include <fmt/format.h>

#include <optional>

#include "commands.h"
#include "interrupt.h"
#include "output.h"
#include "report.h"
#include "sinew/core/error.h"
#include "sinew/io/obj.h"
#include "sinew/io/output_file.h"
#include "sinew/io/pc2.h"
#include "sinew/make/character.h"
#include "sinew/view/page.h"
#include "solve.h"
#include "text_options.h"

namespace sinew::tool {
namespace {

struct DemoRequest {
  std::filesystem::path folder = "demo";
  CharacterOptions character;
  SolveRun solve;
  int bones = 28;
  int frames = 0;  // --frames: write so many and solve nothing
};

void make_folder(const std::filesystem::path& folder) {
  if (std::filesystem::is_directory(folder)) return;
  check_outputs({{"-o", folder, OutputKind::other}}, {});
  std::error_code failure;
  if (!std::filesystem::create_directory(folder, failure))
    throw Error(ErrorKind::output, fmt::format("{}: cannot be made: {}", folder.string(), failure.message()));
}

/// Writes the creature as a point cache that never is in memory, for solves of any size.
void write_frames(DemoRequest& request) {
  const std::filesystem::path cache = request.folder / "creature.pc2";
  check_outputs({{"-o", cache, OutputKind::frames}}, {});
  CharacterOptions options = request.character;
  options.walk_frames = request.frames / 2;
  options.wave_frames = request.frames - options.walk_frames;
  options.noise = 0;  // of every coordinate in every frame: nothing is left out of such by a basis
  std::optional<Pc2File> file;
  const Character character = make_character(options, [&](const Character& made, std::size_t, const Points& frame) {
    stop_if_interrupted("interrupted: nothing was written");
    if (!file) file.emplace(cache, made.truth.frame_count(), made.truth.vertex_count());
    file->add(frame);
  });
  too_late_to_stop();
  write_obj(std::filesystem::path(cache).replace_extension(".obj"), character.truth.rest);
  file->commit();
  fmt::print("{}\n", cache.string());
  fmt::print(stderr, "a creature of {} vertices, {} frames of walking and waving, made with {} bones\n",
             character.truth.vertex_count(), character.truth.frame_count(), character.truth.bone_count());
}

void run(DemoRequest& request) {
  make_folder(request.folder);
  if (request.frames > 0) return write_frames(request);
  const std::filesystem::path file = request.folder / "rig.glb";
  const std::filesystem::path report = request.folder / "report.json";
  const std::filesystem::path page = request.folder / "index.html";
  check_outputs({{"-o", file}, {"-o", report, OutputKind::other}, {"-o", page, OutputKind::other}}, {});
  const Character character = make_character(request.character);
  fmt::print(stderr, "a creature of {} vertices, {} frames of walking and waving, made with {} bones\n",
             character.sequence.vertex_count(), character.sequence.frame_count(), character.truth.bone_count());
  request.solve.request.bones = request.bones;
  request.solve.request.threads = request.character.threads;
  const Outcome outcome = solve_to_file(character.sequence, request.solve, file);
  const Json json = solve_report(outcome, character.sequence, file);
  write_json(report, json);
  print_table(result_header(),
              {result_row(outcome.rig, outcome.errors, outcome.between, outcome.seconds, file.string())});
  if (!has_viewer()) return;
  PageOptions options;
  options.name = "sinew demo";
  options.original = &character.sequence;
  options.report = json.dump();
  OutputFile html(page);
  html.write(std::string_view(view_page(read_file(file), options)));
  html.commit();
  fmt::print(stderr, "open {} in a browser to see it beside the original\n", page.string());
}

}  // namespace

void add_demo(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("demo", "Generate a creature, forget its bones, find them again");
  auto request = std::make_shared<DemoRequest>();
  request->character.bulge = 0.2;
  request->character.noise = 0.0005;
  command.add_option("-o,--output", request->folder, "Folder to write to, made if missing (demo)");
  command.add_option("--vertices", request->character.vertices, "Vertices of the creature (6000)")
      ->check(in_range(500, 5000000));
  command.add_option("--frames", request->frames, "Instead: only write so many frames, as creature.pc2, of any size")
      ->check(in_range(2, 1000000));
  command.add_option("--bones", request->bones, "Bones to find (28)")->check(in_range(1, 1000));
  command.add_option("--seed", request->character.seed, "Another seed is another creature (1)")->check(not_negative);
  command.add_option("--threads", request->character.threads, "Threads (all cores)")->check(in_range(0, 4096));
  command.footer(R"(Writes DIR/rig.glb, DIR/report.json and, where the viewer was built, DIR/index.html.

Examples:
  sinew demo
  sinew demo -o /tmp/creature --vertices 20000 --seed 7
  sinew demo -o /tmp/large --vertices 200000 --frames 500)");
  command.callback([request] { run(*request); });
}

}  // namespace sinew::tool
