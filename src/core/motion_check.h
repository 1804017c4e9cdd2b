#pragma once

#include "sinew/core/rig.h"

/// The tests that Rig::check makes of a motion, for readers that decide by them what a motion is.
namespace sinew {

/// Whether the linear part is a rotation, within what a rigid rig may be off.
bool is_rotation(const Affine& transform);

/// What is wrong with drives for these bones; empty where nothing is.
std::string fault_of(const std::vector<HelperDrive>& drives, const std::vector<Bone>& bones);

/// Whether bone b and its parent put the head of b at the same place in frame f, within what a jointed rig may be off.
/// `diagonal` is that of the rest pose. True for a bone without a parent and for a helper.
bool joint_holds(const Rig& rig, std::size_t f, std::size_t b, double diagonal);

}  // namespace sinew
