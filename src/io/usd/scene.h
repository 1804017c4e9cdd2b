#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "io/scene/skinned_scene.h"
#include "io/usd/model.h"

namespace sinew::usd {

/// A moment of the stage: its time code, and the animation that plays instead of the bound ones, if any.
struct FrameCode {
  double code = 0;
  std::optional<std::size_t> animation;
};

/// A stage as nodes and parts: one node for every joint of every skeleton, then one for every mesh.
struct UsdScene {
  UsdScene(Layer layer, const ReadOptions& options);
  UsdScene(const UsdScene&) = delete;
  UsdScene& operator=(const UsdScene&) = delete;

  ScenePose pose_at(const FrameCode& frame) const;
  /// The parts at rest as one mesh; pieces when there are several.
  Mesh rest_mesh(const Fetch& fetch, const ReadOptions& options) const;

  Stage stage;
  Placement placement;
  Model model;
  nlohmann::json facts;                  // what our own writer noted, else null
  double rest_code = 0;                  // where things are at rest
  std::vector<std::size_t> first_joint;  // node of each skeleton's first joint
  SkinnedScene skinned;
};

/// All sampled moments, their times in seconds and clips.
///
/// A stage with one skeleton has a clip for each of its animations, at their samples; others are one clip at the
/// samples of everything that moves. Without any, one frame.
struct Timeline {
  std::vector<FrameCode> frames;
  std::vector<double> seconds;
  std::vector<Clip> clips;
};
Timeline timeline_of(const UsdScene& scene, const ReadOptions& options);

}  // namespace sinew::usd
