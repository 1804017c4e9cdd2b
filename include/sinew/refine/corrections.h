#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sinew/core/fit_report.h"
#include "sinew/core/progress.h"
#include "sinew/core/rig.h"
#include "sinew/core/sequence.h"

namespace sinew {

struct CorrectionOptions {
  int rank = 10;           // R >= 0; more than F frames are never needed
  double max_error = 0;    // > 0: instead the smallest rank whose E_RMS is <= this, at most min(F, max_rank)
  int max_rank = 200;      // of that search, >= 1
  bool normals = true;     // fit normal offsets to the same coefficients
  int iterations = 20;     // of the alternation in the pose; 0: the truncated SVD in the rest pose alone
  std::uint64_t seed = 1;  // of the randomised SVD
  int threads = 0;
};

struct CorrectionReport {
  std::size_t rank = 0;           // that came out, after targets without effect were dropped
  std::size_t dropped = 0;        // targets without effect
  std::size_t near_singular = 0;  // vertices whose blended transform can hardly be inverted in some frame
  std::vector<double> e_rms;      // before, then after every iteration
};

/// Corrections of the rest pose for a rig from any solver [JamesTwigg2005 §6; KryEtAl2002]: offsets Ũ and coefficients
/// q(f) such that T(f)(p̄ + Ũ q(f)) is close to the frames.
///
/// A truncated SVD of the residuals taken back to the rest pose starts an alternation that lowers the error where it
/// counts, in the pose; no iteration is worse than the one before. Components come in order of falling energy, scaled
/// so that their largest coefficient is 1. Derivation: docs/algorithms/corrections.md
/// Throws Error{input} when rig and sequence differ in vertices or frames or the rig has two layers, Error{usage} for
/// options out of range, Error{interrupted}.
Corrections fit_corrections(const Rig& rig, const Sequence& sequence, const CorrectionOptions& options,
                            CorrectionReport& report, const Progress& progress = {});

/// Gives a rig these corrections instead of those it has, and notes their rank. Throws as fit_corrections() does; the
/// rig has no corrections then.
CorrectionReport correct(Rig& rig, const Sequence& sequence, const CorrectionOptions& options,
                         const Progress& progress = {});

/// What came of it in one sentence, for people.
std::string sentence(const CorrectionReport& report);

/// correct() as the last step of a solve: its time and its sentence go into the report of the solve. Rank 0 adds
/// nothing.
void add_corrections(Rig& rig, const Sequence& sequence, const CorrectionOptions& options, FitReport& report,
                     const Progress& progress = {});

}  // namespace sinew
