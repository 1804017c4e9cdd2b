#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "sinew/io/io.h"

namespace sinew::tool {

inline constexpr const char* kSequenceHelp =
    "SEQUENCE is a .glb, .gltf or .abc file, a folder of OBJ frames, a folder with rest.obj and frames.pc2|mdd, or\n"
    "REST.obj CACHE.pc2|mdd. Several of them, with the same faces, are clips of one character.";

/// The options that choose a sequence, the same for every command that reads one.
struct SequenceInputs {
  std::vector<std::filesystem::path> paths;
  std::string frames;  // --frames A:B:STEP
  ReadOptions read;
};

/// Adds the positional SEQUENCE... and --frames, --rest, --clip, --mesh, --fps to a command.
std::shared_ptr<SequenceInputs> add_sequence_inputs(CLI::App& command, bool required = true);

/// Reads the chosen sequence; warnings go to stderr. Throws Error{usage, input}.
Sequence read_inputs(const SequenceInputs& inputs);

/// read_rig with warnings to stderr.
Rig read_rig_file(const std::filesystem::path& path, ReadOptions options = {});

/// Cuts a list of paths into what read_sequence takes: REST.obj CACHE.pc2|mdd pairs and single paths.
std::vector<std::vector<std::filesystem::path>> group_inputs(const std::vector<std::filesystem::path>& paths);

}  // namespace sinew::tool
