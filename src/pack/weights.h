#pragma once

#include <vector>

#include "pack/precision.h"
#include "sinew/core/rig.h"

namespace sinew::pack {

/// What roundings are chosen by: some frames of a rig, where its vertices are to be in them, and the order of the file.
struct FitFrames {
  std::vector<std::size_t> frames;
  std::vector<Points> posed;               // 3×V each, by the rig: weights are held to them
  std::vector<Points> target;              // 3×V each: the rest pose is
  std::vector<Index> order;                // of the vertices in the file, each where it comes first; or empty
  std::vector<std::size_t> order_of_need;  // all frames, those first that need keys most; empty: all keep theirs
};

/// Weights as whole numbers over precision.weight_one that sum to it exactly. Of the roundings of a row the one is
/// taken that leaves its vertex nearest to `fit`; influences that move it less than precision.slack (RMS over the
/// frames) are left out.
SkinWeights round_weights(const Rig& rig, const FitFrames& fit, const Precision& precision, int threads);

/// The rest pose that follows `fit` best with the weights of `rig`, near to its own.
Points refit_rest(const Rig& rig, const FitFrames& fit, int threads);

}  // namespace sinew::pack
