#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "io/usd/model.h"

namespace sinew::usd {

/// A layer and the files that it may refer to: those of its package, or those beside it.
struct Package {
  std::string name;       // stands for the layer in sentences
  std::string_view text;  // of the layer; a view of the bytes
  Fetch fetch;
};

/// Opens a text layer, or a package whose first file is one. `bytes` have to outlive it. Throws Error{input}: binary
/// layers are refused with the command that turns them into text.
Package open_package(std::span<const std::byte> bytes, const std::filesystem::path& folder, const std::string& name);

}  // namespace sinew::usd
