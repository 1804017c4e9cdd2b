#pragma once

#include <cstddef>

#include "sinew/core/progress.h"
#include "sinew/core/rig.h"

namespace sinew {

struct TransferOptions {
  double distance = 0.05;  // a vertex takes weights from the surface no farther than this, × rest diagonal; > 0
  double degrees = 30;     // and whose normal differs by no more than this; 0..180
  int influences = 0;      // bones per vertex of the result; 0: as many as the rig has
  int threads = 0;
};

/// Where the vertices of the other mesh have their weights from.
struct TransferReport {
  std::size_t vertices = 0;
  std::size_t matched = 0;      // from the point of the rig's surface next to them
  std::size_t filled = 0;       // from the matched vertices of their component, smoothly over the surface
  std::size_t unreached = 0;    // from the nearest point whatever its normal: nothing of their component matched
  double farthest_percent = 0;  // largest distance to the rig's surface, % of the rest diagonal

  double filled_share() const {
    return vertices == 0 ? 0 : static_cast<double>(filled) / static_cast<double>(vertices);
  }
};

/// Gives another mesh of the same character the rig's bones and motion, and weights and corrections of its own: a
/// re-topologised body, a garment, a level of detail. The mesh stands where the rig's rest pose stands.
///
/// Robust weight transfer [Abdrashitov 2023]: the closest point of the surface where distance and normals agree, the
/// rest filled in by the smoothest function over the mesh. A two-layer part is not carried over.
/// Derivation and where we differ: docs/algorithms/rework.md
/// Throws Error{usage} for options out of range, Error{input} when the rig has no surface or the mesh is elsewhere,
/// Error{interrupted}. Memory: about 16·V·B bytes of the other mesh beyond the result.
Rig transfer(const Rig& rig, const Mesh& mesh, const TransferOptions& options, TransferReport& report,
             const Progress& progress = {});

}  // namespace sinew
