#include "shared_checkpoint.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sinew::tool {

SharedCheckpoint::SharedCheckpoint(Ranks& ranks, CheckpointFile* file) : ranks_(ranks), file_(file) {
  std::vector<std::byte> bytes;
  if (file_ != nullptr && file_->earlier) bytes = format_checkpoint(*file_->earlier, {});
  bytes.resize(static_cast<std::size_t>(ranks_.of_first<std::uint64_t>(bytes.size())));
  if (bytes.empty()) return;
  ranks_.from_first(bytes);
  earlier = parse_checkpoint(bytes, "checkpoint").state;
  finished = earlier->finished;
}

bool SharedCheckpoint::due() {
  return ranks_.of_first(file_ != nullptr && file_->due());
}

void SharedCheckpoint::save(const SolveState& state) {
  if (file_ != nullptr) file_->save(state);
}

}  // namespace sinew::tool
