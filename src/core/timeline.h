#pragma once

#include <string>
#include <vector>

#include "sinew/core/sequence.h"

namespace sinew {

/// What sequences and rigs ask of their times and clips: one finite time per frame, increasing within each clip; no
/// clips, or clips that partition the frames in order. Throws Error{input}; `name` stands for the object.
void check_timeline(const std::string& name, const std::vector<double>& times, const std::vector<Clip>& clips,
                    std::size_t frames);

/// What is left of clips when only these frames are, in ascending order.
std::vector<Clip> cut_clips(const std::vector<Clip>& clips, const std::vector<std::size_t>& frames);

}  // namespace sinew
