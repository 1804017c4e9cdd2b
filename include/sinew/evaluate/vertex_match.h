#pragma once

#include <cstddef>
#include <vector>

#include "sinew/core/rig.h"
#include "sinew/core/sequence.h"

namespace sinew {

/// Which vertex of a rig each vertex of a sequence is, found by place.
struct VertexMatch {
  static constexpr Index kNone = 0xFFFFFFFF;

  std::vector<Index> of;       // per vertex of the sequence; kNone for one that no face uses and the rig does not have
  double largest_percent = 0;  // largest distance of a pair at rest, in % of the diagonal
  std::size_t by_motion = 0;   // vertices whose place at rest was not enough to tell
  std::size_t copies = 0;      // vertices of the rig that repeat another, as at seams
  std::size_t missing = 0;     // kNone
};

/// Matches a rig whose file was made by a tool that reorders, splits, merges or rounds vertices: by place at rest, and
/// where several are as near as rounding can tell, by how they move. Throws Error{input} when a vertex has no partner
/// within `tolerance` (of the diagonal) or two of the sequence, apart from each other, would have to share one; frame
/// counts must agree.
VertexMatch match_vertices(const Rig& rig, const Sequence& sequence, double tolerance = 2e-3);

/// Whether the rig's vertices are those of the sequence in their order, so that there is nothing to match: as many, and
/// the same corners, if the rig's mesh has the sequence's faces.
bool same_vertices(const Rig& rig, const Sequence& sequence);

/// The rig over the vertices and faces of the sequence, or of its matched part; vertices without a partner are left out
/// of both.
Rig in_order_of(const Rig& rig, const VertexMatch& match, const Sequence& sequence);
Sequence matched_part(const Sequence& sequence, const VertexMatch& match);

}  // namespace sinew
