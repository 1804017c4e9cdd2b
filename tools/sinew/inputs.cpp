#include "inputs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "interrupt.h"
#include "sinew/core/error.h"
#include "text_options.h"

namespace sinew::tool {
namespace {

void warn_on_stderr(std::string_view sentence) {
  fmt::print(stderr, "sinew: warning: {}\n", sentence);
}

/// Bytes of memory in this machine: frames that need more are refused before they are read.
std::size_t physical_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long size = sysconf(_SC_PAGE_SIZE);
  if (pages <= 0 || size <= 0) return std::numeric_limits<std::size_t>::max();
  return static_cast<std::size_t>(pages) * static_cast<std::size_t>(size);
}

}  // namespace

std::string one_of(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  return text;
}

std::string sequence_help() {
  const std::vector<std::string> caches = extensions_for(FileUse::read_positions);
  return fmt::format(
      "SEQUENCE is a {} file, a folder of OBJ or PLY frames, a folder with rest.obj and\n"
      "frames{}, or REST.obj and then a {} file. Several of them, with the same faces, are clips\n"
      "of one character.",
      one_of(extensions_for(FileUse::read_sequence)), fmt::join(caches, " or frames"), one_of(caches));
}

std::string rig_inputs() {
  return one_of(extensions_for(FileUse::read_rig));
}

std::vector<std::filesystem::path> files_named(const SequenceInputs& inputs) {
  std::vector<std::filesystem::path> out = inputs.paths;
  std::error_code ignored;
  if (std::filesystem::exists(inputs.read.rest, ignored)) out.emplace_back(inputs.read.rest);
  return out;
}

std::shared_ptr<SequenceInputs> add_sequence_inputs(CLI::App& command, bool required) {
  auto inputs = std::make_shared<SequenceInputs>();
  const char* const group = "Input";
  auto* const paths = command.add_option("SEQUENCE", inputs->paths, "What to read; several are clips of one character");
  if (required) paths->required();
  command.add_option("--frames", inputs->frames, "A:B:STEP, only frames A to B-1 in steps, counted from 0")
      ->group(group);
  command.add_option("--rest", inputs->read.rest, "Rest pose: a frame number or a file")->group(group);
  command.add_option("--clip", inputs->read.clip, "Animation of the file, by name or number (all)")->group(group);
  command.add_option("--mesh", inputs->read.mesh, "Only meshes whose name matches, e.g. 'Body*' (all)")->group(group);
  command
      .add_option("--fps", inputs->read.frames_per_second, "Frames per second to sample a moving scene at (its keys)")
      ->check(CLI::PositiveNumber)
      ->group(group);
  return inputs;
}

std::vector<std::vector<std::filesystem::path>> group_inputs(const std::vector<std::filesystem::path>& paths) {
  std::vector<std::vector<std::filesystem::path>> groups;
  for (const std::filesystem::path& path : paths) {
    const bool cache = usable_for(FileUse::read_positions, path);
    if (cache && !groups.empty() && groups.back().size() == 1 && lower_extension(groups.back()[0]) == ".obj")
      groups.back().push_back(path);
    else
      groups.push_back({path});
  }
  return groups;
}

namespace {

/// One input. A two-layer model is posed by both layers: the format's own skin is only its stand-in.
Sequence read_part(const std::vector<std::filesystem::path>& group, const ReadOptions& options) {
  const bool whole =
      options.clip.empty() && options.mesh.empty() && options.frames_per_second == 0 && options.rest.empty();
  if (whole && group.size() == 1 && has_two_layers(group.front())) {
    return select_frames(pose_all(read_rig_file(group.front())), options.first_frame, options.last_frame,
                         options.frame_step);
  }
  return read_sequence(group, options);
}

}  // namespace

Sequence read_inputs(const SequenceInputs& inputs) {
  ReadOptions options = inputs.read;
  options.warn = warn_on_stderr;
  options.max_bytes = std::min(options.max_bytes, physical_memory());
  ReadOptions range;
  if (!inputs.frames.empty()) parse_frames(inputs.frames, range);
  const auto groups = group_inputs(inputs.paths);
  // Frames are counted over all clips: only a single input can leave them out while it reads.
  if (groups.size() == 1) {
    options.first_frame = range.first_frame;
    options.last_frame = range.last_frame;
    options.frame_step = range.frame_step;
  }
  std::vector<Sequence> parts;
  for (const auto& group : groups) {
    parts.push_back(read_part(group, options));
    options.rest.clear();  // the rest pose is that of the first input
    stop_if_interrupted("interrupted while reading");
  }
  Sequence sequence = concatenate(std::move(parts));
  if (inputs.frames.empty() || groups.size() == 1) return sequence;
  return select_frames(sequence, range.first_frame, range.last_frame, range.frame_step);
}

Rig read_rig_file(const std::filesystem::path& path, ReadOptions options) {
  options.warn = warn_on_stderr;
  options.max_bytes = std::min(options.max_bytes, physical_memory());
  return read_rig(path, options);
}

}  // namespace sinew::tool
