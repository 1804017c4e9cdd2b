#pragma once

#include <vector>

#include "solve/lbs/weights_pass.h"

/// Weights of some vertices, and motions of some frames, that stand for all.
namespace sinew::lbs {

SparseWeights weights_at(const SparseWeights& weights, const std::vector<Index>& chosen);

/// Weights of chosen vertices handed on to the vertices nearest to them along the mesh; a vertex that none of them
/// reaches is left empty, and then starts from its best single bone.
SparseWeights spread_weights(const Adjacency& adjacency, const std::vector<Index>& chosen, const SparseWeights& part);

/// The motions D in some frames, and motions of all frames from those: a frame that is not among them moves as the
/// nearest one does beside the common motion.
Eigen::MatrixXd motions_at(const Eigen::MatrixXd& D, const std::vector<Index>& frames);
Eigen::MatrixXd spread_motions(const Problem& problem, const std::vector<Index>& frames, const Eigen::MatrixXd& part);

}  // namespace sinew::lbs
