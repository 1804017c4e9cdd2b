#include <fmt/format.h>

#include <cstring>
#include <optional>

#include "commands.h"
#include "inputs.h"
#include "interrupt.h"
#include "output.h"
#include "report.h"
#include "sinew/core/error.h"
#include "sinew/io/gltf.h"
#include "sinew/io/output_file.h"
#include "sinew/view/page.h"

namespace sinew::tool {
namespace {

struct Request {
  std::filesystem::path model;
  SequenceInputs against;
  std::filesystem::path report;
  std::filesystem::path output;
};

std::string text_of(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_file(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The model as the page takes it: GLB files as they are, rigs in other formats as GLB.
std::vector<std::byte> glb_of(const std::filesystem::path& path) {
  std::vector<std::byte> bytes = read_file(path);
  const bool is_glb = bytes.size() >= 4 && std::memcmp(bytes.data(), "glTF", 4) == 0;
  return is_glb ? bytes : glb_bytes(read_rig_file(path));
}

void run(const Request& request) {
  std::vector<std::filesystem::path> inputs = files_named(request.against);
  inputs.push_back(request.model);
  if (!request.report.empty()) inputs.push_back(request.report);
  check_outputs({{"-o", request.output, OutputKind::other}}, inputs);
  const std::vector<std::byte> glb = glb_of(request.model);
  PageOptions options;
  options.name = request.model.filename().string();
  if (!request.report.empty()) options.report = text_of(request.report);
  std::optional<Sequence> original;
  if (!request.against.paths.empty()) {
    original = read_inputs(request.against);
    const Rig rig = read_rig_file(request.model);
    if (rig.vertex_count() != original->vertex_count() || rig.frame_count() != original->frame_count())
      throw Error(ErrorKind::input,
                  fmt::format("{}: {} vertices and {} frames, the sequence to compare with has {} and {}",
                              request.model.string(), rig.vertex_count(), rig.frame_count(), original->vertex_count(),
                              original->frame_count()));
    options.original = &*original;
  }
  stop_if_interrupted("interrupted: nothing was written");
  OutputFile file(request.output);
  file.write(std::string_view(view_page(glb, options)));
  file.commit();
  fmt::print("{}\n", request.output.string());
}

}  // namespace

void add_view(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("view", "Make a web page that plays a rig, alone or beside the original");
  auto request = std::make_shared<Request>();
  command.add_option("RIG", request->model, "A model, animated or not: .glb, or a rig as " + rig_inputs())->required();
  command.add_option("--against,SEQUENCE", request->against.paths, "What to play beside it (sinew evaluate --help)");
  command.add_option("--frames", request->against.frames, "Frames of that sequence: FIRST:LAST:STEP, counted from 0");
  command.add_option("--report", request->report, "Report of the solve (solve --report), for the plots");
  command.add_option("-o,--output", request->output, "The page to write")->required();
  command.footer(R"(The page is one file without any link to the outside: open it from disk, send it by mail.

Examples:
  sinew view horse.glb -o horse.html
  sinew view horse.glb horse-gallop --report horse.json -o horse.html)");
  command.callback([request] { run(*request); });
}

}  // namespace sinew::tool
