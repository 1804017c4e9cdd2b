#pragma once

#include <Eigen/Geometry>
#include <optional>
#include <string>
#include <vector>

#include "io/gltf/document.h"
#include "io/gltf/read_mesh.h"
#include "io/gltf/scene.h"
#include "io/scene/skinned_scene.h"
#include "sinew/core/mesh.h"
#include "sinew/core/sequence.h"
#include "sinew/io/io.h"

namespace sinew::gltf {

/// Everything in a file that moves vertices.
struct Model {
  bool own = false;             // written by write_glb
  const Json* facts = nullptr;  // asset.extras.sinew when own; belongs to the document
  Scene scene;
  std::vector<MeshData> meshes;
  std::vector<Part> parts;
};

/// What write_glb noted under that key; null when it did not or the file is not its own.
Json fact(const Model& model, const char* key);

/// Reads the model; refuses joints out of range and vertices without weight.
Model read_model(const Document& document, const ReadOptions& options);

/// The parts at rest as one mesh; pieces when there are several.
Mesh rest_mesh(const Document& document, const Model& model, const ReadOptions& options);

/// One sampled time.
struct FrameTime {
  const Animation* animation = nullptr;
  double time = 0;
};

/// All sampled times, clips and their exact times in seconds. A file without animations has one frame.
struct Timeline {
  std::vector<FrameTime> frames;
  std::vector<double> seconds;
  std::vector<Clip> clips;
};
Timeline timeline(const Document& document, const Model& model, const ReadOptions& options);

/// What rig_of_scene and sequence_of_scene take; both refer to the model.
SkinnedScene skinned_scene(const Document& document, const Model& model);
PoseAt poses(const Model& model, const Timeline& timeline);

}  // namespace sinew::gltf
