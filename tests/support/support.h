#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

#include "sinew/core/error.h"

/// What several test programs share.
namespace sinew::test {

/// Folder of the real sequences (SINEW_DATA), or an empty path.
inline std::filesystem::path data_folder() {
  const char* folder = std::getenv("SINEW_DATA");
  const std::filesystem::path path = folder != nullptr ? folder : std::string(SINEW_SOURCE_DIR) + "/../shared/data";
  return std::filesystem::is_directory(path) ? path : std::filesystem::path{};
}

#define SINEW_NEEDS_DATA()                                           \
  if (::sinew::test::data_folder().empty())                          \
  GTEST_SKIP() << "SINEW_DATA does not name a folder with the real " \
                  "sequences"

/// A folder that is new for this test and removed with it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "sinew-test-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Passes when `action` throws an Error of this kind whose sentence contains `part`.
inline void expect_error(ErrorKind kind, const std::string& part, const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.kind()), static_cast<int>(kind)) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << "sentence: " << error.what();
    return;
  }
  ADD_FAILURE() << "no error; expected one that says '" << part << "'";
}

}  // namespace sinew::test
