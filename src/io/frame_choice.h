#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sinew/io/io.h"

/// What ReadOptions say about frames, read alike for every format.
namespace sinew {

/// The frames of `count` that the options keep. Throws Error{usage} in the name of the file when there are none.
std::vector<std::size_t> kept_frames(const std::string& name, std::size_t count, const ReadOptions& options);

/// The number in ReadOptions::rest where it is one, and not the name of a file that is there.
std::optional<std::size_t> rest_frame_number(const std::string& rest);

}  // namespace sinew
