#pragma once

#include <string>
#include <vector>

#include "io/scene/skinned_scene.h"
#include "sinew/core/blendshapes.h"

/// Morph targets of a scene as named shapes over all of its vertices.
namespace sinew {

/// Throws Error{input} with a sentence about the file.
[[noreturn]] void refuse(const SkinnedScene& scene, const std::string& sentence);

/// A morph target of a part.
struct Target {
  std::size_t part = 0;
  std::size_t target = 0;
};

std::string name_of(const SkinnedScene& scene, const Target& target);

/// Vertex numbers at which the parts start, and the end.
std::vector<Eigen::Index> part_starts(const SkinnedScene& scene);

/// What A does to offsets of unit normals: scaled with the normals that they are added to, which stay at unit length.
Eigen::Matrix3d normals_by(const Eigen::Matrix3d& A);

/// Adds targets that move something to the rest mesh, as shapes; those of one name are one shape.
void add_shapes(const SkinnedScene& scene, const std::vector<Target>& targets, const ReadOptions& options, Mesh& rest);

/// The targets as sliders over a rest mesh as rig_of_scene has it. Frames are those of the clips in which sliders move,
/// without what else moves there; where there are none, the sliders take turns. Throws Error{input}, also where no
/// target moves anything.
Blendshapes blendshapes_of_scene(const SkinnedScene& scene, Mesh rest, SampledTimes times, const PoseAt& pose_at,
                                 const ReadOptions& options);

}  // namespace sinew
