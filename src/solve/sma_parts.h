#pragma once

#include <Eigen/Core>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "sinew/core/rig.h"
#include "sinew/core/sequence.h"
#include "sinew/math/mean_shift.h"
#include "sinew/solve/sma.h"

/// The steps of skinning mesh animations, in the order in which sma.cpp takes them.
namespace sinew::sma {

/// The triangles that have a rotation in every frame (§4.1).
struct Triangles {
  std::vector<std::array<Index, 3>> corners;  // n
  std::vector<double> areas;                  // n, in the rest pose
  PointRows rotations;                        // n×9F: row-major 3×3 per frame
  std::size_t degenerate = 0;                 // left out: no area in the rest pose or in some frame
};
Triangles triangle_rotations(const Sequence& sequence, int threads);

/// Core triangles of every bone (§4.2).
struct Cores {
  double epsilon = 0;
  double near_rigid_fraction = 0;  // η: share of the triangles that belong to a significant mode
  std::vector<int> bone_of;        // n: bone, or -1
  std::vector<std::size_t> sizes;  // B
  std::size_t steps = 0;           // of the mean shift

  std::size_t bones() const { return sizes.size(); }
};
/// Triangles that a mode needs to count as a bone: 0.3 % of all, at least 50 where that is under 2 %.
std::size_t significant_size(std::size_t triangles);
Cores find_cores(const Triangles& triangles, double epsilon, int threads, const Progress& progress);

/// Takes apart cores whose connected parts turn alike but move differently; parts too small to be bones go.
Cores separate_parts(const Sequence& sequence, const Triangles& triangles, const Cores& cores, int threads);

/// Transforms fitted to the core triangles in every frame (§4.3, §4.4, appendix A).
Motion fit_bones(const Sequence& sequence, const Triangles& triangles, const Cores& cores, Transforms transforms,
                 int threads);

/// Weights of any sign: slot k of vertex v is bones[v*K + k] with values[v*K + k]; rows sum to 1.
struct SignedWeights {
  int influences = 0;
  std::vector<Index> bones;
  std::vector<double> values;
};
SignedWeights fit_weights(const Sequence& sequence, const Motion& motion, const SmaOptions& options);

/// Least-squares bones for given weights, close to what they were where the weights say nothing.
void refit_bones(const Sequence& sequence, const SignedWeights& weights, Transforms transforms, int threads,
                 Motion& motion);

/// Σ |frames − model|².
double squared_error(const Sequence& sequence, const Motion& motion, const SignedWeights& weights, int threads);

/// Puts weights of any sign into a rig whose motion holds the plain bones: non-negative rows as they are, others over
/// helper bones that are added to the rig. Returns how many helpers there are.
std::size_t set_weights(Rig& rig, const SignedWeights& weights);

}  // namespace sinew::sma
