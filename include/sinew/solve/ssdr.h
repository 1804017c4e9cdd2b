#pragma once

#include <cstdint>
#include <vector>

#include "sinew/core/checkpoint.h"
#include "sinew/core/device.h"
#include "sinew/core/fit_report.h"
#include "sinew/core/progress.h"
#include "sinew/core/quality.h"
#include "sinew/core/rig.h"
#include "sinew/core/sequence.h"

namespace sinew {

/// Where bones start: from parts of the mesh that move rigidly [LeDeng2012 §4.1], or from the corners of the flat that
/// is closest to all vertices [Liu2020], which needs the memory of solve_flats.
enum class Start { parts, flats };

/// Which Laplacian a smoothness term uses: edges weighed by how rigid they stay [Le2014 §3.7.2], or all alike.
enum class LaplacianKind { rigidness, graph };

struct SsdrOptions {
  int bones = 20;      // asked for, 1..1024; the report says how many came out and why if fewer
  int influences = 4;  // K, bones per vertex: 1..8; 0: any number (dense convex weights)
  Transforms transforms = Transforms::rigid;
  double smoothness = 0;  // strength of the Laplacian term, >= 0: (mean over frames of |error|²) + s·Σ l |w_a − w_b|²
  double surface = 0;  // >= 0: how much the residuals of neighbours are to agree, so that normals follow the frames
  LaplacianKind laplacian = LaplacianKind::rigidness;
  Start start = Start::parts;
  Quality quality = Quality::balanced;
  double time = 0;          // > 0: seconds that it may take, instead of what the quality says
  double work = 0;          // > 0: the same in units of work, for the same bits anywhere; the report says what was done
  int max_iterations = 0;   // of the last stage; 0: as the quality says
  double tolerance = 2e-5;  // stop when the value fell by less than tolerance · value over 4 iterations
  double max_error = 0;     // > 0: the smallest number of bones whose E_RMS is below this, instead of `bones`
  int min_bones = 1;        // bounds of that search
  int max_bones = 128;
  bool optimize_rest = false;  // move the rest pose as well [Kavan2010]; the rig then has its own rest positions
  std::uint64_t seed = 1;
  int threads = 0;                   // 0: all cores; the result does not depend on it
  Device device;                     // rounding differs between processors and GPUs, and so do their bits
  Checkpoint* checkpoint = nullptr;  // where the state is kept now and then
};

/// Smooth skinning decomposition [LeDeng2012], with rigid or affine bones.
///
/// Minimises sum_{f,v} |x(f,v) − sum_b w(v,b) T(f,b) p(v)|² over K-sparse convex weights and bone motions. Notation,
/// derivation and where we differ from the paper: docs/algorithms/ssdr.md
/// When `progress` asks to stop the best model so far is returned and the report says so.
/// Throws Error{usage} for options out of range, Error{input} for what Sequence::check refuses.
/// Memory: at most 0.5 · 12·F·V + 200 MB beyond the input.
Rig solve_ssdr(const Sequence& sequence, const SsdrOptions& options, FitReport& report, const Progress& progress = {});

/// What of a given rig is fitted anew.
enum class RefitPart { weights, motion, all };

/// A problem of which part is known: a rig made elsewhere, for the same mesh.
struct RefitOptions {
  RefitPart part = RefitPart::all;
  std::vector<Index> locked_bones;            // bones that keep the given motion
  std::vector<std::uint8_t> locked_vertices;  // V or empty: 1 where the given weights stay
  int add_bones = 0;                          // helper bones added where the error is largest
  SsdrOptions solver;                         // bones, max_error and the like are not used
};

/// Fits weights, motion or both of a given rig to a sequence, starting from it. The given motion is used where frame
/// counts agree; else (only possible when it is to be fitted and no bone is locked) the motion starts from the weights.
/// Bones keep their names and order; helpers come last. A hierarchy is not kept: the result has free bones.
/// Throws Error{input} when the rig does not belong to the sequence, Error{usage} for options that exclude each other.
Rig refit_ssdr(const Sequence& sequence, const Rig& given, const RefitOptions& options, FitReport& report,
               const Progress& progress = {});

}  // namespace sinew
