#pragma once

#include <string_view>

#include "sinew/core/progress.h"
#include "sinew/core/rig.h"

namespace sinew {

/// Ways to get a rig down to K influences per vertex, from crude to fair [LeDeng2013 §4].
enum class ReduceMethod {
  largest,   // the K largest weights, scaled to sum 1
  smooth,    // the same bones; weights whose Laplacian over the mesh is that of the original [LandreneauSchaefer2010]
  geometry,  // the K bones and weights that reproduce the examples best [JamesTwigg2005]
  poisson,   // the bones of `geometry`; weights that reproduce the Laplacian of the examples [LandreneauSchaefer2010]
};

/// Throws Error{usage} for a name that is none of these.
ReduceMethod reduce_method(std::string_view name);

struct ReduceOptions {
  ReduceMethod method = ReduceMethod::geometry;
  int influences = 4;        // K >= 1
  int sweeps = 20;           // of smooth and poisson over the vertices
  double attachment = 1e-2;  // smooth, poisson: weight of staying put beside the Laplacian's 1
  int threads = 0;           // largest and geometry use them; the sweeps of the others are one after another
};

/// Weights with at most K influences per vertex for the same bones and motion. `examples` are the frames that
/// correspond to the rig's motion; null: the frames that the rig itself poses. Equations: docs/algorithms/reduce.md
/// Throws Error{usage} for K < 1, Error{input} when examples and rig disagree, Error{interrupted}.
SkinWeights reduce_weights(const Rig& rig, const Sequence* examples, const ReduceOptions& options,
                           const Progress& progress = {});

}  // namespace sinew
