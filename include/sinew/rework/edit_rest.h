#pragma once

#include <cstddef>
#include <optional>

#include "sinew/core/progress.h"
#include "sinew/core/rig.h"
#include "sinew/rework/transfer.h"

namespace sinew {

/// What becomes of a rig's corrections where its rest pose is edited: they stay, go, or grow and shrink with the
/// surface around their vertex.
enum class CorrectionRule { keep, drop, rescale };

struct EditOptions {
  double follow = 1;    // how much of their neighbourhood's move joints make, 0..1
  double reach = 0.05;  // size of that neighbourhood, × rest diagonal; > 0
  CorrectionRule corrections = CorrectionRule::keep;
  TransferOptions transfer;  // for a mesh with other faces; its threads are those of the whole edit
};

struct EditReport {
  bool same_faces = true;     // the edited mesh has the rig's vertices; else weights were carried over to it
  TransferReport transfer;    // where they were
  double moved_percent = 0;   // largest move of a vertex, % of the rest diagonal
  double joints_percent = 0;  // largest move of a joint
};

/// True when both meshes have as many vertices and the edges of one are among those of the other: the same mesh,
/// perhaps cut into triangles.
bool same_faces(const Mesh& a, const Mesh& b);

/// Carries an edited rest pose through a rig's animation [JamesTwigg2005 §7, Fig. 15]. Bones keep how they turn; joints
/// and bones that blend into each other stay together where the edit moves what lies between them. The unedited rest
/// pose changes nothing, to the bit. Derivation: docs/algorithms/rework.md
/// Throws Error{usage} for options out of range, Error{input} as transfer() does, Error{interrupted}.
Rig edit_rest(const Rig& rig, const Mesh& edited, const EditOptions& options, EditReport& report,
              const Progress& progress = {});

}  // namespace sinew
