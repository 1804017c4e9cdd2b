#pragma once

#include <filesystem>
#include <string>

#include "sinew/core/rig.h"

/// BVH out: the skeleton of a rig and its motion, without the mesh.
namespace sinew {

/// Text of a BVH file: joints at their heads, end sites at the tails of those without children; the first joint moves
/// and turns, the others turn about z, y and x. Several joints at the top hang below one that stays at the origin, and
/// then move as well. One constant frame time, the mean of the rig's; clips follow one another. Throws Error{output}
/// for rigs without a skeleton, without frames or with bones that stretch.
std::string format_bvh(const Rig& rig);

/// The same to a file: complete or absent.
void write_bvh(const std::filesystem::path& path, const Rig& rig);

}  // namespace sinew
