#include "inputs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "interrupt.h"
#include "sinew/core/error.h"
#include "sinew/io/blendshapes.h"
#include "sinew/io/gltf_levels.h"
#include "sinew/io/output_file.h"
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

std::string sequence_help() {
  const std::vector<std::string> caches = extensions_for(FileUse::read_positions);
  return fmt::format(
      "SEQUENCE is a {} file, a folder of OBJ or PLY frames, a folder with rest.obj and "
      "frames{}, or REST.obj and then a {} file. Several of them, with the same faces, are clips "
      "of one character.",
      one_of(extensions_for(FileUse::read_sequence)), fmt::join(caches, " or frames"), one_of(caches));
}

std::string rig_inputs() {
  return one_of(extensions_for(FileUse::read_rig));
}

std::string read_text(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_file(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
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
  command.add_option("--clip", inputs->clips, "An animation, by name or number; may be repeated (all)")
      ->allow_extra_args(false)
      ->group(group);
  command.add_option("--mesh", inputs->read.mesh, "Only meshes whose name matches, e.g. 'Body*' (all)")->group(group);
  command
      .add_option("--fps", inputs->read.frames_per_second,
                  "Frames per second to sample at (the frames or keys of the input)")
      ->check(above_zero)
      ->group(group);
  return inputs;
}

void add_paging_options(CLI::App& command, SequenceInputs& inputs) {
  const char* const group = "Frames larger than memory";
  command.add_option("--memory-limit", inputs.memory_limit, "Memory that may be used, e.g. 4G (most of the machine's)")
      ->group(group);
  command
      .add_option("--scratch", inputs.read.paging.scratch,
                  "Folder on a disk with room for frames that memory has none for (that of the system)")
      ->group(group);
  inputs.paged = kFilesBesideMemory;
}

double memory_of(const SequenceInputs& inputs) {
  if (!inputs.memory_limit.empty()) return static_cast<double>(parse_size("--memory-limit", inputs.memory_limit));
  const Ranks* const ranks = inputs.read.paging.ranks;
  return 0.8 * static_cast<double>(physical_memory()) / (ranks != nullptr ? ranks->on_this_machine() : 1);
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

/// Frames beyond half of the memory stay in a file, if the command can work on such; others are refused.
void limit_memory(const SequenceInputs& inputs, ReadOptions& options) {
  const double memory = memory_of(inputs);
  if (!inputs.paged) {
    options.max_bytes = std::min(options.max_bytes, static_cast<std::size_t>(memory));
    return;
  }
  const Paging unlimited;
  if (options.paging.most == unlimited.most) options.paging.most = static_cast<std::size_t>(memory / 2);
  options.paging.memory = static_cast<std::size_t>(memory / 4);
  std::error_code none;
  const auto folder =
      options.paging.scratch.empty() ? std::filesystem::temp_directory_path(none) : options.paging.scratch;
  const std::filesystem::space_info space = std::filesystem::space(folder, none);
  if (!none) options.max_bytes = std::max(options.paging.most, static_cast<std::size_t>(space.available));
}

/// One input at the rate asked for. Formats of keys are sampled by their reader; frames are blended.
Sequence read_at_rate(const std::vector<std::filesystem::path>& group, const ReadOptions& options) {
  const double rate = options.frames_per_second;
  if (rate == 0 || usable_for(FileUse::read_rig, group.back())) return read_sequence(group, options);
  ReadOptions all = options;  // frames are counted at the new rate
  all.first_frame = 0;
  all.last_frame = std::numeric_limits<std::size_t>::max();
  all.frame_step = 1;
  const Sequence sampled = resample(read_sequence(group, all), rate);
  return select_frames(sampled, options.first_frame, options.last_frame, options.frame_step);
}

/// One input with each of the clips asked for.
void read_clips(const std::vector<std::filesystem::path>& group, const std::vector<std::string>& clips,
                ReadOptions options, std::vector<Sequence>& parts) {
  if (clips.empty() || !usable_for(FileUse::read_rig, group.back()))
    return parts.push_back(read_at_rate(group, options));
  for (const std::string& clip : clips) {
    options.clip = clip;
    parts.push_back(read_at_rate(group, options));
  }
}

/// The number of the clip that is called so; a name goes before a number.
std::size_t clip_called(const std::vector<Clip>& clips, const std::string& name, const std::filesystem::path& path) {
  std::string names;
  for (std::size_t i = 0; i < clips.size(); ++i) {
    if (clips[i].name == name) return i;
    names += fmt::format("{}{} '{}'", names.empty() ? "" : ", ", i, clips[i].name);
  }
  for (std::size_t i = 0; i < clips.size(); ++i)
    if (fmt::to_string(i) == name) return i;
  throw Error(ErrorKind::input, fmt::format("{}: no clip '{}'; there {}", path.string(), name,
                                            names.empty() ? "are none" : "are " + names));
}

}  // namespace

Sequence read_inputs(const SequenceInputs& inputs) {
  ReadOptions options = inputs.read;
  options.warn = warn_on_stderr;
  limit_memory(inputs, options);
  ReadOptions range;
  if (!inputs.frames.empty()) parse_frames(inputs.frames, range);
  const auto groups = group_inputs(inputs.paths);
  // Frames are counted over all clips: only a single input can leave them out while it reads.
  const bool single = groups.size() == 1 && inputs.clips.size() < 2;
  if (single) {
    options.first_frame = range.first_frame;
    options.last_frame = range.last_frame;
    options.frame_step = range.frame_step;
  }
  std::vector<Sequence> parts;
  for (const auto& group : groups) {
    read_clips(group, inputs.clips, options, parts);
    options.rest.clear();  // the rest pose is that of the first input
    stop_if_interrupted("interrupted while reading");
  }
  Sequence sequence = concatenate(std::move(parts), options.paging);
  if (inputs.frames.empty() || single) return sequence;
  return select_frames(sequence, range.first_frame, range.last_frame, range.frame_step);
}

Rig read_rig_file(const std::filesystem::path& path, ReadOptions options) {
  options.warn = warn_on_stderr;
  options.max_bytes = std::min(options.max_bytes, physical_memory());
  return read_rig(path, options);
}

std::vector<GltfExtension> sliders_for(const std::filesystem::path& output, const std::filesystem::path& path,
                                       const Rig& rig) {
  if (!read_sliders(path, rig)) return {};
  if (lower_extension(output) == ".glb") return {read_gltf_extension(path, kSlidersExtension).value()};
  fmt::print(stderr, "sinew: {}: only .glb holds sliders, they are left out\n", output.string());
  return {};
}

void say_what_is_left_out(const std::filesystem::path& path, const Rig& rig, Sliders sliders) {
  if (const std::size_t levels = count_rig_levels(path); levels > 1)
    fmt::print(stderr,
               "sinew: {}: holds {} levels of detail; the finest is taken, the others are left out ('sinew lod' makes "
               "them anew)\n",
               path.string(), levels);
  if (sliders == Sliders::left_out && read_sliders(path, rig))
    fmt::print(stderr, "sinew: {}: its sliders are left out, the rig and its animation are kept\n", path.string());
}

Mesh read_mesh_file(const std::filesystem::path& path) {
  ReadOptions options;
  options.warn = warn_on_stderr;
  options.max_bytes = std::min(options.max_bytes, physical_memory());
  options.last_frame = 1;
  return read_sequence({path}, options).rest;
}

Rig read_chosen_rig(const std::filesystem::path& path, const SequenceInputs& inputs) {
  ReadOptions options;
  options.mesh = inputs.read.mesh;
  options.frames_per_second = inputs.read.frames_per_second;
  Rig rig = read_rig_file(path, options);
  if (inputs.clips.empty() && inputs.frames.empty()) return rig;
  std::vector<std::size_t> chosen;
  for (const std::string& name : inputs.clips) {
    const Clip& clip = rig.clips[clip_called(rig.clips, name, path)];
    for (std::size_t i = 0; i < clip.frames; ++i) chosen.push_back(clip.first_frame + i);
  }
  for (std::size_t f = 0; inputs.clips.empty() && f < rig.frame_count(); ++f) chosen.push_back(f);
  std::sort(chosen.begin(), chosen.end());
  ReadOptions range;
  if (!inputs.frames.empty()) parse_frames(inputs.frames, range);
  std::vector<std::size_t> kept;
  for (std::size_t i = range.first_frame; i < std::min(range.last_frame, chosen.size()); i += range.frame_step)
    kept.push_back(chosen[i]);
  if (kept.empty())
    throw Error(ErrorKind::usage,
                fmt::format("--frames {} of {} in {} select nothing", inputs.frames, chosen.size(), path.string()));
  return select_frames(rig, kept);
}

namespace {

/// At a rate of their own, some tools end a clip with the frame after its last moment: that frame is left out.
Rig ending_with(const Sequence& sequence, Rig rig, double frames_per_second) {
  const auto clips_of = [](const std::vector<Clip>& clips, std::size_t frames) {
    return clips.empty() ? std::vector<Clip>{{"", 0, frames}} : clips;
  };
  const std::vector<Clip> wanted = clips_of(sequence.clips, sequence.frame_count());
  const std::vector<Clip> found = clips_of(rig.clips, rig.frame_count());
  if (frames_per_second == 0 || rig.frame_count() == sequence.frame_count() || found.size() != wanted.size())
    return rig;
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i].frames < wanted[i].frames || found[i].frames > wanted[i].frames + 1) return rig;
    for (std::size_t f = 0; f < wanted[i].frames; ++f) kept.push_back(found[i].first_frame + f);
  }
  fmt::print(stderr, "sinew: {} of the rig's frames come after the last of their clip and are left out\n",
             rig.frame_count() - kept.size());
  return select_frames(rig, kept);
}

}  // namespace

Rig read_rig_beside(const std::filesystem::path& path, const SequenceInputs& inputs, const Sequence& sequence) {
  ReadOptions options;
  options.frames_per_second = inputs.read.frames_per_second;
  Rig whole = read_rig_file(path, options);
  if (whole.frame_count() == sequence.frame_count()) return whole;
  SequenceInputs choice = inputs;
  choice.read.mesh.clear();  // the rig is of what was chosen
  return ending_with(sequence, read_chosen_rig(path, choice), inputs.read.frames_per_second);
}

}  // namespace sinew::tool
