#pragma once

#include <cstdint>

#include "sinew/core/fit_report.h"
#include "sinew/solve/flats.h"
#include "solve/flats/gauss_newton.h"
#include "solve/flats/one_rings.h"

namespace sinew::flats {

/// A flat with the places of the vertices on it.
struct FoundFlat {
  Eigen::MatrixXd theta;
  FlatFit fit;
  FlatTrace trace;
};

/// The best flat of `handles` handles that the options' solver and number of starts reach.
FoundFlat search_flat(const FlatProblem& problem, const VertexMaps& maps, int handles, const FlatsOptions& options,
                      const Progress& progress);

/// Improves a given flat by the options' solver.
FoundFlat improve_flat(const FlatProblem& problem, Eigen::MatrixXd theta, const FlatsOptions& options,
                       const Progress& progress);

}  // namespace sinew::flats
