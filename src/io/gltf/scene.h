#pragma once

#include <Eigen/Geometry>
#include <optional>
#include <string>
#include <vector>

#include "io/gltf/document.h"
#include "io/scene/skinned_scene.h"
#include "sinew/io/io.h"

namespace sinew::gltf {

/// A node as the file places it.
struct Node {
  std::string name;
  int parent = -1;
  std::optional<std::size_t> mesh;
  std::optional<std::size_t> skin;
  bool has_matrix = false;
  Eigen::Affine3d matrix = Eigen::Affine3d::Identity();  // when has_matrix, else translation, rotation, scale
  Eigen::Vector3d translation = Eigen::Vector3d::Zero();
  Eigen::Quaterniond rotation = Eigen::Quaterniond::Identity();
  Eigen::Vector3d scale = Eigen::Vector3d::Ones();
  std::vector<double> weights;  // of morph targets: the node's, else its mesh's, else zeros; one per target
};

enum class Path { translation, rotation, scale, weights };
enum class Interpolation { linear, step, cubic };

/// A channel of an animation with its keys.
struct Track {
  std::size_t node = 0;
  Path path = Path::translation;
  Interpolation interpolation = Interpolation::linear;
  std::size_t width = 0;      // numbers per key
  std::vector<float> times;   // seconds, strictly increasing
  std::vector<float> values;  // per key: width numbers; cubic: in-tangent, value, out-tangent
};

struct Animation {
  std::size_t index = 0;  // in the file
  std::string name;
  std::vector<Track> tracks;
  std::vector<double> frames;  // times at which the animation is sampled
};

/// Nodes, their order and the animations of a file.
struct Scene {
  std::vector<Node> nodes;
  std::vector<std::size_t> order;     // all nodes, parents first
  std::vector<std::size_t> visible;   // nodes of the default scene in depth-first order
  std::vector<Animation> animations;  // those that options.clip selects
};

/// Reads the scene. Refuses cyclic or shared nodes, tracks that do not fit their node and keys out of order.
/// `dense`: where keys are far apart, frames between them are sampled as well.
Scene read_scene(const Document& document, const ReadOptions& options, bool dense);

/// Numbers of a track at time t: the value of the first or last key outside its keys.
void sample(const Track& track, double t, std::vector<double>& out);

/// The file's own placement, or that of an animation at time t.
ScenePose pose_at(const Scene& scene, const Animation* animation, double t);

}  // namespace sinew::gltf
