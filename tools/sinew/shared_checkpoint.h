#pragma once

#include <memory>

#include "sinew/core/ranks.h"
#include "sinew/io/checkpoint_file.h"

namespace sinew::tool {

/// The checkpoint of a solve that ranks share: the first has the file. It decides when a state is saved, saves it, and
/// tells the others what an earlier run left.
class SharedCheckpoint : public Checkpoint {
 public:
  /// `file` is null but on the first rank.
  SharedCheckpoint(Ranks& ranks, CheckpointFile* file);

  bool due() override;
  void save(const SolveState& state) override;

 private:
  Ranks& ranks_;
  CheckpointFile* file_;
};

}  // namespace sinew::tool
