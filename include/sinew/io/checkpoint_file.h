#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sinew/core/checkpoint.h"
#include "sinew/core/rig.h"
#include "sinew/core/sequence.h"

namespace sinew {

/// Which solve a checkpoint belongs to.
struct SolveIdentity {
  std::string options;  // program, method and every option that the result depends on, as a line of text
  std::string input;    // digests of the sequence and, if any, of the rig that is fitted
};

/// A digest of all that a solver sees of a sequence: positions, faces, times and clips.
std::string digest_of(const Sequence& sequence);

/// The same of a rig that is fitted: bones, weights and motion.
std::string digest_of(const Rig& rig);

/// A state as the bytes of a checkpoint file, and back. Bytes that are not one, whole and undamaged, are refused with
/// Error{input}.
std::vector<std::byte> format_checkpoint(const SolveState& state, const SolveIdentity& identity);
struct ParsedCheckpoint {
  SolveState state;
  SolveIdentity identity;
};
ParsedCheckpoint parse_checkpoint(std::span<const std::byte> bytes, const std::string& name);

struct CheckpointFileOptions {
  double seconds = 60;              // between two savings
  std::function<bool()> stop_soon;  // may be empty; once it returns true, the next state is saved at once
};

/// Keeps the state of a solve in a file that is always complete: it is replaced as OutputFile replaces files.
///
/// Resumes the state in the file, if there is one. Throws Error{input} when it belongs to another solve or
/// is damaged, Error{output} when the file cannot be written.
class CheckpointFile : public Checkpoint {
 public:
  CheckpointFile(std::filesystem::path path, SolveIdentity identity, CheckpointFileOptions options);

  bool due() override;
  void save(const SolveState& state) override;

  /// Whether there was a state to continue from.
  bool resumed() const { return resumed_; }
  std::size_t saved() const { return saved_; }

  /// Removes the file: the solve is done.
  void discard();

 private:
  std::filesystem::path path_;
  SolveIdentity identity_;
  CheckpointFileOptions options_;
  double last_;
  bool resumed_ = false;
  bool stopping_ = false;
  std::size_t saved_ = 0;
};

}  // namespace sinew
