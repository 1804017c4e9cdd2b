#pragma once

#include <filesystem>

#include "inputs.h"

namespace sinew::tool {

/// The rig that --truth names: a rig's file, or a folder with truth_weights.npy (V×B) and truth_transforms.npy
/// (F×B×3×4, rest→posed) for the mesh of the sequence. A file that is also the sequence is read with the same choice of
/// clips and frames, so that frames agree. Throws Error{input}.
Rig read_known_rig(const std::filesystem::path& path, const SequenceInputs& inputs, const Sequence& sequence);

}  // namespace sinew::tool
