#pragma once

#include <cstdint>
#include <vector>

#include "io/gltf/write_motion.h"
#include "pack/precision.h"
#include "sinew/core/rig.h"

namespace sinew::pack {

/// The motion of one bone as the file has it.
struct RoundedTracks {
  gltf::BoneTracks values;             // as players read them
  std::vector<std::int16_t> rotation;  // F×4, as coded for the filter for quaternions; empty: floats
  std::vector<std::int16_t> inner;     // the same
};

/// The tracks of every bone, rounded. Translations that stay where the node rests stay there.
std::vector<RoundedTracks> round_tracks(const Rig& rig, bool hierarchy, const std::vector<gltf::BoneTracks>& exact,
                                        const Precision& precision);

/// The motion that players make of the tracks.
Motion played_motion(const std::vector<Bone>& bones, std::size_t frames, bool hierarchy,
                     const std::vector<RoundedTracks>& tracks);

/// Whether every frame of a track of this width is the same.
bool constant(const std::vector<float>& track, std::size_t width);

}  // namespace sinew::pack
