#pragma once

#include <cstdint>
#include <string>

#include "sinew/core/checkpoint.h"
#include "sinew/core/fit_report.h"
#include "sinew/core/progress.h"
#include "sinew/core/rig.h"
#include "sinew/core/sequence.h"

namespace sinew {

/// How much a bone must explain to be worth its place where the number of bones is open.
enum class Detail { low, medium, high };

struct SkeletonOptions {
  int clusters = 64;  // rigid clusters to start from: more than the skeleton will need
  int max_bones = 0;  // bones go until at most this many are left; 0: as many as the motion asks for
  Detail detail = Detail::medium;
  double max_error = 0;         // > 0: as few bones as leave at most this E_RMS, whatever `detail` says
  bool keep_all_bones = false;  // never prune
  int influences = 4;           // K, 1..8
  double smoothness = 1e-6;     // ω of the rigidness Laplacian on the final weights [Le2014 §3.7.2]
  int soft_iterations = 20;     // with joint constraints of growing weight [Le2014 §3.3]
  int strict_iterations = 60;   // with joints that hold exactly
  int moves = 50;               // of bones and joints, tried once their number is known
  bool free_joints = false;     // joints may leave the body where that lowers the error
  bool symmetric = false;       // hierarchy and joints must mirror each other, as the rest shape does
  bool uneven = false;          // joints stay where the motion has them even if they nearly mirror each other
  std::string root;             // name of the bone to become the root; empty or "auto": nearest the rest centroid
  int helpers = 0;              // free bones added at the end where the skeleton cannot follow, 0 to 1024
  bool drive_helpers = false;   // their motion as a sparse linear function of the joints' rotations: Rig::drives
  std::uint64_t seed = 1;
  int threads = 0;
  Checkpoint* checkpoint = nullptr;  // where the state is kept now and then
};

/// Skeletal rigging from example poses [Le2014 §3]: a joint hierarchy whose bones only rotate about joints fixed on
/// their parents (the root also translates), with sparse convex weights.
///
/// Follows the dissertation up to the soft joint constraints, then re-fits rotations, joints and weights under strict
/// ones, so that the error reported is that of the hierarchy as an animator gets it. Notation, derivation and where we
/// differ: docs/algorithms/skeleton.md. A sequence that never moves gives one bone and a remark.
/// Throws Error{input} as Sequence::check does and where a symmetric skeleton is asked for but the rest shape has no
/// mirror plane, Error{usage} for options out of range.
Rig solve_skeleton(const Sequence& sequence, const SkeletonOptions& options, FitReport& report,
                   const Progress& progress = {});

/// Fits a given hierarchy instead of finding one: bones, names and parents stay; joint positions, weights and rotations
/// are refined under strict joints. The motion of the given rig is the start where it has as many frames.
/// Throws Error{input} when the rig has more than one root or other vertices than the sequence.
Rig refit_skeleton(const Sequence& sequence, const Rig& given, const SkeletonOptions& options, FitReport& report,
                   const Progress& progress = {});

/// Fits the motion alone: rotations about the joints of the given hierarchy and the root's way; bones, joints and
/// weights stay. Throws as refit_skeleton does.
Rig refit_joint_rotations(const Sequence& sequence, const Rig& given, const SkeletonOptions& options, FitReport& report,
                          const Progress& progress = {});

}  // namespace sinew
