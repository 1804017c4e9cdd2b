#pragma once

#include <optional>

#include "io/fbx/curves.h"
#include "io/fbx/mesh.h"
#include "io/fbx/scene.h"
#include "io/scene/skinned_scene.h"

namespace sinew::fbx {

/// Where the weight of a morph target comes from: a shape of a channel. Shapes of one channel take turns as its percent
/// grows: shape i acts fully at full[i].
struct Target {
  std::string name;          // of the channel
  std::size_t channel = 0;   // object
  std::size_t shape = 0;     // of the channel
  std::vector<double> full;  // percent, increasing, one per shape of the channel
  double percent = 0;        // where nothing is keyed

  double weight(double channel_percent) const;
};

/// One Geometry, read once for all models that show it.
struct Geometry {
  Polygons polygons;
  ControlPoints points;
  std::vector<Target> targets;         // one per morph target of the points
  std::vector<std::size_t> links;      // node of each cluster
  std::vector<Eigen::Affine3d> binds;  // of each cluster: from the mesh, geometric transform done, to the link
  Eigen::Affine3d placed = Eigen::Affine3d::Identity();  // where the mesh was when it was bound
  bool skinned = false;
  bool loose = false;  // some vertices follow no cluster: they are with joint links.size(), the model itself
};

/// Everything in a file that moves vertices.
struct Model {
  std::vector<ModelNode> nodes;
  std::vector<Geometry> geometries;
  std::vector<Part> parts;
  std::vector<std::size_t> geometry_of;  // of each part
  Eigen::Affine3d to_ours = Eigen::Affine3d::Identity();
  std::vector<Stack> stacks;
  std::optional<nlohmann::json> facts;  // of a file of our own
};

Model read_model(const Document& document, const ReadOptions& options);

/// The parts at rest as one mesh; pieces when there are several.
Mesh rest_mesh(const Document& document, const Model& model, const ReadOptions& options);

/// What rig_of_scene and sequence_of_scene take; all refer to the model.
SkinnedScene skinned_scene(const Document& document, const Model& model);
SampledTimes sampled_times(const Model& model);
PoseAt poses(const Model& model);

}  // namespace sinew::fbx
