#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "sinew/io/gltf.h"
#include "sinew/io/io.h"

namespace sinew::tool {

/// What SEQUENCE may be, for the end of a command's help.
std::string sequence_help();

/// The options that choose a sequence, the same for every command that reads one.
struct SequenceInputs {
  std::vector<std::filesystem::path> paths;
  std::string frames;              // --frames A:B:STEP
  std::vector<std::string> clips;  // --clip, any number of times
  std::string memory_limit;        // --memory-limit; empty: that of the machine
  ReadOptions read;                // read.paging.scratch: --scratch
  bool paged = false;              // the command goes over frames one by one: they may stay in a file
};

/// Adds the positional SEQUENCE... and --frames, --rest, --clip, --mesh, --fps to a command.
std::shared_ptr<SequenceInputs> add_sequence_inputs(CLI::App& command, bool required = true);

/// Also --memory-limit and --scratch, for commands that can work on frames in a file.
void add_paging_options(CLI::App& command, SequenceInputs& inputs);

/// Bytes of memory that this process may use: --memory-limit, or its share of nearly all that this machine has.
double memory_of(const SequenceInputs& inputs);

/// Whether frames that memory has no room for can stay in a file: the files of a page are in memory themselves.
#ifdef __EMSCRIPTEN__
inline constexpr bool kFilesBesideMemory = false;
#else
inline constexpr bool kFilesBesideMemory = true;
#endif

/// The bytes of a file as text. Throws Error{input}.
std::string read_text(const std::filesystem::path& path);

/// Every file that is named as an input: the sequences and, where it is a file, the rest pose.
std::vector<std::filesystem::path> files_named(const SequenceInputs& inputs);

/// Reads the chosen sequence; warnings go to stderr. Throws Error{usage, input}.
Sequence read_inputs(const SequenceInputs& inputs);

/// ".glb, .gltf or .fbx": what a rig can be read from, for help texts.
std::string rig_inputs();

/// read_rig with warnings to stderr.
Rig read_rig_file(const std::filesystem::path& path, ReadOptions options = {});

/// Says what a file holds beside its rig that the command's output will not: coarser levels of detail, and sliders
/// where `sliders` says so.
enum class Sliders { kept, left_out };
void say_what_is_left_out(const std::filesystem::path& path, const Rig& rig, Sliders sliders);

/// The sliders of a rig's file, for another file of the same bones; none where `output` is no .glb, which is said on
/// stderr.
std::vector<GltfExtension> sliders_for(const std::filesystem::path& output, const std::filesystem::path& path,
                                       const Rig& rig);

/// The rest mesh of anything that a SEQUENCE may be; warnings go to stderr.
Mesh read_mesh_file(const std::filesystem::path& path);

/// The rig of a file cut to the clips and frames that are chosen for a sequence, sampled at its rate.
Rig read_chosen_rig(const std::filesystem::path& path, const SequenceInputs& inputs);

/// A rig to compare with the sequence that was read: whole where it has as many frames, else with the same choice of
/// clips and frames; at a rate of frames without one at the end of a clip that the sequence has not.
Rig read_rig_beside(const std::filesystem::path& path, const SequenceInputs& inputs, const Sequence& sequence);

/// Cuts a list of paths into what read_sequence takes: REST.obj CACHE.pc2|mdd pairs and single paths.
std::vector<std::vector<std::filesystem::path>> group_inputs(const std::vector<std::filesystem::path>& paths);

}  // namespace sinew::tool
