#include <fmt/format.h>

#include "commands.h"
#include "info_alembic.h"
#include "inputs.h"
#include "report.h"
#include "sinew/core/error.h"
#include "sinew/solve/request.h"

namespace sinew::tool {
namespace {

struct InfoRequest {
  std::shared_ptr<SequenceInputs> inputs;
  bool json = false;
};

/// A single file that holds a rig is described as one; everything else is a sequence.
Json facts_of_inputs(const SequenceInputs& inputs) {
  if (inputs.paths.size() == 1) {
    try {
      return facts_of(read_chosen_rig(inputs.paths.front(), inputs));
    } catch (const Error&) {  // not a rig: whatever is wrong with it as a sequence is said below
    }
  }
  const Sequence sequence = read_inputs(inputs);
  Json facts = facts_of(sequence);
  const SolveEstimate needed = estimate(sequence, {});
  facts["solve"] = {{"memory_bytes", needed.bytes}, {"seconds", needed.seconds}};
  return facts;
}

/// An Alembic archive, no part of it chosen: all its objects are described, hidden ones and other types as well.
bool is_whole_archive(const SequenceInputs& inputs) {
  return inputs.paths.size() == 1 && inputs.frames.empty() && inputs.read.mesh.empty() &&
         inputs.paths.front().extension() == ".abc";
}

/// What the sma solver found: the share of triangles that move nearly rigidly, in all and for each bone.
void print_near_rigid(const Json& notes) {
  const Json& fraction = notes["near_rigid_fraction"];
  if (fraction.is_number()) fmt::print("{:<11} {:.3f} of the triangles\n", "near-rigid", fraction.get<double>());
  const auto shares = notes.find("core_share");
  if (shares == notes.end() || !shares->is_array()) return;
  std::string text;
  for (const Json& share : *shares) {
    if (share.is_number()) text += fmt::format("{}{:.1f}", text.empty() ? "" : " ", 100 * share.get<double>());
  }
  fmt::print("{:<11} {} % of the triangles, bone by bone\n", "cores", text);
}

void print_facts(const Json& facts) {
  const auto line = [](const char* name, const std::string& value) { fmt::print("{:<11} {}\n", name, value); };
  const auto number = [&](const char* key) { return facts[key].get<double>(); };
  line("kind", facts["kind"].get<std::string>());
  line("vertices", fmt::format("{}", facts["vertices"].get<std::size_t>()));
  line("faces", fmt::format("{}", facts["faces"].get<std::size_t>()));
  for (auto piece = facts["pieces"].begin(); piece != facts["pieces"].end();) {
    const auto text = [](const Json& one) {
      return fmt::format("{} ({} vertices, {} faces)", one["name"].get<std::string>(),
                         one["vertices"].get<std::size_t>(), one["faces"].get<std::size_t>());
    };
    const auto first = piece;
    while (piece != facts["pieces"].end() && text(*piece) == text(*first)) ++piece;
    const auto alike = piece - first;
    line("  piece", alike == 1 ? text(*first) : fmt::format("{} × {}", alike, text(*first)));
  }
  line("frames", fmt::format("{} ({} s)", facts["frames"].get<std::size_t>(), short_number(number("seconds"))));
  for (const Json& clip : facts["clips"]) {
    const auto frames = clip["frames"].get<std::size_t>();
    line("  clip",
         fmt::format("{} ({} {})", clip["name"].get<std::string>(), frames, frames == 1 ? "frame" : "frames"));
  }
  if (facts.contains("bones")) {
    line("bones", fmt::format("{}, {}{}", facts["bones"].get<std::size_t>(), facts["transforms"].get<std::string>(),
                              facts["skeleton"].get<bool>() ? ", a skeleton" : ""));
    line("influences", fmt::format("{}", facts["influences"].get<int>()));
    if (facts.contains("two_layer"))
      line("two layers", fmt::format("{} virtual bones, {} per vertex", facts["two_layer"]["virtual_bones"].get<int>(),
                                     facts["two_layer"]["virtual_bones_per_vertex"].get<int>()));
    if (facts["corrections"].get<std::size_t>() > 0)
      line("corrections", fmt::format("rank {}", facts["corrections"].get<std::size_t>()));
  }
  if (facts.contains("compression_ratio"))
    line("compression", fmt::format("{}× fewer numbers than the sequence", short_number(number("compression_ratio"))));
  if (facts.contains("notes") && facts["notes"].contains("near_rigid_fraction")) print_near_rigid(facts["notes"]);
  line("diagonal", short_number(number("diagonal")));
  line("memory", size_text(number("memory_bytes")));
  if (facts.contains("solve"))
    line("to solve", fmt::format("at most {} of memory and about {} (20 bones; solve --dry-run: other options)",
                                 size_text(facts["solve"]["memory_bytes"].get<double>()),
                                 duration_text(facts["solve"]["seconds"].get<double>())));
}

}  // namespace

void add_info(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("info", "What a rig or a sequence holds");
  auto request = std::make_shared<InfoRequest>();
  request->inputs = add_sequence_inputs(command);
  add_paging_options(command, *request->inputs);
  command.add_flag("--json", request->json, "As JSON");
  command.footer(sequence_help() + R"(

Examples:
  sinew info rig.glb
  sinew info horse-gallop --json
  sinew info shot.abc)");
  command.callback([request] {
    if (is_whole_archive(*request->inputs)) return print_alembic_info(request->inputs->paths.front(), request->json);
    const Json facts = facts_of_inputs(*request->inputs);
    if (request->json)
      fmt::print("{}\n", json_text(facts));
    else
      print_facts(facts);
  });
}

}  // namespace sinew::tool
