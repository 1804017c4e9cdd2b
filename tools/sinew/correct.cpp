#include <fmt/format.h>

#include "commands.h"
#include "inputs.h"
#include "interrupt.h"
#include "output.h"
#include "progress_bar.h"
#include "report.h"
#include "sinew/core/error.h"
#include "sinew/refine/corrections.h"
#include "text_options.h"

namespace sinew::tool {
namespace {

struct CorrectRequest {
  std::filesystem::path rig;
  std::shared_ptr<SequenceInputs> inputs;
  std::filesystem::path output;
  CorrectionOptions options;
  WriteOptions write;
  bool json = false;
};

void run(CorrectRequest& request) {
  std::vector<std::filesystem::path> inputs = files_named(*request.inputs);
  inputs.push_back(request.rig);
  check_outputs({{"-o", request.output}}, inputs);
  Rig rig = read_rig_file(request.rig);
  say_what_is_left_out(request.rig, rig, Sliders::left_out);
  const Sequence sequence = read_inputs(*request.inputs);
  CorrectionReport report;
  const double start = now_seconds();
  {
    ProgressBar bar;
    report = correct(rig, sequence, request.options, bar.callback());
  }
  const double seconds = now_seconds() - start;
  const Written written =
      write_result(request.output, rig, sequence, {.threads = request.options.threads, .write = request.write});
  if (request.json) {
    Json out{{"file", request.output.string()}, {"seconds", seconds}};
    out["corrections"] = {{"rank", report.rank},
                          {"dropped", report.dropped},
                          {"near_singular_vertices", report.near_singular},
                          {"e_rms", report.e_rms}};
    out["rig"] = facts_of(written.rig);
    out["errors"] = facts_of(written.errors);
    out["between"] = facts_of(written.between);
    fmt::print("{}\n", json_text(out));
    return;
  }
  print_table(result_header(),
              {result_row(written.rig, written.errors, written.between, seconds, request.output.string())});
  fmt::print(stderr, "{}\n", sentence(report));
}

}  // namespace

void add_correct(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("correct", "Add corrections of the rest pose to a rig from any solver");
  auto request = std::make_shared<CorrectRequest>();
  command.add_option("RIG", request->rig, "A skinned model, " + rig_inputs())->required();
  request->inputs = add_sequence_inputs(command);
  command.add_option("-o,--output", request->output, "The corrected rig to write, " + rig_outputs())->required();
  add_write_options(command, request->write);
  auto* const rank =
      command.add_option("--rank", request->options.rank, "How many corrections (10)")->check(in_range(0, 1000));
  command.add_option("--max-error", request->options.max_error, "Instead: as few as reach this E_RMS")
      ->check(above_zero)
      ->excludes(rank);
  command.add_option("--iterations", request->options.iterations, "At most this many rounds in the pose (20)")
      ->check(in_range(0, 10000));
  command.add_option("--seed", request->options.seed, "Seed of the randomised SVD (1)")->check(not_negative);
  command.add_option("--threads", request->options.threads, "Threads (all cores)")->check(in_range(0, 4096));
  command.add_flag("--json", request->json, "Print everything as JSON");
  command.footer(sequence_help() + R"(
Corrections are written as morph targets with animated weights, which every player of glTF shows.

Examples:
  sinew correct horse.glb horse-gallop --rank 5 -o corrected.glb
  sinew correct rig.glb rest.obj frames.pc2 --max-error 0.5 -o corrected.glb)");
  command.callback([request] { run(*request); });
}

}  // namespace sinew::tool
