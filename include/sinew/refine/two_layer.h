#pragma once

#include <vector>

#include "sinew/core/progress.h"
#include "sinew/core/rig.h"

namespace sinew {

/// How far `sinew compress` goes. One of the three limits decides: max_error if it is positive, else virtual_bones if
/// it is positive, else blends_per_vertex.
struct TwoLayerOptions {
  double blends_per_vertex = 4;  // b > virtual_per_vertex: Σ = (b − q)·V / c virtual bones
  int virtual_bones = 0;         // Σ; 0: from blends_per_vertex
  double max_error = 0;          // stop when Δ <= max_error (Δ as reported below); 0: do not
  int virtual_per_vertex = 2;    // q, 2..4
  int masters_per_virtual = 0;   // c; 0: as many as a vertex has bones on average
  int max_iterations = 30;       // of the alternation after each growth of the dictionary
  double tolerance = 2e-3;       // an alternation ends when (Δ²[n-1] - Δ²[n]) <= tolerance · Δ²[n-1]
  bool keep_motion = false;      // with examples and free affine bones: leave the bones' motion as it is
  int threads = 0;
};

/// What came of it. Δ_W is sqrt(|W − DA|² / BV) [LeDeng2013 eq. 1a]; Δ_E is sqrt(Σ E_i² / 3FV) with the rest pose
/// scaled to an enclosing sphere of radius 1, over the lower bound that dense weights reach [eq. 7a].
struct TwoLayerReport {
  int virtual_bones = 0;
  int masters_per_virtual = 0;
  double blends_per_vertex = 0;  // q + virtual_bones · masters_per_virtual / V
  double weight_error = 0;       // Δ_W of the float model
  double example_error = 0;      // Δ_E; 0 without examples
  std::vector<double> history;   // Δ after each iteration, of the measure that is minimised
  bool cancelled = false;
};

/// Two-layer sparse compression of blend skinning [LeDeng2013]: factorises the weights into a dictionary of virtual
/// bones and q coefficients per vertex. With `examples` (frames that correspond to the rig's motion) it minimises the
/// distance to them instead of the change of the weights, and fits the motion of free affine bones anew to what the two
/// layers can express. Returns the rig with `two_layer` set and its weights as they were; a two-layer part and
/// corrections it came with are not looked at. Derivation and where we differ from the paper:
/// docs/algorithms/two_layer.md Throws Error{usage} for options outside their ranges, Error{input} when examples and
/// rig disagree. Memory: about 4·B·V bytes beyond the input, with examples 16·B·V more.
Rig compress_two_layer(Rig rig, const Sequence* examples, const TwoLayerOptions& options, TwoLayerReport& report,
                       const Progress& progress = {});

/// Δ_W between a rig's weights and A·D [eq. 1a].
double two_layer_weight_error(const Rig& rig, const TwoLayer& model);

}  // namespace sinew
