#include <fmt/format.h>

#include "commands.h"
#include "inputs.h"
#include "output.h"
#include "packing.h"
#include "report.h"
#include "sinew/evaluate/vertex_match.h"
#include "text_options.h"

namespace sinew::tool {
namespace {

struct PackRequest {
  std::filesystem::path rig;
  std::filesystem::path out;
  std::shared_ptr<SequenceInputs> examples;
  Packing packing;
  bool json = false;
};

void run(PackRequest request) {
  std::vector<std::filesystem::path> all = request.examples->paths;
  all.push_back(request.rig);
  check_outputs({{"-o", request.out}}, all);
  check_packing(request.packing, request.out);
  Rig rig = read_rig_file(request.rig);
  say_what_is_left_out(request.rig, rig, Sliders::kept);
  request.packing.options.extensions = sliders_for(request.out, request.rig, rig);
  const bool with_examples = !request.examples->paths.empty();
  Sequence sequence;
  if (with_examples) {
    sequence = read_inputs(*request.examples);
    if (!same_vertices(rig, sequence)) rig = in_order_of(rig, match_vertices(rig, sequence), sequence);
  } else {
    sequence = pose_all(rig);
  }
  PackedResult packed = write_packed(request.out, std::move(rig), sequence, with_examples ? &sequence : nullptr,
                                     request.packing, {.threads = request.packing.options.threads});
  packed.given = std::filesystem::file_size(request.rig);
  if (request.json)
    fmt::print("{}\n", json_text(facts_of(packed)));
  else
    print_packed(packed, request.packing, with_examples);
}

}  // namespace

void add_pack(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("pack", "The smallest GLB of a rig for engines, and what it costs");
  auto request = std::make_shared<PackRequest>();
  PackOptions& options = request->packing.options;
  command.add_option("RIG", request->rig, "A skinned model, " + rig_inputs())->required();
  command.add_option("-o,--output", request->out, "The file to write, .glb")->required();
  request->examples = std::make_shared<SequenceInputs>();
  command.add_option("--examples", request->examples->paths,
                     "SEQUENCE that the rig was made from: errors are held against it (what the rig itself poses)");
  add_packing_options(command, request->packing, {});
  command.add_flag("--only-two-layer", options.only_two_layer,
                   "Rest mesh, looks and two-layer model alone, for sinew's own players");
  command.add_flag("--safe-names", options.safe_names, "Names of letters, digits, _ and - only, for some engines");
  command.add_option("--threads", options.threads, "Threads (all cores)")->check(in_range(0, 4096));
  command.add_flag("--json", request->json, "Print everything as JSON");
  command.footer(R"(
The file needs EXT_meshopt_compression and KHR_mesh_quantization: docs/shipping.md says what that means for each engine.

Examples:
  sinew pack rig.glb -o small.glb
  sinew pack rig.glb --examples horse-gallop --quality high -o small.glb
  sinew pack dense.glb --target three -o web.glb
  sinew pack rig.fbx --max-error 3 -o small.glb
  sinew pack two.glb --only-two-layer --examples horse-gallop -o least.glb)");
  command.callback([request] { run(*request); });
}

}  // namespace sinew::tool
