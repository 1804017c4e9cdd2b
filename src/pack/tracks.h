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

/// Where the node of a bone rests in the file, and the joint under it: what all clips hold still, which then need no
/// track for it; else as in the rest pose.
struct NodeRest {
  std::vector<float> translation;  // 3
  std::vector<float> rotation;     // 4
  std::vector<float> scale;        // 3
  std::vector<float> inner;        // 4
};

/// What chains of joints in float leave of shear that is none, beyond which a bone takes two nodes: far below what the
/// roundings of a packed file show.
constexpr double kShearNoise = 4e-5;

/// The tracks of every bone, rounded. Translations that stay where the node rests stay there, and what a clip changes
/// by no more than motion in float is known to, or than precision.still, does not change at all.
std::vector<RoundedTracks> round_tracks(const Rig& rig, bool hierarchy, const std::vector<gltf::BoneTracks>& exact,
                                        const Precision& precision);

/// The motion that players make of the tracks.
Motion played_motion(const std::vector<Bone>& bones, std::size_t frames, bool hierarchy,
                     const std::vector<RoundedTracks>& tracks);

/// Where the nodes of these tracks rest.
std::vector<NodeRest> node_rests(const Rig& rig, bool hierarchy, const std::vector<RoundedTracks>& tracks);

/// Whether every frame of a track of this width is the same.
bool constant(const std::vector<float>& track, std::size_t width);

}  // namespace sinew::pack
