#pragma once

#include "sinew/core/checkpoint.h"
#include "sinew/core/fit_report.h"
#include "sinew/core/progress.h"
#include "sinew/core/quality.h"
#include "sinew/core/rig.h"
#include "sinew/core/sequence.h"

namespace sinew {

struct ClustersOptions {
  int bones = 20;                    // asked for, >= 1; the report says how many came out
  int max_iterations = 10;           // rounds of assigning and fitting after every split, >= 0
  int threads = 0;                   // 0: all cores
  Checkpoint* checkpoint = nullptr;  // where the state is kept now and then
};

/// Rounds that a quality stands for; the other options stay.
void set_quality(ClustersOptions& options, Quality quality);

/// Cuts a mesh into parts that move rigidly, one bone per vertex: k-means on the error of rigid fits, grown by
/// splitting clusters in two [LindeBuzoGray1980], as skinning decompositions are started [LeDeng2012 §4.1].
///
/// Minimises sum_{f,v} |x(f,v) - R(f,b(v)) p(v) - t(f,b(v))|². The result is crude at joints, exact on rigid parts.
/// Throws Error{usage} for options out of range. Memory: 96·F·B + 16·V bytes beyond the input and the result.
Rig solve_clusters(const Sequence& sequence, const ClustersOptions& options, FitReport& report,
                   const Progress& progress = {});

}  // namespace sinew
