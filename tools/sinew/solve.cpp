#include "solve.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <span>

#include "commands.h"
#include "inputs.h"
#include "inside_text.h"
#include "interrupt.h"
#include "math/parallel.h"
#include "output.h"
#include "progress_bar.h"
#include "report.h"
#include "shared_checkpoint.h"
#include "sinew/core/bounds.h"
#include "sinew/core/error.h"
#include "sinew/io/checkpoint_file.h"
#include "sinew/refine/corrections.h"
#include "solve_blendshapes.h"
#include "solve_options.h"
#include "text_options.h"

namespace sinew::tool {
namespace {

#ifdef __EMSCRIPTEN__
constexpr double kPace = 3;  // times as long as the same work in machine code
#else
constexpr double kPace = 1;
#endif

/// Everything the command line says about a solve.
struct SolveArguments {
  Ranks* ranks = nullptr;  // that share the solve
  std::shared_ptr<SequenceInputs> inputs;
  SolveRun run;
  std::filesystem::path output;
  std::filesystem::path report;
  std::filesystem::path rig_file;
  std::optional<Rig> rig;  // read from it
  std::filesystem::path checkpoint;
  double checkpoint_seconds = 60;
  std::string normals = "keep";
  bool dry_run = false;
  bool allow_static = false;
  bool json = false;
  BlendshapeArguments blendshapes;
  OptionOwners owners;
  bool pack = false;
  Packing packing;
  std::vector<CLI::Option*> packing_options;  // each of them asks for a packed file
};

constexpr const char* kPackingGroup = "A packed file, as `sinew pack` makes it";

void add_rig_options(CLI::App& command, SolveArguments& arguments) {
  const char* const group = "Fitting a given rig";
  SolveRequest& request = arguments.run.request;
  auto* const rig =
      command.add_option("--rig", arguments.rig_file, "A rig whose bones or weights to keep")->group(group);
  command
      .add_option(
          "--fit", request.fit,
          "What to fit: weights, motion or all (all; weights with sma), or joints with --skeleton; the motion of a "
          "rig with joints is that of its joints unless --transforms is given")
      ->check(word_of({"weights", "motion", "all", "joints"}))
      ->needs(rig)
      ->group(group);
  command.add_option("--add-bones", request.add_bones, "Helper bones to add to it, or to a --skeleton")
      ->check(in_range(0, 1024))
      ->group(group);
  command.add_option("--lock", request.lock, "A bone that keeps its motion, by name or number; may be repeated")
      ->needs(rig)
      ->allow_extra_args(false)
      ->group(group);
}

/// Refuses outputs that cannot be written, before anything is read.
void refuse_outputs(const SolveArguments& arguments) {
  if (arguments.output.empty()) misused("--output is required");
  if (arguments.run.packing) check_packing(*arguments.run.packing, arguments.output, &arguments.run.request);
  std::vector<std::filesystem::path> inputs = files_named(*arguments.inputs);
  if (!arguments.rig_file.empty()) inputs.push_back(arguments.rig_file);
  check_outputs({{"-o", arguments.output},
                 {"--report", arguments.report, OutputKind::other},
                 {"--checkpoint", arguments.checkpoint, OutputKind::other}},
                inputs);
}

/// Everything on the command line that the result depends on, in a fixed order.
std::string options_line(const std::string& method, const CLI::App& command) {
  const std::set<std::string> without_effect{
      "--output", "--report",   "--json",       "--threads",      "--checkpoint",   "--checkpoint-seconds",
      "--method", "--skeleton", "--dry-run",    "--memory-limit", "--keep-partial", "--allow-static",
      "--rig",    "--normals",  "--safe-names", "SEQUENCE",       "--progress",     "--scratch"};
  std::string line = fmt::format("sinew {} solve --method {}", SINEW_VERSION, method);
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0 || without_effect.count(option->get_name()) != 0) continue;
    if (option->get_group() == kPackingGroup) continue;
    line += " " + option->get_name();
    for (const std::string& value : option->results()) line += " " + value;
  }
  return line;
}

/// The files of the inputs that are read whole; a sequence takes at least that much memory when it is read.
std::uintmax_t bytes_of(const SequenceInputs& inputs) {
  std::uintmax_t bytes = 0;
  std::error_code ignored;
  for (const std::filesystem::path& path : inputs.paths) {
    const std::string extension = lower_extension(path);
    const bool in_pieces =
        extension == ".abc" || (inputs.paged && (extension == ".npz" || usable_for(FileUse::read_positions, path)));
    if (std::filesystem::is_regular_file(path, ignored) && !in_pieces)
      bytes += std::filesystem::file_size(path, ignored);
  }
  return bytes;
}

void refuse_beyond(double limit, double bytes, const std::string& what) {
  if (limit <= 0 || bytes <= limit) return;
  throw Error(ErrorKind::unusable,
              fmt::format("{} takes about {} of memory, more than the {} that --memory-limit allows", what,
                          size_text(bytes), size_text(limit)));
}

/// Refuses what a limited address space (ulimit -v) has no room for.
void refuse_beyond_address_space(double bytes, int threads) {
  constexpr double kPerThread = 200e6;  // addresses that a thread's stack and heap reserve
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  std::ifstream statm("/proc/self/statm");
  double pages = 0;
  statm >> pages;
  const double used = pages * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  const double needed = used + bytes + kPerThread * (threads + 1);
  if (needed > static_cast<double>(limit.rlim_cur))
    throw Error(ErrorKind::unusable,
                fmt::format("not enough memory: this solve may need addresses for {}, the limit (ulimit -v) is {}",
                            size_text(needed), size_text(static_cast<double>(limit.rlim_cur))));
}

void print_estimate(const SolveEstimate& estimate, const std::string& method, const Sequence& sequence, bool json) {
  const bool paged = sequence.frames.paging() != nullptr;
  if (json) {
    Json out{{"method", method}, {"input", facts_of(sequence)}};
    out["estimate"] = {{"memory_bytes", estimate.bytes}, {"seconds", estimate.seconds}};
    out["estimate"]["frames"] = paged ? "file" : "memory";
    if (paged) {
      out["estimate"]["passes"] = estimate.passes;
      out["estimate"]["scratch_bytes"] = estimate.scratch;
    }
    fmt::print("{}\n", json_text(out));
    return;
  }
  fmt::print("{} vertices, {} frames; --method {} takes at most {} of memory and about {}\n", sequence.vertex_count(),
             sequence.frame_count(), method, size_text(estimate.bytes), duration_text(estimate.seconds));
  if (paged)
    fmt::print("the frames ({}) stay in a file, which is passed over about {} times; at most {} of scratch beside it\n",
               size_text(static_cast<double>(sequence.frames.bytes())), estimate.passes, size_text(estimate.scratch));
}

/// Whether a vertex is ever elsewhere than in the first frame, by more than rounding.
bool moves(const Sequence& sequence) {
  const Points& rest = sequence.rest.positions;  // in double: squares and differences of floats may be infinite
  const double reach = (rest.rowwise().maxCoeff().cast<double>() - rest.rowwise().minCoeff().cast<double>()).maxCoeff();
  const double tolerance = 1e-6 * reach;
  for (std::size_t f = 1; f < sequence.frame_count(); ++f)
    if ((sequence.frames[f].cast<double>() - sequence.frames[0].cast<double>()).cwiseAbs().maxCoeff() > tolerance)
      return true;
  return false;
}

/// Bones are found from motion: without any there is nothing to solve, and a few poses do not say much.
void check_motion(const Sequence& sequence, bool allow_static) {
  constexpr std::size_t kFewFrames = 5;
  const std::size_t frames = sequence.frame_count();
  if (!moves(sequence)) {
    if (allow_static) return;
    throw Error(ErrorKind::input,
                fmt::format("{}: nothing moves in its {}; bones are found from motion (--allow-static "
                            "writes a rig all the same)",
                            sequence.name, frames == 1 ? "only frame" : fmt::format("{} frames", frames)));
  }
  if (frames < kFewFrames)
    fmt::print(stderr, "sinew: warning: {} has only {} frames; weights from so few rarely fit other poses\n",
               sequence.name, frames);
}

std::unique_ptr<CheckpointFile> open_checkpoint(const SolveArguments& arguments, const CLI::App& command,
                                                const Sequence& sequence) {
  if (arguments.checkpoint.empty() || arguments.ranks->rank() > 0) return {};
  CheckpointFileOptions options;
  options.seconds = arguments.checkpoint_seconds;
  options.stop_soon = interrupted;
  std::string input = digest_of(sequence);
  if (arguments.rig) input += " " + digest_of(*arguments.rig);
  auto file = std::make_unique<CheckpointFile>(
      arguments.checkpoint, SolveIdentity{options_line(arguments.run.request.method, command), input}, options);
  if (file->resumed()) fmt::print(stderr, "sinew: continuing from {}\n", arguments.checkpoint.string());
  return file;
}

/// Bones that the format cannot hold are refused before the work, not after it.
void refuse_shear(const SolveArguments& arguments) {
  if (arguments.output.empty() || !is_affine(arguments.run.request)) return;
  if (usable_for(FileUse::write_shear, arguments.output)) return;
  const bool bakes = usable_for(FileUse::bake_shear, arguments.output);
  if (bakes && arguments.run.write.bake_shear) return;
  misused(
      fmt::format("{}: bones of this format turn, move and scale, affine ones shear as well. Use --transforms rigid, "
                  "or write {}{}",
                  arguments.output.string(), fmt::join(extensions_for(FileUse::write_shear), " or "),
                  bakes ? ", or pairs of nodes with --bake-shear" : ""));
}

/// Says also how the error falls, in lines "iteration NUMBER E_RMS".
Progress with_errors(Progress progress, bool lines, const FitReport& report) {
  if (!lines) return progress;
  return
      [progress = std::move(progress), &report, told = std::size_t{0}](std::string_view step, double fraction) mutable {
        for (; told < report.iterations.size(); ++told)
          fmt::print(stderr, "iteration {} {:.6g}\n", told + 1, report.iterations[told].e_rms);
        return progress(step, fraction);
      };
}

/// Reads the sequence for the solve that is asked for: in memory where both fit, else left in a file, with what remains
/// of the memory for parts of it.
Sequence read_within_memory(SolveArguments& arguments) {
  constexpr double kLeast = 32e6;  // for parts of the frames
  SequenceInputs& inputs = *arguments.inputs;
  const double memory = memory_of(inputs);
  const auto read = [&] {
    Sequence sequence = read_inputs(inputs);
    if (arguments.normals == "keep") return sequence;
    sequence.rest.normals = {};
    sequence.rest.flat = arguments.normals == "flat";
    return sequence;
  };
  Sequence sequence = read();
  check_motion(sequence, arguments.allow_static || arguments.dry_run);
  if (inputs.paged && sequence.frames.paging() == nullptr && estimate(sequence, arguments.run.request).bytes > memory) {
    sequence = {};
    inputs.read.paging.most = 0;
    sequence = read();
  }
  sequence.frames.set_paging_memory(0);
  const double beside = estimate(sequence, arguments.run.request).bytes;
  sequence.frames.set_paging_memory(static_cast<std::size_t>(std::max(kLeast, memory - beside)));
  return sequence;
}

/// Frames that ranks share stay in a file, of which each reads what it owns.
void share_frames(const SolveArguments& arguments, SequenceInputs& inputs) {
  if (arguments.ranks->alone()) return;
  if (!inputs.paged)
    misused(
        "several processes solve with --method ssdr, kavan, flats, skeleton or clusters, without --blendshapes and "
        "--corrections");
  inputs.read.paging.most = 0;
  inputs.read.paging.ranks = arguments.ranks;
}

void run(SolveArguments& arguments, const CLI::App& command) {
  if (arguments.blendshapes.wanted && arguments.ranks->alone()) {
    check_blendshape_options(command);
    return solve_blendshapes_to_file({*arguments.inputs, arguments.run, arguments.blendshapes, arguments.output,
                                      arguments.report, arguments.normals, arguments.json});
  }
  SolveRequest& request = arguments.run.request;
  check_options_taken(command, arguments.owners, request);
  const auto given = [](const CLI::Option* option) { return option->count() > 0; };
  if (std::any_of(arguments.packing_options.begin(), arguments.packing_options.end(), given))
    arguments.run.packing = arguments.packing;
  if (!arguments.dry_run) refuse_outputs(arguments);
  refuse_shear(arguments);
  SequenceInputs& inputs = *arguments.inputs;
  const double limit = inputs.memory_limit.empty() ? 0 : memory_of(inputs);
  inputs.paged = !arguments.blendshapes.wanted && kFilesBesideMemory && solves_paged(request.method) &&
                 arguments.run.corrections == 0;
  share_frames(arguments, inputs);
  refuse_beyond(limit, static_cast<double>(bytes_of(inputs)), "reading the input");
  if (!arguments.rig_file.empty()) request.given = &arguments.rig.emplace(read_rig_file(arguments.rig_file));
  Sequence sequence = read_within_memory(arguments);
  SolveEstimate needed = estimate(sequence, request);
  needed.seconds *= kPace;
  refuse_beyond(limit, needed.bytes, "this solve");
  refuse_beyond_address_space(needed.bytes, resolve_threads(request.threads));
  if (arguments.dry_run) return print_estimate(needed, request.method, sequence, arguments.json);

  const auto checkpoint = open_checkpoint(arguments, command, sequence);
  std::optional<SharedCheckpoint> shared;
  if (!arguments.checkpoint.empty() && !arguments.ranks->alone())
    request.checkpoint = &shared.emplace(*arguments.ranks, checkpoint.get());
  else
    request.checkpoint = checkpoint.get();
  const auto say_what_is_kept = [&] {
    if (checkpoint && (checkpoint->resumed() || checkpoint->saved() > 0))
      fmt::print(stderr, "sinew: {} keeps the state: the same command continues from it\n",
                 arguments.checkpoint.string());
  };
  Outcome outcome;
  try {
    outcome = solve_to_file(sequence, arguments.run, arguments.output);
  } catch (...) {
    say_what_is_kept();
    throw;
  }
  if (arguments.ranks->rank() > 0) return;
  if (outcome.partial) say_what_is_kept();
  if (checkpoint && !outcome.partial) checkpoint->discard();
  const Json json = solve_report(outcome, sequence, arguments.output);
  if (!arguments.report.empty()) write_json(arguments.report, json);
  if (arguments.json) {
    fmt::print("{}\n", json_text(json));
  } else {
    print_table(result_header(),
                {result_row(outcome.rig, outcome.errors, outcome.between, outcome.seconds, arguments.output.string())});
    if (outcome.rig.jointed) fmt::print("inside: {}\n", inside_text(inside_at_rest(outcome.rig)));
    if (outcome.packed) {
      fmt::print("\n");
      print_packed(*outcome.packed, *arguments.run.packing, true);
    }
    if (!outcome.report.remark.empty()) fmt::print(stderr, "{}\n", outcome.report.remark);
  }
  if (outcome.partial)
    throw Error(ErrorKind::interrupted,
                fmt::format("interrupted: {} holds the best model so far", arguments.output.string()));
}

}  // namespace

Json solve_report(const Outcome& outcome, const Sequence& sequence, const std::filesystem::path& file) {
  Json out{{"sinew", SINEW_VERSION}, {"file", file.string()}, {"bytes", outcome.bytes}, {"seconds", outcome.seconds}};
  out["input"] = facts_of(sequence);
  out["rig"] = facts_of(outcome.rig);
  out["errors"] = facts_of(outcome.errors);
  out["between"] = facts_of(outcome.between);
  if (outcome.packed) out["pack"] = facts_of(*outcome.packed);
  if (Ranks& ranks = sequence.frames.ranks(); !ranks.alone())
    out["ranks"] = {{"count", ranks.count()},
                    {"bytes_of_sums", ranks.traffic().sums},
                    {"bytes_of_vertices", ranks.traffic().vertices},
                    {"peak_memory_bytes", outcome.peaks}};
  if (outcome.rig.jointed) out["inside"] = facts_of(inside_at_rest(outcome.rig));
  out["solve"] = facts_of(outcome.report);
  return out;
}

Outcome solve_to_file(const Sequence& sequence, const SolveRun& run, const std::filesystem::path& target) {
  const SolveRequest& request = run.request;
  Ranks& ranks = sequence.frames.ranks();
  const auto stopped = [&] { return ranks.any(interrupted()); };
  Outcome outcome;
  outcome.report.bones_asked = request.bones.value_or(0);
  const double start = now_seconds();
  {
    const HoldOn hold(run.keep_partial || request.checkpoint != nullptr);
    ProgressBar bar(kPace * estimate(sequence, request).cpu_seconds, run.progress_lines);
    const Progress own = with_errors(bar.callback(), run.progress_lines, outcome.report);
    const Progress progress = [&](std::string_view step, double fraction) { return !ranks.any(!own(step, fraction)); };
    outcome.rig = solve(sequence, request, outcome.report, progress);
    if (!run.keep_partial && stopped())
      throw Error(ErrorKind::interrupted,
                  "interrupted: nothing was written (--keep-partial keeps the best model so far)");
    const CorrectionOptions corrections{.rank = run.corrections, .seed = request.seed, .threads = request.threads};
    if (!interrupted()) add_corrections(outcome.rig, sequence, corrections, outcome.report, progress);
    outcome.partial = stopped();
    if (ranks.rank() > 0) too_late_to_stop();  // the first one writes
  }
  outcome.seconds = now_seconds() - start;
  outcome.peaks.assign(static_cast<std::size_t>(ranks.count()), peak_memory_bytes());
  for (int r = 0; r < ranks.count(); ++r)
    ranks.share_from(r, std::as_writable_bytes(std::span(outcome.peaks).subspan(static_cast<std::size_t>(r), 1)));
  if (ranks.rank() > 0) return outcome;
  const ResultOptions options{.threads = request.threads, .keep_partial = run.keep_partial, .write = run.write};
  if (run.packing) outcome.packed = write_packed(target, outcome.rig, sequence, &sequence, *run.packing, options);
  Written written =
      outcome.packed ? std::move(outcome.packed->written) : write_result(target, outcome.rig, sequence, options);
  if (outcome.packed) outcome.packed->written = {{}, written.errors, written.between, written.bytes};
  outcome.rig = std::move(written.rig);
  outcome.errors = std::move(written.errors);
  outcome.between = written.between;
  outcome.bytes = written.bytes;
  outcome.report.bones = static_cast<int>(outcome.rig.bone_count());
  return outcome;
}

void add_solve(CLI::App& app, Ranks& ranks) {
  CLI::App& command = *app.add_subcommand("solve", "Find bones, weights and motion for an animated mesh");
  auto arguments = std::make_shared<SolveArguments>();
  arguments->ranks = &ranks;
  arguments->inputs = add_sequence_inputs(command);
  add_paging_options(command, *arguments->inputs);
  command.add_option("-o,--output", arguments->output,
                     fmt::format("The rig to write, {}; required but for --dry-run", rig_outputs()));
  add_write_options(command, arguments->run.write);
  add_shared_options(command, arguments->run.request);
  command.add_option("--corrections", arguments->run.corrections, "Rank of corrections added to the rest pose (0)")
      ->check(in_range(0, 1000));
  add_rig_options(command, *arguments);
  auto* const pack =
      command.add_flag("--pack", arguments->pack, "The smallest file for engines; so does each of the options below");
  arguments->packing_options = add_packing_options(
      command, arguments->packing, {.quality = "--pack-quality", .max_error = "--pack-error", .group = kPackingGroup});
  arguments->packing_options.push_back(pack->group(kPackingGroup));
  add_blendshape_options(command, arguments->blendshapes);
  arguments->owners = add_method_options(command, arguments->run.request);
  command.add_option("--normals", arguments->normals, "keep those of the input, smooth or flat (keep)")
      ->check(word_of({"keep", "smooth", "flat"}));
  command.add_option("--report", arguments->report, "Write everything known about the solve, as JSON");
  command.add_flag("--json", arguments->json, "Print that instead of the table");
  command.add_flag("--progress", arguments->run.progress_lines, "Say how far it is in lines on stderr, for programs");
  command.add_flag("--keep-partial", arguments->run.keep_partial, "When interrupted, write the best model so far");
  command.add_flag("--allow-static", arguments->allow_static, "Solve although nothing moves");
  command.add_flag("--dry-run", arguments->dry_run, "Only say what memory and time it will take");
  auto* const checkpoint =
      command.add_option("--checkpoint", arguments->checkpoint, "Save the state in this file, and continue from it");
  command.add_option("--checkpoint-seconds", arguments->checkpoint_seconds, "Seconds between two savings (60)")
      ->check(not_negative)
      ->needs(checkpoint);
  command.footer(sequence_help() + R"(

Examples:
  sinew solve horse-gallop -o horse.glb --bones 30
  sinew solve rest.obj frames.pc2 -o rig.glb --max-error 2 --report rig.json
  sinew solve walk.glb run.glb jump.glb -o rig.glb --frames ::2
  sinew solve walk.abc -o web.glb --bones 40 --target three
  sinew solve face.glb -o rig.glb --blendshapes --sliders map.npz)");
  command.callback([arguments, &command] { run(*arguments, command); });
}

}  // namespace sinew::tool
