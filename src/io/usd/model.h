#pragma once

#include <Eigen/Geometry>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "io/scene/skinned_scene.h"
#include "io/usd/stage.h"
#include "sinew/core/mesh.h"
#include "sinew/io/io.h"

namespace sinew::usd {

/// A SkelAnimation and what it moves. Without one, joints stay at rest.
struct Animation {
  std::string name;
  Attribute translations;
  Attribute rotations;
  Attribute scales;
  Attribute shape_weights;
  std::vector<std::string> joints;
  std::vector<std::string> shapes;
};

struct Skeleton {
  std::size_t prim = 0;
  std::vector<std::string> joints;    // paths
  std::vector<int> parents;           // -1, or a joint
  std::vector<std::size_t> order;     // parents first
  std::vector<Eigen::Affine3d> bind;  // joint → skeleton
  std::vector<Eigen::Affine3d> rest;  // joint → its parent
  std::optional<std::size_t> bound;   // in Model::animations: the one that plays
};

/// The shapes that one weight blends through, by increasing weight. The undeformed mesh, at weight 0, is not among
/// them.
struct Channel {
  struct Step {
    double weight = 1;       // at which the shape acts fully
    std::size_t target = 0;  // in ControlPoints::targets
  };
  std::string name;
  std::vector<Step> steps;
};

/// How much each step of a channel acts when the channel has this weight: linear between neighbours, the undeformed
/// mesh among them, and on beyond the ends.
std::vector<double> step_amounts(const Channel& channel, double weight);

/// A mesh of the file.
struct MeshPart {
  std::string name;
  std::size_t prim = 0;
  Attribute points;       // moves where it has samples
  ControlPoints control;  // at rest, in the mesh's space
  std::vector<Index> face_sizes;
  std::vector<Index> corners;
  std::vector<CornerAttribute<2>> uv_sets;
  CornerAttribute<3> normals;
  std::vector<CornerAttribute<4>> color_sets;
  std::vector<int> face_materials;                          // in Model::materials; empty: none
  std::optional<std::size_t> skeleton;                      // in Model::skeletons, when it has weights or channels
  Eigen::Affine3d geom_bind = Eigen::Affine3d::Identity();  // mesh → skeleton, when it is skinned
  std::vector<Channel> channels;

  std::size_t vertex_count() const { return static_cast<std::size_t>(control.positions.cols()); }
  bool skinned() const { return !control.first_influence.empty(); }
  /// Whether its points are given at times; one sample that is also the value without a time is not.
  bool moves() const {
    if (points.values == nullptr || points.values->samples.empty()) return false;
    return points.animated() || (points.values->value && *points.values->value != points.values->samples[0].second);
  }
};

/// Reads bytes that an asset path names; empty when they are not there.
using Fetch = std::function<std::vector<std::uint8_t>(const std::string& asset)>;

/// Everything in a stage that moves vertices.
struct Model {
  std::vector<Skeleton> skeletons;
  std::vector<Animation> animations;
  std::vector<MeshPart> parts;
  std::vector<std::string> materials;                     // paths, in the order of the stage
  std::unordered_map<std::string, int> material_numbers;  // by path
};

Model read_model(const Stage& stage, const ReadOptions& options);

/// Materials as glTF has them, with the images that are there.
Appearance read_materials(const Stage& stage, const Model& model, const Fetch& fetch, const ReadOptions& options);

/// Faces and attributes of a mesh prim.
MeshPart read_mesh(const Stage& stage, std::size_t prim, const Model& model, const ReadOptions& options);
/// Skeleton, weights and blend shapes of a part that has them.
void read_binding(const Stage& stage, Model& model, const ReadOptions& options, MeshPart& part);
void read_skeletons(const Stage& stage, Model& model);

/// Joint → skeleton transforms at a time code.
std::vector<Eigen::Affine3d> pose_skeleton(const Stage& stage, const Skeleton& skeleton, const Animation* animation,
                                           double code);
/// Weights of a part's channels at a time code.
std::vector<double> channel_weights(const Stage& stage, const MeshPart& part, const Animation* animation, double code);

}  // namespace sinew::usd
