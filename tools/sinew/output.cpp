#include "output.h"

#include <fmt/format.h>
#include <unistd.h>

#include "sinew/core/error.h"
#include "sinew/io/io.h"

namespace sinew::tool {
void check_output(const std::filesystem::path& target, const std::vector<std::filesystem::path>& inputs,
                  bool folder_allowed) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorKind::output, fmt::format("{}: {}", target.string(), why));
  };
  for (const std::filesystem::path& written : files_written(target))
    for (const std::filesystem::path& input : inputs)
      if (same_file(written, input)) refuse(fmt::format("would be written over {}, which is an input", input.string()));
  if (!folder_allowed && std::filesystem::is_directory(target)) refuse("is a folder, a file name is expected");
  const std::filesystem::path folder = target.has_parent_path() ? target.parent_path() : ".";
  if (!std::filesystem::is_directory(folder)) refuse(fmt::format("there is no folder {}", folder.string()));
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    refuse(fmt::format("the folder {} cannot be written to", folder.string()));
}

StagedFile::StagedFile(std::filesystem::path target) : target_(std::move(target)), staged_(target_) {
  staged_.replace_filename(fmt::format(".{}.{}{}", target_.stem().string(), getpid(), target_.extension().string()));
}

StagedFile::~StagedFile() {
  std::error_code ignored;
  if (!staged_.empty()) std::filesystem::remove(staged_, ignored);
}

void StagedFile::commit() {
  std::error_code failure;
  std::filesystem::rename(staged_, target_, failure);
  if (failure)
    throw Error(ErrorKind::output, fmt::format("{}: cannot be written: {}", target_.string(), failure.message()));
  staged_.clear();
}

}  // namespace sinew::tool
