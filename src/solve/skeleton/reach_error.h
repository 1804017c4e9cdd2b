#pragma once

#include "solve/skeleton/start.h"

namespace sinew::skeleton {

/// Few bones that leave at most an E_RMS; `bones` are started with, then ever more. False: asked to stop.
bool reach_error(const Whole& whole, const SkeletonOptions& options, int bones, double e_rms, const Progress& progress,
                 const SkeletonFit& empty, SkeletonFit& fit);

}  // namespace sinew::skeleton
