#pragma once

#include <cstdint>

#include "sinew/core/blendshapes.h"
#include "sinew/core/fit_report.h"
#include "sinew/core/progress.h"
#include "sinew/core/quality.h"
#include "sinew/core/rig.h"
#include "sinew/core/sliders.h"
#include "sinew/evaluate/errors.h"

namespace sinew {

struct BlendshapeOptions {
  int bones = 40;      // asked for, 1..1024
  int influences = 8;  // K, bones per vertex: 1..8
  Transforms transforms = Transforms::affine;
  double sparsity = 0.9;                // 0 <= share of all pairs of a bone and a slider that are left out < 1
  Quality quality = Quality::balanced;  // of the bones that it starts from
  std::uint64_t seed = 1;
  int threads = 0;  // 0: all cores; the result does not depend on it
};

/// A rig and how its bones follow sliders.
struct SliderRig {
  Rig rig;
  SliderMap map;
  // E_RMS of the single shapes, to compare with:
  double dense_e_rms = 0;     // weights and transforms found together, with nothing left out
  double full_map_e_rms = 0;  // the weights of this rig with the best map that leaves nothing out
};

/// Bones that follow the sliders of a face by a sparse linear map [Kavan2024], instead of morph targets.
///
/// Minimises Σ_s,v |p(v) + shape(s, v) − Σ_b w(v,b) T(b,s) p(v)|² over K-sparse convex weights and transforms T(b,s) of
/// which the share `sparsity` are the identity. The rig has the motion of the sliders in the frames, and no shapes.
/// Derivation: docs/algorithms/blendshapes.md When `progress` asks to stop the best map so far is returned and the
/// report says so. Throws Error{usage} for options out of range, Error{input} for what Blendshapes::check refuses and
/// where nothing moves. Memory: 12·V·S bytes three times over, beside that of solve_ssdr.
SliderRig solve_blendshapes(const Blendshapes& shapes, const BlendshapeOptions& options, FitReport& report,
                            const Progress& progress = {});

/// Errors of a rig that follows sliders against the shapes, at each row of an N×S matrix of values.
/// Throws Error{input} when their sliders or vertices are not the same.
Errors evaluate_sliders(const Rig& rig, const SliderMap& map, const Blendshapes& shapes, const Eigen::MatrixXf& values,
                        int threads = 0);

}  // namespace sinew
