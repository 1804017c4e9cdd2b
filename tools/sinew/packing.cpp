#include "packing.h"

#include <fmt/format.h>

#include "inputs.h"
#include "progress_bar.h"
#include "sinew/core/error.h"
#include "sinew/io/io.h"
#include "sinew/pack/engines.h"
#include "sinew/refine/corrections.h"
#include "sinew/refine/reduce.h"
#include "text_options.h"

namespace sinew::tool {
namespace {

std::vector<std::string> engine_names() {
  std::vector<std::string> out;
  for (const Engine& engine : engines()) out.emplace_back(engine.name);
  return out;
}

[[noreturn]] void refuse_shear(const Engine& engine) {
  throw Error(ErrorKind::unusable,
              fmt::format("{}: bones that stretch unevenly do not survive its import; solve with rigid bones "
                          "(--transforms rigid)",
                          engine.name));
}

/// The rig as the engine takes it; what is done to it, and what that costs, goes to stderr.
Rig within_limits(Rig rig, const Sequence& target, const Engine& engine, Packing& packing) {
  if (rig.transforms == Transforms::affine && !engine.shear) refuse_shear(engine);
  PackOptions& options = packing.options;
  options.safe_names = options.safe_names || engine.safe_names;
  options.bones_per_mesh = engine.bones;
  if (!engine.meshopt && rig.bone_count() > static_cast<std::size_t>(engine.bones))
    throw Error(ErrorKind::unusable, fmt::format("{}: a mesh may have {} bones, the rig has {}", engine.name,
                                                 engine.bones, rig.bone_count()));
  if (used_influences(rig.weights) <= engine.influences) return rig;
  const double before = evaluate(rig, target, options.threads).e_rms;
  const int influences = used_influences(rig.weights);
  ReduceOptions reduced;
  reduced.influences = engine.influences;
  reduced.threads = options.threads;
  ReduceReport report;
  ProgressBar bar;
  const bool bones_stay = !options.extensions.empty();  // sliders say how these bones move, not others
  rig = reduce(rig, &target, reduced, bones_stay ? Refit::never : Refit::automatic, report, bar.callback());
  bar.wipe();
  fmt::print(stderr, "sinew: {}: {} influences per vertex became {}: E_RMS {} -> {}\n", engine.name, influences,
             engine.influences, short_number(before), short_number(evaluate(rig, target, options.threads).e_rms));
  return rig;
}

PackQuality quality_of(const std::string& name) {
  return name == "low" ? PackQuality::low : name == "high" ? PackQuality::high : PackQuality::medium;
}

/// A mesh of one bone that never moves.
Rig still_rig(const Sequence& sequence) {
  Rig rig;
  rig.rest = sequence.rest;
  rig.bones = {{"bone_0", -1, sequence.rest.positions.rowwise().mean(), sequence.rest.positions.rowwise().mean()}};
  rig.weights = {1, std::vector<Index>(rig.vertex_count(), 0), std::vector<float>(rig.vertex_count(), 1.0F)};
  rig.motion = Motion(sequence.frame_count(), 1);
  rig.times = sequence.times;
  rig.clips = sequence.clips;
  rig.transforms = Transforms::rigid;
  return rig;
}

/// What the frames take as morph targets at the error of a packed rig; nothing where the fewest bytes of a target say
/// that it is more, or where the targets do not reach that error.
std::optional<PackedMorphs> as_morphs(const Sequence& sequence, const PackReport& packed, const PackOptions& asked) {
  constexpr double kLeastBytes = 0.75;   // of a vertex in a target
  constexpr double kForRounding = 0.98;  // of the error, before it is rounded
  const double most = static_cast<double>(packed.bytes_after) / kLeastBytes /
                      static_cast<double>(std::max<std::size_t>(1, sequence.vertex_count()));
  CorrectionOptions options;
  options.max_rank = static_cast<int>(std::min(most, static_cast<double>(sequence.frame_count())));
  if (options.max_rank < 1) return std::nullopt;
  options.max_error = kForRounding * packed.after.e_rms;
  options.iterations = 0;  // one still bone: the decomposition is exact
  options.threads = asked.threads;
  try {
    Rig rig = still_rig(sequence);
    const CorrectionReport fitted = correct(rig, sequence, options);
    if (fitted.rank == 0 || evaluate(rig, sequence, asked.threads).e_rms > packed.after.e_rms) return std::nullopt;
    PackOptions pack = asked;
    pack.max_error = packed.after.e_rms;
    PackReport report;
    const std::size_t bytes = pack_glb(rig, &sequence, pack, report).size();
    return PackedMorphs{fitted.rank, bytes, report.after.e_rms};
  } catch (const Error&) {  // they cannot be had at this error
    return std::nullopt;
  }
}

/// What the file that was given takes.
std::string beside_given(const PackedResult& packed) {
  return packed.given == 0 ? "" : fmt::format("; the file given has {}", size_text(static_cast<double>(packed.given)));
}

}  // namespace

std::vector<CLI::Option*> add_packing_options(CLI::App& command, Packing& packing, const PackingNames& names) {
  PackOptions& options = packing.options;
  std::vector<CLI::Option*> out;
  out.push_back(command.add_option(names.quality, packing.quality,
                                   "low, medium or high: 1.1, 1.02 or 1.005 of the rig's E_RMS; without examples "
                                   "0.05, 0.01 or 0.002 % of the diagonal"));
  out.back()->check(word_of({"low", "medium", "high"}))->capture_default_str();
  out.push_back(command.add_option(names.max_error, options.max_error, "E_RMS that the packed file may have"));
  out.back()->check(above_zero);
  out.push_back(command.add_option("--target", packing.target,
                                   fmt::format("The engine whose limits to keep: {} (none)", one_of(engine_names()))));
  out.back()->check(word_of(engine_names()));
  out.push_back(command.add_flag("--lossless", options.lossless, "Reorder and compress only, every number as it is"));
  out.push_back(
      command.add_flag("--strip-textures", options.strip_textures, "Leave out images and what refers to them"));
  out.push_back(
      command.add_flag("--khr", options.khronos, "Name the compression KHR_meshopt_compression instead of EXT_"));
  if (!names.group.empty())
    for (CLI::Option* option : out) option->group(names.group);
  return out;
}

void check_packing(const Packing& packing, const std::filesystem::path& out, const SolveRequest* solve) {
  if (lower_extension(out) != ".glb")
    throw Error(ErrorKind::usage, fmt::format("-o {}: packed rigs are .glb files", out.string()));
  const Engine* const engine = find_engine(packing.target);
  if (engine != nullptr && solve != nullptr && !engine->shear && is_affine(*solve)) refuse_shear(*engine);
}

PackedResult write_packed(const std::filesystem::path& out, Rig rig, const Sequence& sequence, const Sequence* examples,
                          Packing packing, const ResultOptions& options) {
  PackedResult packed;
  packing.options.quality = quality_of(packing.quality);
  packing.options.safe_names = packing.options.safe_names || options.write.safe_names;
  packing.options.threads = options.threads;
  const Engine* const engine = find_engine(packing.target);
  if (engine != nullptr) rig = within_limits(std::move(rig), sequence, *engine, packing);
  ResultOptions writing = options;
  writing.extensions = packing.options.extensions;
  writing.write.safe_names = packing.options.safe_names;
  packed.plain = engine != nullptr && !engine->meshopt;
  if (!packed.plain) {
    ProgressBar bar;
    const Progress progress = options.keep_partial ? Progress() : bar.callback();
    writing.bytes = pack_glb(rig, examples, packing.options, packed.report, progress);
    bar.wipe();
    if (packed.report.cancelled) throw Error(ErrorKind::interrupted, "interrupted: nothing was written");
  }
  packed.written = write_result(out, rig, sequence, writing);
  if (examples != nullptr && !packed.plain && !packing.options.only_two_layer)
    packed.morphs = as_morphs(*examples, packed.report, packing.options);
  return packed;
}

void print_packed(const PackedResult& packed, const Packing& packing, bool with_examples) {
  if (packed.plain) {
    fmt::print("size      {}: {} reads no compressed files, so this one is not{}\n",
               size_text(static_cast<double>(packed.written.bytes)), packing.target, beside_given(packed));
    fmt::print("E_RMS     {}\n", short_number(packed.written.errors.e_rms));
    return;
  }
  const PackReport& report = packed.report;
  std::vector<std::vector<std::string>> rows;
  for (const PackedPart& part : report.parts)
    rows.push_back({fmt::to_string(part.before), fmt::to_string(part.after), part.precision,
                    part.e_rms > 0 ? short_number(part.e_rms) : "",
                    part.normal_degrees > 0 ? short_number(part.normal_degrees) : "", part.name});
  rows.push_back({fmt::to_string(report.bytes_before), fmt::to_string(report.bytes_after), "", "", "", "all"});
  print_table({"before", "after", "kept", "adds E", "adds °", "part"}, rows);
  const std::string against = with_examples ? "the examples" : "what the rig poses";
  const bool fitted = report.fitted.e_rms < 0.995 * report.before.e_rms && report.fitted.e_rms > 0;
  fmt::print("\nE_RMS     {} -> {} against {}; {} was allowed{}\n", short_number(report.before.e_rms),
             short_number(report.after.e_rms), against, short_number(report.allowed_e_rms),
             fitted ? fmt::format(", fitting the rest pose anew gave {}", short_number(report.fitted.e_rms)) : "");
  fmt::print("normals   {}° -> {}° of the surfaces, {}° -> {}° as a player skins them\n",
             short_number(report.before.normal_degrees), short_number(report.after.normal_degrees),
             short_number(report.before.played_degrees), short_number(report.after.played_degrees));
  fmt::print(
      "size      {}: {:.1f} % of the same rig not packed{}\n", size_text(static_cast<double>(report.bytes_after)),
      100.0 * static_cast<double>(report.bytes_after) / static_cast<double>(report.bytes_before), beside_given(packed));
  if (packed.morphs)
    fmt::print(
        "morphs    {} targets that say the same take {} at E_RMS {}: {}\n", packed.morphs->targets,
        size_text(static_cast<double>(packed.morphs->bytes)), short_number(packed.morphs->e_rms),
        packed.morphs->bytes < report.bytes_after ? "they are the better choice" : "bones are the better choice");
  if (report.dropped_bones > 0) fmt::print("left out  {} bones that nothing follows\n", report.dropped_bones);
  if (report.skins > 1)
    fmt::print("skins     {}: a mesh may have {} bones\n", report.skins, find_engine(packing.target)->bones);
}

Json facts_of(const PackedResult& packed) {
  if (packed.plain) {
    Json out{{"bytes", {{"after", packed.written.bytes}}}};
    out["after"] = facts_of(packed.written.errors);
    return out;
  }
  const PackReport& report = packed.report;
  Json parts = Json::array();
  for (const PackedPart& part : report.parts)
    parts.push_back({{"name", part.name},
                     {"before", part.before},
                     {"after", part.after},
                     {"precision", part.precision},
                     {"e_rms", part.e_rms},
                     {"normal_degrees", part.normal_degrees}});
  Json out{{"bytes", {{"before", report.bytes_before}, {"after", report.bytes_after}}}};
  if (packed.given > 0) out["bytes"]["given"] = packed.given;
  out["parts"] = std::move(parts);
  out["allowed"] = {{"e_rms", report.allowed_e_rms}, {"normal_degrees", report.allowed_normals}};
  out["before"] = facts_of(report.before);
  if (report.fitted.e_rms > 0) out["fitted"] = facts_of(report.fitted);
  out["after"] = facts_of(report.after);
  out["dropped_bones"] = report.dropped_bones;
  out["skins"] = report.skins;
  if (packed.morphs)
    out["morphs"] = {
        {"targets", packed.morphs->targets}, {"bytes", packed.morphs->bytes}, {"e_rms", packed.morphs->e_rms}};
  return out;
}

}  // namespace sinew::tool
