#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sinew/core/rig.h"
#include "sinew/core/sequence.h"
#include "sinew/evaluate/errors.h"
#include "sinew/evaluate/vertex_match.h"
#include "sinew/io/gltf.h"
#include "sinew/io/io.h"

/// The one path by which commands write: check_outputs() before anything is read, write_result() for the rig.
namespace sinew::tool {

/// What kind of file an option names.
enum class OutputKind {
  rig,     // an extension that a rig can be written to and read back from
  frames,  // an extension that frames can be written to, or a folder
  page,    // .html or .htm
  other,   // any name
};

/// A file that a command was asked to write.
struct Output {
  std::string option;  // stands for it in sentences, e.g. "--report"
  std::filesystem::path path;
  OutputKind kind = OutputKind::rig;
};

/// Refuses outputs before any work is done for them; those with an empty path were not asked for.
/// Throws Error{usage} for an extension that cannot be written and for two outputs in one file; Error{output} when a
/// folder is missing or cannot be written to, when a folder has the file's name, or when an output (or what is written
/// beside it) is one of the inputs (or what is read beside them).
void check_outputs(const std::vector<Output>& outputs, const std::vector<std::filesystem::path>& inputs);

struct ResultOptions {
  int threads = 0;
  bool keep_partial = false;                       // write the rig although the user has asked to stop
  std::span<const GltfExtension> extensions = {};  // to write beside the rig (.glb)
  std::span<const Rig> levels = {};                // coarser levels of detail to write behind the rig (.glb)
  std::vector<std::byte> bytes = {};               // not empty: the file, made already; its vertices are matched
  WriteOptions write = {};
};

/// Adds --bake-shear to a command that writes a rig.
void add_write_options(CLI::App& command, WriteOptions& options);

/// Extensions that `convert` can write: of sequences and of rigs.
std::string convert_outputs();

/// The extensions that write_result can write to, for help texts.
std::string rig_outputs();

/// A rig in its file, as any reader finds it.
struct Written {
  Rig rig;                               // over the vertices of the sequence
  Errors errors;                         // of that rig against the sequence
  std::optional<ErrorsBetween> between;  // half-way between the keys; not for two layers
  std::uintmax_t bytes = 0;
};

/// Errors of written.rig, which was read from `file`, and where players interpolate those half-way between the keys:
/// not for two layers and single frames. `match`: whose vertices in the file those of the sequence are, where they are
/// not in its order.
void evaluate_file(const std::filesystem::path& file, const VertexMatch* match, const Sequence& sequence, int threads,
                   Written& written);

/// Writes a rig beside the target, reads it back, evaluates what was read, and only then puts the file in the target's
/// place: the target is the complete new file or what it was before.
/// Throws Error{interrupted} when the user asks to stop before that, Error{unusable} when the rig does not survive the
/// file or its error is not finite, Error{output}.
Written write_result(const std::filesystem::path& target, const Rig& rig, const Sequence& sequence,
                     const ResultOptions& options);

}  // namespace sinew::tool
