#include <fmt/format.h>

#include <numeric>

#include "commands.h"
#include "inputs.h"
#include "interrupt.h"
#include "output.h"
#include "report.h"
#include "sinew/core/error.h"

namespace sinew::tool {
namespace {

struct ConvertRequest {
  std::shared_ptr<SequenceInputs> inputs;
  std::filesystem::path output;
  WriteOptions write;
};

/// A sequence as a model that any glTF player shows: one bone that never moves, one morph target per frame.
Rig as_morphs(const Sequence& sequence) {
  const auto frames = static_cast<Eigen::Index>(sequence.frame_count());
  Rig rig;
  rig.rest = sequence.rest;
  rig.times = sequence.times;
  rig.clips = sequence.clips;
  rig.transforms = Transforms::rigid;
  const Vector3 center = sequence.rest.positions.rowwise().mean();
  rig.bones = {{"root", -1, center, center}};
  rig.motion = Motion(sequence.frame_count(), 1);
  rig.weights = {1, std::vector<Index>(sequence.vertex_count(), 0), std::vector<float>(sequence.vertex_count(), 1.0F)};
  rig.corrections.emplace();
  rig.corrections->coefficients = Eigen::MatrixXf::Identity(frames, frames);
  for (std::size_t f = 0; f < sequence.frame_count(); ++f)
    rig.corrections->offsets.emplace_back(sequence.frames[f] - sequence.rest.positions);
  return rig;
}

/// The rig, when the only input is a file that holds one.
std::optional<Rig> rig_of(const SequenceInputs& inputs) {
  if (inputs.paths.size() != 1 || !inputs.read.rest.empty()) return std::nullopt;
  try {
    return read_chosen_rig(inputs.paths.front(), inputs);
  } catch (const Error&) {  // not a rig: read as a sequence
    return std::nullopt;
  }
}

void run(const ConvertRequest& request) {
  check_outputs({{"-o", request.output, OutputKind::frames}}, files_named(*request.inputs));
  const auto stop_if_asked = [] { stop_if_interrupted("interrupted: nothing was written"); };
  const bool takes_rigs = usable_for(FileUse::write_rig, request.output);
  const std::optional<Rig> rig = takes_rigs ? rig_of(*request.inputs) : std::nullopt;
  SequenceInputs inputs = *request.inputs;
  const bool morphs = takes_rigs && !usable_for(FileUse::write_sequence, request.output);  // their frames are in memory
  inputs.paged = kFilesBesideMemory && !morphs;
  const Sequence sequence = rig ? Sequence() : read_inputs(inputs);
  stop_if_asked();
  too_late_to_stop();
  if (rig)
    write_rig(request.output, *rig, request.write);
  else if (takes_rigs && !usable_for(FileUse::write_sequence, request.output))
    write_rig(request.output, as_morphs(sequence), request.write);
  else
    write_sequence(request.output, sequence);
  for (const std::filesystem::path& file : files_written(request.output)) fmt::print("{}\n", file.string());
}

}  // namespace

void add_convert(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("convert", "A rig or a sequence in another format");
  auto request = std::make_shared<ConvertRequest>();
  request->inputs = add_sequence_inputs(command);
  add_paging_options(command, *request->inputs);
  command
      .add_option("-o,--output", request->output,
                  fmt::format("What to write: {}, {} or a folder (no extension) of OBJ files",
                              fmt::join(extensions_for(FileUse::write_sequence), ", "),
                              fmt::join(extensions_for(FileUse::write_rig), ", ")))
      ->required();
  add_write_options(command, request->write);
  command.footer(sequence_help() + R"(
A rig stays one where the format holds rigs, and is posed in every frame where it does not. A sequence in a format of
rigs alone becomes one morph target per frame. .bvh holds the skeleton alone.

Examples:
  sinew convert rig.glb -o frames.pc2
  sinew convert walk.abc -o walk.glb
  sinew convert rig.glb -o rig.usdz
  sinew convert rest.obj frames.pc2 -o obj-frames --frames 0:100:10)");
  command.callback([request] { run(*request); });
}

}  // namespace sinew::tool
