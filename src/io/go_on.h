#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <filesystem>

#include "sinew/core/error.h"
#include "sinew/core/progress.h"

namespace sinew {

/// Tells how much of a file is written; ends the writing where that is asked for. The file is then as it was before.
inline void go_on(const Progress& progress, const std::filesystem::path& path, double fraction) {
  if (!tell(progress, "writing", fraction))
    throw Error(ErrorKind::interrupted, fmt::format("{}: interrupted: nothing was written", path.string()));
}

/// The same for frame f of `count`.
inline void go_on(const Progress& progress, const std::filesystem::path& path, std::size_t f, std::size_t count) {
  go_on(progress, path, static_cast<double>(f) / static_cast<double>(count));
}

}  // namespace sinew
