#pragma once

#include <cstddef>
#include <string_view>

#include "sinew/core/quality.h"

namespace sinew {

/// What a solve is asked for, as far as its costs depend on it.
struct SolveSize {
  std::size_t vertices = 0;
  std::size_t triangles = 0;  // after fans
  std::size_t frames = 0;
  int bones = 20;
  int influences = 4;  // 0: dense
  Quality quality = Quality::balanced;
  int threads = 1;  // >= 1
  // Of skeletons only.
  bool open_number = false;  // of bones: it is looked for, starting from `bones` clusters
  bool symmetric = false;    // the frames and their mirror images are solved together
};

/// What `sinew solve` needs from reading the sequence to having evaluated the written file.
struct SolveEstimate {
  double bytes = 0;    // most memory at a time: an upper bound, tested (docs/limits.md)
  double seconds = 0;  // within a factor of about three on a processor of today; the data decide how soon it converges
  double cpu_seconds = 0;  // the same of all threads together
  // Of frames that stay in a file (Paging) only.
  double scratch = 0;  // bytes of scratch files beside them: an upper bound
  int passes = 0;      // over the frames, checking and evaluating them included
};

/// Estimate for a method of the command line: ssdr, kavan, flats, skeleton, sma or clusters. The formulas are those of
/// docs/limits.md. Throws Error{usage} for another name.
SolveEstimate estimate_solve(std::string_view method, const SolveSize& size);

/// The same where the frames stay in a file and `memory` bytes are for parts of them: most of it comes on top of that.
SolveEstimate estimate_paged(std::string_view method, const SolveSize& size, double memory);

/// Whether a method can do that; the others hold the frames in memory.
bool solves_paged(std::string_view method);

}  // namespace sinew
