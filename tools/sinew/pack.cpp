#include "sinew/pack/pack.h"

#include <fmt/format.h>

#include "commands.h"
#include "inputs.h"
#include "interrupt.h"
#include "output.h"
#include "progress_bar.h"
#include "report.h"
#include "sinew/core/error.h"
#include "sinew/evaluate/vertex_match.h"
#include "sinew/io/output_file.h"
#include "sinew/pack/engines.h"
#include "sinew/refine/reduce.h"

namespace sinew::tool {
namespace {

struct PackRequest {
  std::filesystem::path rig;
  std::filesystem::path out;
  std::string quality = "medium";
  std::string target;  // an engine; empty: any
  std::shared_ptr<SequenceInputs> examples;
  PackOptions options;
  bool json = false;
};

std::vector<std::string> engine_names() {
  std::vector<std::string> out;
  for (const Engine& engine : engines()) out.emplace_back(engine.name);
  return out;
}

/// The rig as the engine takes it; what is done to it, and what that costs, goes to stderr.
Rig within_limits(Rig rig, const Sequence& target, const Engine& engine, PackRequest& request) {
  const auto refuse = [&](const std::string& sentence) {
    throw Error(ErrorKind::unusable, fmt::format("{}: {}", engine.name, sentence));
  };
  if (rig.bone_count() > static_cast<std::size_t>(engine.bones))
    refuse(fmt::format("a mesh may have {} bones, the rig has {}; solve with --bones {}", engine.bones,
                       rig.bone_count(), engine.bones));
  if (rig.transforms == Transforms::affine && !engine.shear)
    refuse("bones that stretch unevenly do not survive its import; solve with rigid bones (--transforms rigid)");
  request.options.safe_names = request.options.safe_names || engine.safe_names;
  if (used_influences(rig.weights) <= engine.influences) return rig;
  const double before = evaluate(rig, target, request.options.threads).e_rms;
  const int influences = used_influences(rig.weights);
  ReduceOptions reduced;
  reduced.influences = engine.influences;
  reduced.threads = request.options.threads;
  ReduceReport report;
  ProgressBar bar;
  rig = reduce(rig, &target, reduced, Refit::automatic, report, bar.callback());
  bar.wipe();
  fmt::print(stderr, "sinew: {}: {} influences per vertex became {}: E_RMS {} -> {}\n", engine.name, influences,
             engine.influences, short_number(before),
             short_number(evaluate(rig, target, request.options.threads).e_rms));
  return rig;
}

PackQuality quality_of(const std::string& name) {
  return name == "low" ? PackQuality::low : name == "high" ? PackQuality::high : PackQuality::medium;
}

std::string bytes_text(std::size_t bytes) {
  return fmt::to_string(bytes);
}

Json pack_facts(const PackReport& report) {
  Json parts = Json::array();
  for (const PackedPart& part : report.parts)
    parts.push_back({{"name", part.name},
                     {"before", part.before},
                     {"after", part.after},
                     {"precision", part.precision},
                     {"e_rms", part.e_rms},
                     {"normal_degrees", part.normal_degrees}});
  Json out{{"bytes", {{"before", report.bytes_before}, {"after", report.bytes_after}}}};
  out["parts"] = std::move(parts);
  out["allowed"] = {{"e_rms", report.allowed_e_rms}, {"normal_degrees", report.allowed_normals}};
  out["before"] = tool::facts_of(report.before);
  out["after"] = tool::facts_of(report.after);
  out["dropped_bones"] = report.dropped_bones;
  return out;
}

void print(const PackReport& report, bool with_examples) {
  std::vector<std::vector<std::string>> rows;
  for (const PackedPart& part : report.parts)
    rows.push_back({bytes_text(part.before), bytes_text(part.after), part.precision.empty() ? "" : part.precision,
                    part.e_rms > 0 ? short_number(part.e_rms) : "",
                    part.normal_degrees > 0 ? short_number(part.normal_degrees) : "", part.name});
  rows.push_back({bytes_text(report.bytes_before), bytes_text(report.bytes_after), "", "", "", "all"});
  print_table({"before", "after", "kept", "adds E", "adds °", "part"}, rows);
  const std::string against = with_examples ? "the examples" : "what the rig poses";
  fmt::print("\nE_RMS     {} -> {} against {}; {} was allowed\n", short_number(report.before.e_rms),
             short_number(report.after.e_rms), against, short_number(report.allowed_e_rms));
  fmt::print("normals   {}° -> {}° of the surfaces, {}° -> {}° as a player skins them\n",
             short_number(report.before.normal_degrees), short_number(report.after.normal_degrees),
             short_number(report.before.played_degrees), short_number(report.after.played_degrees));
  fmt::print("size      {}: {:.1f} % of the same rig not packed\n", size_text(static_cast<double>(report.bytes_after)),
             100.0 * static_cast<double>(report.bytes_after) / static_cast<double>(report.bytes_before));
  if (report.dropped_bones > 0) fmt::print("left out  {} bones that nothing follows\n", report.dropped_bones);
}

/// For engines that read neither the compression nor rounded attributes.
void write_plain(const Rig& rig, const Sequence& target, const PackRequest& request) {
  WriteOptions write;
  write.safe_names = request.options.safe_names;
  const Written written = write_result(request.out, rig, target, {.threads = request.options.threads, .write = write});
  if (request.json) {
    Json out{{"bytes", {{"after", written.bytes}}}};
    out["after"] = tool::facts_of(written.errors);
    fmt::print("{}\n", json_text(out));
    return;
  }
  fmt::print("size      {}: {} reads no compressed files, so this one is not\n",
             size_text(static_cast<double>(written.bytes)), request.target);
  fmt::print("E_RMS     {}\n", short_number(written.errors.e_rms));
}

void run(PackRequest request) {
  std::vector<std::filesystem::path> all = request.examples->paths;
  all.push_back(request.rig);
  check_outputs({{"-o", request.out}}, all);
  if (lower_extension(request.out) != ".glb")
    throw Error(ErrorKind::usage, fmt::format("-o {}: packed rigs are .glb files", request.out.string()));
  request.options.quality = quality_of(request.quality);
  Rig rig = read_rig_file(request.rig);
  const bool with_examples = !request.examples->paths.empty();
  Sequence examples;
  if (with_examples) {
    examples = read_inputs(*request.examples);
    if (!same_vertices(rig, examples)) rig = in_order_of(rig, match_vertices(rig, examples), examples);
  }
  const Engine* const engine = find_engine(request.target);
  if (engine != nullptr) {
    if (!with_examples) examples = pose_all(rig);
    rig = within_limits(std::move(rig), examples, *engine, request);
    if (!engine->meshopt) return write_plain(rig, examples, request);
  }
  PackReport report;
  const std::vector<std::byte> bytes = pack_glb(rig, with_examples ? &examples : nullptr, request.options, report);
  stop_if_interrupted("interrupted: nothing was written");
  OutputFile file(request.out);
  file.write(std::span<const std::byte>(bytes));
  file.commit();
  if (request.json)
    fmt::print("{}\n", json_text(pack_facts(report)));
  else
    print(report, with_examples);
}

}  // namespace

void add_pack(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("pack", "The smallest GLB of a rig for engines, and what it costs");
  auto request = std::make_shared<PackRequest>();
  PackOptions& options = request->options;
  command.add_option("RIG", request->rig, "A skinned model, " + rig_inputs())->required();
  command.add_option("-o,--output", request->out, "The file to write, .glb")->required();
  request->examples = std::make_shared<SequenceInputs>();
  command.add_option("--examples", request->examples->paths,
                     "SEQUENCE that the rig was made from: errors are held against it (what the rig itself poses)");
  auto* const quality =
      command.add_option("--quality", request->quality,
                         "low, medium or high: 1.1, 1.02 or 1.005 of the rig's E_RMS; without examples "
                         "0.05, 0.01 or 0.002 % of the diagonal");
  quality->check(CLI::IsMember({"low", "medium", "high"}).description(""))->capture_default_str();
  command.add_option("--max-error", options.max_error, "E_RMS that the packed file may have")
      ->check(CLI::PositiveNumber.description(""));
  command
      .add_option("--target", request->target,
                  fmt::format("The engine whose limits to keep: {} (none)", one_of(engine_names())))
      ->check(CLI::IsMember(engine_names()).description(""));
  command.add_flag("--lossless", options.lossless, "Reorder and compress only, every number as it is");
  command.add_flag("--strip-textures", options.strip_textures, "Leave out images and what refers to them");
  command.add_flag("--khr", options.khronos, "Name the compression KHR_meshopt_compression instead of EXT_");
  command.add_flag("--safe-names", options.safe_names, "Names of letters, digits, _ and - only, for some engines");
  command.add_option("--threads", options.threads, "Threads (all cores)")->check(CLI::Range(0, 4096));
  command.add_flag("--json", request->json, "Print everything as JSON");
  command.footer(R"(
The file needs EXT_meshopt_compression and KHR_mesh_quantization: docs/shipping.md says what that means for each engine.

Examples:
  sinew pack rig.glb -o small.glb
  sinew pack rig.glb --examples horse-gallop --quality high -o small.glb
  sinew pack dense.glb --target three -o web.glb
  sinew pack rig.fbx --max-error 3 -o small.glb)");
  command.callback([request] { run(*request); });
}

}  // namespace sinew::tool
