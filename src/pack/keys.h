#pragma once

#include <vector>

#include "pack/tracks.h"
#include "sinew/core/rig.h"

namespace sinew::pack {

/// All frames in the order in which they need keys: the first and last of every clip, then always the frame that
/// interpolation between the keys so far misses most.
std::vector<std::size_t> order_of_need(const Rig& rig, bool hierarchy, const std::vector<gltf::BoneTracks>& tracks);

/// The frames that keep their keys, ascending: the first of that order, at least the ends of clips.
std::vector<std::size_t> key_frames(const Rig& rig, const std::vector<std::size_t>& order, double share);

/// Sets what players show in the frames that have no keys.
void interpolate_between(const std::vector<std::size_t>& keys, const Rig& rig, std::vector<RoundedTracks>& tracks);
void interpolate_between(const std::vector<std::size_t>& keys, const Rig& rig, Eigen::MatrixXf& coefficients);

}  // namespace sinew::pack
