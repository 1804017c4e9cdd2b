#pragma once

#include "sinew/core/rig.h"
#include "sinew/core/sequence.h"

namespace sinew {

/// How unevenly a posed model stretches the edges of the frames, which the eye sees before it sees distances: the two
/// parts of the spatio-temporal edge difference [VasaSkala2011], in %. Definitions: docs/conventions.md, "Errors".
struct EdgeErrors {
  double spatial_percent = 0;   // deviation, around vertices, of relative differences of edge lengths
  double temporal_percent = 0;  // deviation, over three steps in time, of relative differences of step lengths
};

/// Throws Error{input} when vertex or frame counts differ.
EdgeErrors evaluate_edges(const Rig& rig, const Sequence& sequence, int threads = 0);

/// The same for positions that are posed already.
EdgeErrors evaluate_edges(const Frames& posed, const Sequence& sequence, int threads = 0);

}  // namespace sinew
