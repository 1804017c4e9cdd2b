#include "solve.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <set>

#include "commands.h"
#include "inputs.h"
#include "inside_text.h"
#include "interrupt.h"
#include "math/parallel.h"
#include "output.h"
#include "progress_bar.h"
#include "report.h"
#include "sinew/core/bounds.h"
#include "sinew/core/error.h"
#include "sinew/io/checkpoint_file.h"
#include "text_options.h"

namespace sinew::tool {
namespace {

/// Everything the command line says about a solve.
struct SolveRequest {
  std::shared_ptr<SequenceInputs> inputs;
  SolveOptions options;
  std::string method;
  std::filesystem::path output;
  std::filesystem::path report;
  std::filesystem::path given;
  std::filesystem::path checkpoint;
  double checkpoint_seconds = 60;
  std::string memory_limit;
  std::string normals = "keep";
  bool dry_run = false;
  bool keep_partial = false;
  bool allow_static = false;
  bool json = false;
  std::map<const CLI::Option*, std::string> owner;  // method that an option belongs to
};

const std::vector<std::string> kOptionalShared{
    "--max-error", "--min-bones", "--max-bones", "--influences", "--transforms", "--smoothness", "--iterations",
    "--skeleton",  "--start",     "--rig",       "--fit",        "--lock",       "--add-bones"};

[[noreturn]] void misused(const std::string& sentence) {
  throw Error(ErrorKind::usage, sentence);
}

void add_shared_options(CLI::App& command, SolveRequest& request) {
  SolveOptions& options = request.options;
  auto* const bones =
      command.add_option("--bones", options.bones, "How many bones to ask for (20)")->check(CLI::Range(1, 100000));
  command.add_option("--max-error", options.max_error, "Instead: as few bones as reach this E_RMS")
      ->check(above_zero)
      ->excludes(bones);
  command.add_option("--min-bones", options.min_bones, "With --max-error: fewest bones tried (1)")
      ->check(CLI::Range(1, 100000));
  command
      .add_option("--max-bones", options.max_bones,
                  "With --max-error: most bones tried (128); a skeleton has at most this many")
      ->check(CLI::Range(1, 100000));
  command.add_option("--influences", options.influences, "Bones per vertex: a number, or 'all' (4; all with flats)")
      ->check([](const std::string& text) {
        try {
          parse_influences(text);
        } catch (const Error& error) {
          return std::string(error.what());
        }
        return std::string();
      });
  command
      .add_option("--transforms", options.transforms, "rigid or affine bones (rigid; affine with kavan, sma and flats)")
      ->check(CLI::IsMember({"rigid", "affine"}));
  command.add_option("--start", options.start, "Where bones start: parts that move rigidly, or flats (parts)")
      ->check(CLI::IsMember({"parts", "flats"}));
  command.add_flag("--skeleton", options.skeleton, "Join the bones in a hierarchy: --method skeleton");
  command.add_option("--smoothness", options.smoothness, "How much to smooth the weights over the surface")
      ->check(not_negative);
  command.add_option("--iterations", options.iterations, "At most this many iterations")->check(not_negative);
  command.add_option("--corrections", options.corrections, "Rank of corrections added to the rest pose (0)")
      ->check(CLI::Range(0, 1000));
  command.add_option("--quality", options.quality, "fast, balanced or best (balanced)")
      ->transform(CLI::CheckedTransformer(std::map<std::string, Quality>{{"fast", Quality::fast},
                                                                         {"balanced", Quality::balanced},
                                                                         {"best", Quality::best}})
                      .description(""))
      ->default_str("balanced");
  command.add_option("--seed", options.seed, "Seed of everything random (1)");
  command.add_option("--threads", options.threads, "Threads; the result does not depend on it (all cores)")
      ->check(CLI::Range(0, 4096));
  const char* const group = "Fitting a given rig";
  auto* const rig = command.add_option("--rig", request.given, "A rig whose bones or weights to keep")->group(group);
  command.add_option("--fit", options.fit, "What to fit: weights, motion, all or joints")
      ->check(CLI::IsMember({"weights", "motion", "all", "joints"}))
      ->needs(rig)
      ->group(group);
  command.add_option("--add-bones", options.add_bones, "Helper bones to add to --rig, or to --skeleton")
      ->check(CLI::Range(0, 1024));
  command.add_option("--lock", options.lock, "A bone that keeps its motion, by name or number; may be repeated")
      ->needs(rig)
      ->allow_extra_args(false)
      ->group(group);
}

void add_method_options(CLI::App& command, const std::vector<Method>& methods, SolveRequest& request) {
  std::vector<std::string> names;
  std::string help = fmt::format("How to solve it ({})", methods.front().name);
  for (const Method& method : methods) {
    names.push_back(method.name);
    help += fmt::format("\n{}: {}", method.name, method.summary);
  }
  request.method = names.front();
  command.add_option("--method", request.method, help)
      ->check(CLI::IsMember(names).description(""))
      ->default_str(names.front());
  for (const Method& method : methods) {
    if (!method.add_options) continue;
    const std::vector<CLI::Option*> before = command.get_options();
    const std::set<CLI::Option*> known(before.begin(), before.end());
    method.add_options(command);
    for (CLI::Option* option : command.get_options()) {
      if (known.count(option) != 0) continue;
      option->group(fmt::format("Only with --method {}", method.name));
      request.owner[option] = method.name;
    }
  }
}

/// The method of the request, once every option given is one that it understands.
const Method& chosen_method(const std::vector<Method>& methods, const SolveRequest& request, const CLI::App& command) {
  const bool named = command.count("--method") > 0;
  const std::string wanted = request.options.skeleton && !named ? "skeleton" : request.method;
  const auto found = std::find_if(methods.begin(), methods.end(), [&](const Method& m) { return m.name == wanted; });
  for (const auto& [option, owner] : request.owner)
    if (option->count() > 0 && owner != found->name)
      misused(fmt::format("{} belongs to --method {}, not to {}", option->get_name(), owner, found->name));
  for (const std::string& name : kOptionalShared)
    if (command.count(name) > 0 && std::find(found->takes.begin(), found->takes.end(), name) == found->takes.end())
      misused(fmt::format("{} is not something --method {} can do", name, found->name));
  return *found;
}

/// Refuses outputs that cannot be written, before anything is read.
void refuse_outputs(const SolveRequest& request) {
  if (request.output.empty()) misused("--output is required");
  std::vector<std::filesystem::path> inputs = files_named(*request.inputs);
  if (!request.given.empty()) inputs.push_back(request.given);
  check_outputs({{"-o", request.output},
                 {"--report", request.report, OutputKind::other},
                 {"--checkpoint", request.checkpoint, OutputKind::other}},
                inputs);
}

/// Everything on the command line that the result depends on, in a fixed order.
std::string options_line(const std::string& method, const CLI::App& command) {
  const std::set<std::string> without_effect{
      "--output", "--report",   "--json",       "--threads",      "--checkpoint",   "--checkpoint-seconds",
      "--method", "--skeleton", "--dry-run",    "--memory-limit", "--keep-partial", "--allow-static",
      "--rig",    "--normals",  "--safe-names", "SEQUENCE",       "--progress"};
  std::string line = fmt::format("sinew {} solve --method {}", SINEW_VERSION, method);
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0 || without_effect.count(option->get_name()) != 0) continue;
    line += " " + option->get_name();
    for (const std::string& value : option->results()) line += " " + value;
  }
  return line;
}

/// The files of the inputs together; a sequence takes at least that much memory when it is read.
std::uintmax_t bytes_of(const std::vector<std::filesystem::path>& paths) {
  std::uintmax_t bytes = 0;
  std::error_code ignored;
  for (const std::filesystem::path& path : paths)
    if (std::filesystem::is_regular_file(path, ignored) && path.extension() != ".abc")  // archives are read piecewise
      bytes += std::filesystem::file_size(path, ignored);
  return bytes;
}

void refuse_beyond(double limit, double bytes, const std::string& what) {
  if (limit <= 0 || bytes <= limit) return;
  throw Error(ErrorKind::unusable,
              fmt::format("{} takes about {} of memory, more than the {} that --memory-limit allows", what,
                          size_text(bytes), size_text(limit)));
}

/// Refuses what a limited address space (ulimit -v) has no room for: BLAS waits forever for memory that it cannot get.
void refuse_beyond_address_space(double bytes, int threads) {
  constexpr double kPerThread = 200e6;  // addresses that a thread's stack, heap and BLAS buffer reserve
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
  if (json) {
    Json out{{"method", method}, {"input", facts_of(sequence)}};
    out["estimate"] = {{"memory_bytes", estimate.bytes}, {"seconds", estimate.seconds}};
    fmt::print("{}\n", json_text(out));
    return;
  }
  fmt::print("{} vertices, {} frames; --method {} takes at most {} of memory and about {}\n", sequence.vertex_count(),
             sequence.frame_count(), method, size_text(estimate.bytes), duration_text(estimate.seconds));
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

std::unique_ptr<CheckpointFile> open_checkpoint(const SolveRequest& request, const std::string& method,
                                                const CLI::App& command, const Sequence& sequence) {
  if (request.checkpoint.empty()) return {};
  CheckpointFileOptions options;
  options.seconds = request.checkpoint_seconds;
  options.stop_soon = interrupted;
  std::string input = digest_of(sequence);
  if (request.options.given) input += " " + digest_of(*request.options.given);
  auto file = std::make_unique<CheckpointFile>(request.checkpoint, SolveIdentity{options_line(method, command), input},
                                               options);
  if (file->resumed()) fmt::print(stderr, "sinew: continuing from {}\n", request.checkpoint.string());
  return file;
}

/// Bones that the format cannot hold are refused before the work, not after it.
void refuse_shear(const Method& method, const SolveRequest& request) {
  const std::string& transforms = request.options.transforms;
  const bool affine = transforms.empty() ? method.affine : transforms == "affine";
  if (!affine || request.output.empty() || usable_for(FileUse::write_shear, request.output)) return;
  const bool bakes = usable_for(FileUse::bake_shear, request.output);
  if (bakes && request.options.write.bake_shear) return;
  misused(
      fmt::format("{}: bones of this format turn, move and scale, affine ones shear as well. Use --transforms rigid, "
                  "or write {}{}",
                  request.output.string(), fmt::join(extensions_for(FileUse::write_shear), " or "),
                  bakes ? ", or pairs of nodes with --bake-shear" : ""));
}

void run(const std::vector<Method>& methods, SolveRequest& request, const CLI::App& command) {
  const Method& method = chosen_method(methods, request, command);
  if (!request.dry_run) refuse_outputs(request);
  refuse_shear(method, request);
  const double limit = request.memory_limit.empty() ? 0 : static_cast<double>(parse_size(request.memory_limit));
  refuse_beyond(limit, static_cast<double>(bytes_of(request.inputs->paths)), "reading the input");
  if (limit > 0) request.inputs->read.max_bytes = static_cast<std::size_t>(limit);
  Sequence sequence = read_inputs(*request.inputs);
  if (request.normals != "keep") {
    sequence.rest.normals = {};
    sequence.rest.flat = request.normals == "flat";
  }
  check_motion(sequence, request.allow_static || request.dry_run);
  if (!request.given.empty()) request.options.given = read_rig_file(request.given);
  const SolveEstimate estimate = estimate_of(method, sequence, request.options);
  refuse_beyond(limit, estimate.bytes, "this solve");
  refuse_beyond_address_space(estimate.bytes, resolve_threads(request.options.threads));
  if (request.dry_run) return print_estimate(estimate, method.name, sequence, request.json);

  const auto checkpoint = open_checkpoint(request, method.name, command, sequence);
  request.options.checkpoint = checkpoint.get();
  const auto say_what_is_kept = [&] {
    if (checkpoint && (checkpoint->resumed() || checkpoint->saved() > 0))
      fmt::print(stderr, "sinew: {} keeps the state: the same command continues from it\n",
                 request.checkpoint.string());
  };
  Outcome outcome;
  try {
    outcome = solve_to_file(method, sequence, request.options, request.output, request.keep_partial);
  } catch (...) {
    say_what_is_kept();
    throw;
  }
  if (outcome.partial) say_what_is_kept();
  if (checkpoint && !outcome.partial) checkpoint->discard();
  const Json json = solve_report(outcome, sequence, request.output);
  if (!request.report.empty()) write_json(request.report, json);
  if (request.json) {
    fmt::print("{}\n", json_text(json));
  } else {
    print_table(result_header(),
                {result_row(outcome.rig, outcome.errors, outcome.between, outcome.seconds, request.output.string())});
    if (outcome.rig.jointed) fmt::print("inside: {}\n", inside_text(inside_at_rest(outcome.rig)));
    if (!outcome.report.remark.empty()) fmt::print(stderr, "{}\n", outcome.report.remark);
  }
  if (outcome.partial)
    throw Error(ErrorKind::interrupted,
                fmt::format("interrupted: {} holds the best model so far", request.output.string()));
}

}  // namespace

Json solve_report(const Outcome& outcome, const Sequence& sequence, const std::filesystem::path& file) {
  Json out{{"sinew", SINEW_VERSION}, {"file", file.string()}, {"bytes", outcome.bytes}, {"seconds", outcome.seconds}};
  out["input"] = facts_of(sequence);
  out["rig"] = facts_of(outcome.rig);
  out["errors"] = facts_of(outcome.errors);
  out["between"] = facts_of(outcome.between);
  if (outcome.rig.jointed) out["inside"] = facts_of(inside_at_rest(outcome.rig));
  out["solve"] = facts_of(outcome.report);
  return out;
}

int influences_of(const SolveOptions& options, int otherwise) {
  if (options.influences.empty()) return otherwise;
  return parse_influences(options.influences);
}

SolveEstimate estimate_of(const Method& method, const Sequence& sequence, const SolveOptions& options) {
  SolveSize size;
  size.vertices = sequence.vertex_count();
  size.triangles =
      sequence.rest.corners.size() - std::min(sequence.rest.corners.size(), 2 * sequence.rest.face_sizes.size());
  size.frames = sequence.frame_count();
  const bool search = options.max_error.has_value();
  size.bones = options.bones.value_or(options.max_bones.value_or(search ? 128 : 20));
  if (options.given) size.bones = static_cast<int>(options.given->bone_count());
  size.influences = influences_of(options, method.name == "flats" ? 0 : 4);
  size.quality = options.quality;
  size.threads = resolve_threads(options.threads);
  if (method.add_size) method.add_size(options, size);
  SolveEstimate estimate = estimate_solve(method.name, size);
  if (options.start == "flats") {
    size.influences = 0;
    size.quality = Quality::fast;
    const SolveEstimate start = estimate_solve("flats", size);
    estimate.bytes = std::max(estimate.bytes, start.bytes);
    estimate.seconds += start.seconds;
  }
  return estimate;
}

Outcome solve_to_file(const Method& method, const Sequence& sequence, const SolveOptions& options,
                      const std::filesystem::path& target, bool keep_partial) {
  Outcome outcome;
  outcome.report.bones_asked = options.bones.value_or(0);
  const double start = now_seconds();
  {
    const HoldOn hold(keep_partial || options.checkpoint != nullptr);
    ProgressBar bar(estimate_of(method, sequence, options).cpu_seconds, options.progress_lines);
    const Progress progress = bar.callback();
    outcome.rig = method.solve(sequence, options, outcome.report, progress);
    outcome.report.method = method.name;  // kavan is solve_ssdr as well
    if (!keep_partial)
      stop_if_interrupted("interrupted: nothing was written (--keep-partial keeps the best model so far)");
    if (!interrupted()) add_corrections(outcome.rig, sequence, options, outcome.report, progress);
    outcome.partial = interrupted();
  }
  outcome.seconds = now_seconds() - start;
  Written written = write_result(target, outcome.rig, sequence,
                                 {.threads = options.threads, .keep_partial = keep_partial, .write = options.write});
  outcome.rig = std::move(written.rig);
  outcome.errors = std::move(written.errors);
  outcome.between = written.between;
  outcome.bytes = written.bytes;
  outcome.report.bones = static_cast<int>(outcome.rig.bone_count());
  return outcome;
}

void add_solve(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("solve", "Find bones, weights and motion for an animated mesh");
  auto request = std::make_shared<SolveRequest>();
  request->inputs = add_sequence_inputs(command);
  command.add_option("-o,--output", request->output,
                     fmt::format("The rig to write, {}; required but for --dry-run", rig_outputs()));
  add_write_options(command, request->options.write);
  const auto methods = std::make_shared<std::vector<Method>>(solve_methods());
  add_shared_options(command, *request);
  add_method_options(command, *methods, *request);
  command.add_option("--normals", request->normals, "keep those of the input, smooth or flat (keep)")
      ->check(CLI::IsMember({"keep", "smooth", "flat"}));
  command.add_option("--report", request->report, "Write everything known about the solve, as JSON");
  command.add_flag("--json", request->json, "Print that instead of the table");
  command.add_flag("--progress", request->options.progress_lines, "Say how far it is in lines on stderr, for programs");
  command.add_flag("--keep-partial", request->keep_partial, "When interrupted, write the best model so far");
  command.add_flag("--allow-static", request->allow_static, "Solve although nothing moves");
  command.add_flag("--dry-run", request->dry_run, "Only say what memory and time it will take");
  command.add_option("--memory-limit", request->memory_limit, "Refuse at once what takes more memory, e.g. 4G");
  auto* const checkpoint =
      command.add_option("--checkpoint", request->checkpoint, "Save the state in this file, and continue from it");
  command.add_option("--checkpoint-seconds", request->checkpoint_seconds, "Seconds between two savings (60)")
      ->check(not_negative)
      ->needs(checkpoint);
  command.footer(sequence_help() + R"(

Examples:
  sinew solve horse-gallop -o horse.glb --bones 30
  sinew solve rest.obj frames.pc2 -o rig.glb --max-error 2 --report rig.json
  sinew solve walk.glb run.glb jump.glb -o rig.glb --frames ::2)");
  command.callback([methods, request, &command] { run(*methods, *request, command); });
}

}  // namespace sinew::tool
