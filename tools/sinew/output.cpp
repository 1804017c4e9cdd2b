#include "output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "inputs.h"
#include "interrupt.h"
#include "sinew/core/error.h"
#include "sinew/io/gltf.h"
#include "sinew/io/io.h"
#include "sinew/io/output_file.h"

namespace sinew::tool {
namespace {

namespace fs = std::filesystem;

/// A file name beside the target, for a file that is looked at before it takes the target's place. Removed with this
/// object unless committed.
class StagedFile {
 public:
  explicit StagedFile(fs::path target) : target_(std::move(target)), staged_(target_) {
    staged_.replace_filename(fmt::format(".{}.{}{}", target_.stem().string(), getpid(), target_.extension().string()));
  }
  ~StagedFile() {
    std::error_code ignored;
    if (!staged_.empty()) fs::remove(staged_, ignored);
  }
  StagedFile(const StagedFile&) = delete;
  StagedFile& operator=(const StagedFile&) = delete;

  const fs::path& path() const { return staged_; }

  void commit() {
    std::error_code failure;
    fs::rename(staged_, target_, failure);
    if (failure)
      throw Error(ErrorKind::output, fmt::format("{}: cannot be written: {}", target_.string(), failure.message()));
    staged_.clear();
  }

 private:
  fs::path target_;
  fs::path staged_;
};

std::string list_for(FileUse use) {
  return fmt::format("{}", fmt::join(extensions_for(use), ", "));
}

void write_rig_and_levels(const fs::path& path, const Rig& rig, const ResultOptions& options) {
  if (!options.bytes.empty()) {
    OutputFile file(path);
    file.write(std::span<const std::byte>(options.bytes));
    return file.commit();
  }
  if (options.levels.empty()) {
    if (!options.extensions.empty()) return write_glb(path, rig, options.write, options.extensions);
    return write_rig(path, rig, options.write);
  }
  std::vector<Rig> all{rig};
  all.insert(all.end(), options.levels.begin(), options.levels.end());
  write_glb_levels(path, all, options.write, options.extensions);
}

void check_extension(const Output& output) {
  const auto refuse = [&](const std::string& expected) {
    throw Error(ErrorKind::usage, fmt::format("{} {}: expected {}", output.option, output.path.string(), expected));
  };
  if (output.kind == OutputKind::rig && !usable_for(FileUse::write_and_read_rig, output.path))
    refuse("a name that ends in " + rig_outputs());
  if (output.kind == OutputKind::frames && !output.path.extension().empty() && !fs::is_directory(output.path) &&
      !usable_for(FileUse::write_sequence, output.path) && !usable_for(FileUse::write_rig, output.path))
    refuse(fmt::format("a name that ends in {}, or a folder", convert_outputs()));
}

void check_place(const Output& output) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorKind::output, fmt::format("{}: {}", output.path.string(), why));
  };
  const std::string extension = lower_extension(output.path);
  if (output.kind == OutputKind::page && extension != ".html" && extension != ".htm")
    throw Error(ErrorKind::usage,
                fmt::format("{} {}: expected a name that ends in .html", output.option, output.path.string()));
  const bool folder_allowed = output.kind == OutputKind::frames && output.path.extension().empty();
  if (!folder_allowed && fs::is_directory(output.path)) refuse("is a folder, a file name is expected");
  const fs::path folder = output.path.has_parent_path() ? output.path.parent_path() : ".";
  if (!fs::is_directory(folder)) refuse(fmt::format("there is no folder {}", folder.string()));
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    refuse(fmt::format("the folder {} cannot be written to", folder.string()));
}

std::vector<fs::path> files_of(const Output& output) {
  return output.kind == OutputKind::frames ? files_written(output.path) : std::vector{output.path};
}

}  // namespace

void check_outputs(const std::vector<Output>& outputs, const std::vector<fs::path>& inputs) {
  for (const Output& output : outputs)
    if (!output.path.empty()) check_extension(output);
  std::vector<fs::path> read;
  for (const fs::path& input : inputs)
    for (fs::path& file : files_read(input)) read.push_back(std::move(file));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].path.empty()) continue;
    for (const fs::path& file : files_of(outputs[i])) {
      for (const fs::path& input : read)
        if (same_file(file, input))
          throw Error(ErrorKind::output, fmt::format("{}: would be written over {}, which is an input",
                                                     outputs[i].path.string(), input.string()));
      for (std::size_t j = 0; j < i; ++j)
        if (!outputs[j].path.empty() && same_file(file, outputs[j].path))
          throw Error(ErrorKind::usage,
                      fmt::format("{} and {} name the same file", outputs[j].option, outputs[i].option));
    }
    check_place(outputs[i]);
  }
}

void add_write_options(CLI::App& command, WriteOptions& options) {
  command.add_flag("--bake-shear", options.bake_shear,
                   fmt::format("Write bones that shear as pairs of nodes ({})", list_for(FileUse::bake_shear)));
  command.add_flag("--safe-names", options.safe_names,
                   "Names of letters, digits, _ and - only, for some engines (.glb)");
}

std::string convert_outputs() {
  std::vector<std::string> all = extensions_for(FileUse::write_sequence);
  for (const std::string& extension : extensions_for(FileUse::write_rig))
    if (std::find(all.begin(), all.end(), extension) == all.end()) all.push_back(extension);
  return fmt::format("{}", fmt::join(all, ", "));
}

std::string rig_outputs() {
  return list_for(FileUse::write_and_read_rig);
}

std::optional<Rig> rig_halfway(const fs::path& file, const Rig& rig, const Sequence& sequence,
                               const VertexMatch* match) {
  const std::string extension = lower_extension(file);
  if (rig.two_layer || sequence.frame_count() < 2 || (extension != ".glb" && extension != ".gltf")) return std::nullopt;
  ReadOptions options;
  options.halfway = true;
  Rig halfway = read_rig_file(file, options);
  if (match != nullptr) halfway = in_order_of(halfway, *match, sequence);
  return halfway;
}

void evaluate_file(const fs::path& file, const VertexMatch* match, const Sequence& sequence, int threads,
                   Written& written) {
  const std::optional<Rig> halfway = rig_halfway(file, written.rig, sequence, match);
  written.between.reset();
  if (!halfway) {
    written.errors = evaluate(written.rig, sequence, threads);
    return;
  }
  ErrorsBetween between;
  written.errors = evaluate(written.rig, *halfway, sequence, between, threads);
  if (between.places > 0) written.between = between;
}

Written write_result(const fs::path& target, const Rig& rig, const Sequence& sequence, const ResultOptions& options) {
  const auto stop_if_asked = [&] {
    if (!options.keep_partial) stop_if_interrupted("interrupted: nothing was written");
  };
  stop_if_asked();
  Written written;
  std::optional<VertexMatch> match;
  StagedFile staged(target);
  const HoldOn hold;  // there are files to be taken away or put in place
  try {
    rig.check();
    write_rig_and_levels(staged.path(), rig, options);
    written.bytes = fs::file_size(staged.path());
    written.rig = read_rig_file(staged.path());
  } catch (const Error& error) {
    // What was computed cannot be kept in a file: numbers beyond float, most likely.
    if (error.kind() != ErrorKind::input) throw;
    throw Error(ErrorKind::unusable, fmt::format("the work ended without a usable model: {}", error.what()));
  }
  if (!options.bytes.empty() && !same_vertices(written.rig, sequence)) match = match_vertices(written.rig, sequence);
  const Sequence part = match && match->missing > 0 ? matched_part(sequence, *match) : Sequence();
  const Sequence& against = part.vertex_count() > 0 ? part : sequence;
  if (match) written.rig = in_order_of(written.rig, *match, against);
  evaluate_file(staged.path(), match ? &*match : nullptr, against, options.threads, written);
  if (!std::isfinite(written.errors.e_rms))
    throw Error(ErrorKind::unusable, "the work ended without a usable model: its error is not finite");
  stop_if_asked();
  too_late_to_stop();
  staged.commit();
  return written;
}

}  // namespace sinew::tool
