#pragma once

#include <optional>
#include <vector>

#include "io/gltf/two_layer_code.h"
#include "pack/precision.h"
#include "pack/tracks.h"
#include "pack/weights.h"
#include "sinew/core/rig.h"

namespace sinew::pack {

using Cells = Eigen::Matrix<int, 3, Eigen::Dynamic>;

/// A morph target as whole numbers: an offset is `unit` times them, that of a normal 1/127 of `unit` over the grid's
/// step.
struct RoundedMorph {
  Cells offsets;
  Cells normals;  // or empty
  double unit = 0;
};

/// A rig as a packed file holds it.
struct Rounded {
  Rig rig;  // what players make of it, vertices as in the source
  Precision precision;
  bool hierarchy = false;
  double step = 1;  // of the grid of positions, from `origin`; without a grid 1 and 0
  Vector3 origin = Vector3::Zero();
  Cells cells;  // empty: positions are floats
  std::vector<RoundedTracks> tracks;
  std::vector<NodeRest> rests;
  std::vector<RoundedMorph> morphs;           // one per correction; empty: floats
  std::vector<std::size_t> keys;              // frames that have keys; empty: all
  std::optional<gltf::TwoLayerSteps> layers;  // the two layers alone move the mesh; its skin stands still
};

/// Rounds every part of a rig. `fit` decides between roundings.
Rounded round_rig(const Rig& rig, const FitFrames& fit, const Precision& precision, int threads);

}  // namespace sinew::pack
