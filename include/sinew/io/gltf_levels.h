#pragma once

#include <filesystem>
#include <vector>

#include "sinew/core/rig.h"
#include "sinew/io/io.h"

namespace sinew {

/// Every level of detail of a rig in a .glb [MSFT_lod], the finest first: what write_glb_levels wrote. Levels are read
/// as rigs of their own that share bones and motion; a piece with fewer levels than others stays at its coarsest. A
/// file without levels, or of another format, is one level: what read_rig reads. Throws as read_rig does.
std::vector<Rig> read_rig_levels(const std::filesystem::path& path, const ReadOptions& options = {});

/// How many levels read_rig_levels finds in a file, without reading their meshes.
std::size_t count_rig_levels(const std::filesystem::path& path);

}  // namespace sinew
