#pragma once

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string>

namespace sinew {

/// The extension with its dot, in lower case.
inline std::string lower_extension(const std::filesystem::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension;
}

}  // namespace sinew
