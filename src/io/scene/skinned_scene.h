#pragma once

#include <Eigen/Geometry>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sinew/core/rig.h"
#include "sinew/io/io.h"

/// What files of nodes, skins and morph targets have in common once they are read, whatever the format, and how it
/// becomes a rig or a sequence.
namespace sinew {

/// A joint as one mesh sees it.
struct Joint {
  std::size_t node = 0;
  Eigen::Affine3d inverse_bind = Eigen::Affine3d::Identity();
};

/// A mesh where a node shows it. A node without skin is the only joint of its own mesh. Posed, control point p is
/// sum_j w_j · global(joint_j) · inverse_bind_j · p; at rest it is bind · p.
struct Part {
  std::string name;
  std::size_t node = 0;
  std::size_t mesh = 0;  // in the list of meshes
  bool skinned = false;
  std::vector<Joint> joints;
  Eigen::Affine3d bind = Eigen::Affine3d::Identity();
};

/// Control points of a mesh in the mesh's own space, with what moves them.
struct ControlPoints {
  Points positions;                          // 3×n
  std::vector<std::size_t> first_influence;  // n+1: influences of control point v are first[v] .. first[v + 1)
  std::vector<Index> joints;                 // distinct within a control point
  std::vector<double> weights;               // >= 0; sum 1 for each control point of a skinned mesh
  std::size_t influence_slots = 0;           // the most that the file has room for
  std::vector<Points> targets;               // morph targets: 3×n offsets
  std::vector<Points> target_normals;        // the same for normals, or empty
  std::vector<std::string> target_names;     // one per target, or none
};

/// The state of all nodes at one time.
struct ScenePose {
  std::vector<Eigen::Affine3d> global;       // per node
  std::vector<std::vector<double>> weights;  // per node, of morph targets
};

struct SceneNode {
  std::string name;
  int parent = -1;
};

/// Everything in a file that moves vertices. `facts` is what rig_facts() noted in a file of our own, else null.
struct SkinnedScene {
  std::string file;  // stands for it in sentences
  std::vector<SceneNode> nodes;
  std::vector<std::size_t> order;  // all nodes, parents first
  std::vector<Part> parts;
  std::vector<const ControlPoints*> meshes;
  const nlohmann::json* facts = nullptr;

  const ControlPoints& points(const Part& part) const { return *meshes[part.mesh]; }
  /// What rig_facts() noted under that key; null when it did not.
  nlohmann::json fact(const char* key) const;
};

/// Moments at which a file is sampled, with their clips.
struct SampledTimes {
  std::vector<double> seconds;
  std::vector<Clip> clips;
};
using PoseAt = std::function<ScenePose(std::size_t frame)>;

/// The rig over a rest mesh whose vertices are those of the parts one after another, at rest. A bone is a joint node
/// together with X = inverse_bind · bind⁻¹, which takes rest positions to the joint's space; its motion is
/// global(node) · X. The result satisfies Rig::check(). Throws Error{input}.
Rig rig_of_scene(const SkinnedScene& scene, Mesh rest, SampledTimes times, const PoseAt& pose_at,
                 const ReadOptions& options);

/// The parts posed at every time. Throws Error{input} when that would take more than options.max_bytes.
Sequence sequence_of_scene(const SkinnedScene& scene, Mesh rest, SampledTimes times, const PoseAt& pose_at,
                           const ReadOptions& options);

/// Poses one part in one frame; `out` is 3×n. Evaluated in double, rounded once.
void pose_part(const ControlPoints& mesh, const Part& part, const ScenePose& pose, Eigen::Ref<Points> out);

/// Whether a `*` and `?` pattern matches the whole text.
bool glob_match(std::string_view pattern, std::string_view text);

/// Whether a matrix can be inverted without losing all digits.
bool invertible(const Eigen::Affine3d& m);

/// Names of pieces, UV and colour sets as rig_facts() noted them; a mesh of one unnamed piece has none.
void restore_mesh_names(const nlohmann::json& facts, Mesh& mesh);

}  // namespace sinew
