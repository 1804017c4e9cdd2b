#include <fmt/format.h>

#include <numeric>

#include "commands.h"
#include "convert_texture.h"
#include "inputs.h"
#include "interrupt.h"
#include "output.h"
#include "progress_bar.h"
#include "report.h"
#include "sinew/core/error.h"

namespace sinew::tool {
namespace {

struct ConvertRequest {
  std::shared_ptr<SequenceInputs> inputs;
  std::filesystem::path output;
  WriteOptions write;
  TextureRequest texture;
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

/// A rig as a texture; with --positions any sequence.
void run_texture(const ConvertRequest& request) {
  check_outputs(
      {{"-o", request.output, OutputKind::other}, {"the layout", layout_file(request.output), OutputKind::other}},
      files_named(*request.inputs));
  const SequenceInputs& inputs = *request.inputs;
  std::optional<Rig> rig;
  if (request.texture.options.positions)
    rig = rig_of(inputs);
  else if (inputs.paths.size() == 1 && inputs.read.rest.empty())
    rig = read_chosen_rig(inputs.paths.front(), inputs);
  else
    throw Error(ErrorKind::usage, "convert: a texture of bones is made of one rig; --positions takes any sequence");
  if (!rig) rig = as_morphs(read_inputs(inputs));
  stop_if_interrupted("interrupted: nothing was written");
  too_late_to_stop();
  write_texture(request.output, *rig, request.texture);
  for (const std::filesystem::path& file : {request.output, layout_file(request.output)})
    fmt::print("{}\n", file.string());
}

void run(const ConvertRequest& request) {
  if (is_texture(request.output)) return run_texture(request);
  check_outputs({{"-o", request.output, OutputKind::frames}}, files_named(*request.inputs));
  const bool takes_rigs = usable_for(FileUse::write_rig, request.output);
  const std::optional<Rig> rig = takes_rigs ? rig_of(*request.inputs) : std::nullopt;
  SequenceInputs inputs = *request.inputs;
  const bool morphs = takes_rigs && !usable_for(FileUse::write_sequence, request.output);  // their frames are in memory
  inputs.paged = kFilesBesideMemory && !morphs;
  const Sequence sequence = rig ? Sequence() : read_inputs(inputs);
  stop_if_interrupted("interrupted: nothing was written");
  const HoldOn hold;  // frames that are being written are taken away, a rig is finished
  ProgressBar bar;
  if (rig)
    write_rig(request.output, *rig, request.write);
  else if (morphs)
    write_rig(request.output, as_morphs(sequence), request.write);
  else
    write_sequence(request.output, sequence, bar.callback());
  bar.wipe();
  for (const std::filesystem::path& file : files_written(request.output)) fmt::print("{}\n", file.string());
}

}  // namespace

void add_convert(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("convert", "A rig or a sequence in another format");
  auto request = std::make_shared<ConvertRequest>();
  request->inputs = add_sequence_inputs(command);
  add_paging_options(command, *request->inputs);
  command
      .add_option(
          "-o,--output", request->output,
          fmt::format("What to write: {}, .exr (texture) or a folder (no extension) of OBJ files", convert_outputs()))
      ->required();
  add_write_options(command, request->write);
  add_texture_options(command, request->texture);
  command.footer(sequence_help() + R"(
A rig stays one where the format holds rigs, and is posed in every frame where it does not. A sequence in a format of
rigs alone becomes one morph target per frame. .bvh holds the skeleton alone. .exr is a texture of all frames for engines,
with its layout in a .json beside it (docs/crowd.md).

Examples:
  sinew convert rig.glb -o frames.pc2
  sinew convert walk.abc -o walk.glb
  sinew convert rig.glb -o rig.usdz
  sinew convert rig.glb -o rig.exr
  sinew convert rest.obj frames.pc2 -o obj-frames --frames 0:100:10)");
  command.callback([request] { run(*request); });
}

}  // namespace sinew::tool
