#pragma once

#include <filesystem>
#include <vector>

namespace sinew::tool {

/// Refuses an output before any work is done for it. Throws Error{output} when its folder is missing or cannot be
/// written to, when it is a folder, or when it (or what is written beside it) is one of the inputs.
void check_output(const std::filesystem::path& target, const std::vector<std::filesystem::path>& inputs,
                  bool folder_allowed = false);

/// A file name beside the target, for a file that is looked at before it takes the target's place. Removed with this
/// object unless committed.
class StagedFile {
 public:
  explicit StagedFile(std::filesystem::path target);
  ~StagedFile();
  StagedFile(const StagedFile&) = delete;
  StagedFile& operator=(const StagedFile&) = delete;

  const std::filesystem::path& path() const { return staged_; }
  void commit();

 private:
  std::filesystem::path target_;
  std::filesystem::path staged_;
};

}  // namespace sinew::tool
