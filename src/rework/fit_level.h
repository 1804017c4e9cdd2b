#pragma once

#include <vector>

#include "rework/chosen_frames.h"
#include "sinew/core/progress.h"
#include "sinew/core/rig.h"

namespace sinew {

/// Moves the vertices of a level at rest, and shifts the weights that they have, so that its triangles lie closer to
/// the rig's surface over the chosen frames. `owner[v]` is the vertex of the level that vertex v of the rig went into,
/// or any larger number where nothing of it is left. Borders stay, and so do vertices whose triangles would turn over.
/// Derivation: docs/algorithms/rework.md
void fit_level(const Rig& rig, const std::vector<Index>& owner, const ChosenFrames& frames, int threads, Rig& level,
               const Progress& progress = {});

}  // namespace sinew
