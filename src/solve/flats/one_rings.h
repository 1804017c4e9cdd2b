#pragma once

#include <vector>

#include "solve/flats/flat_problem.h"

/// Where the search for a flat starts: the affine maps of one-rings [Liu2020 §4.2].
namespace sinew::flats {

/// An affine map (4×r, column-major) per vertex, fitted to it and its one-ring [Liu2020 eq. 8].
struct VertexMaps {
  Eigen::MatrixXd maps;          // 4r×V
  std::vector<double> error;     // V: squared distances of the ring under its map
  std::vector<double> flatness;  // V: smallest over largest eigenvalue of the ring's covariance; 0: planar
};
VertexMaps fit_one_rings(const FlatProblem& problem, const Mesh& mesh, int threads);

/// The given fraction of the vertices with the smallest errors, best first, of those whose ring is not planar.
std::vector<std::size_t> best_maps(const VertexMaps& maps, double fraction, double min_flatness);

/// Mean and principal components of the chosen maps as a flat.
Eigen::MatrixXd flat_through(const VertexMaps& maps, const std::vector<std::size_t>& chosen, int handles);

}  // namespace sinew::flats
