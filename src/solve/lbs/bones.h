#pragma once

#include <cstdint>
#include <span>

#include "solve/lbs/weights_pass.h"

/// The half-step of the bones: their motion for given weights, from the sums that a pass over the vertices left.
namespace sinew::lbs {

struct BoneOptions {
  Transforms transforms = Transforms::rigid;
  int sweeps = 2;                        // rigid: rounds over the bones
  double stretch_cost = 1e-6;            // affine: cost of |A − closest rotation|², relative to the bone's weight
  std::span<const std::uint8_t> locked;  // B or empty: bones whose motion stays
};

/// A bone whose weights sum up to no more than this keeps its motion: nearly no vertex follows it.
double least_mass(const Problem& problem, std::size_t bones);

/// Improves every bone given the weights' sums: rigid ones one by one with blending [Le2014 §3.8.2], affine ones all at
/// once in closed form.
void update_bones(const Problem& problem, const WeightSums& sums, const BoneOptions& options, Eigen::MatrixXd& D);

/// Replaces the linear part of every block by the closest rotation, turning about the bone's own centre.
void make_rigid(const Problem& problem, const Eigen::MatrixXd& centers, Eigen::MatrixXd& D);

/// Σ w² u / Σ w² of every bone (3×B): the point its translation is independent of its rotation about.
Eigen::MatrixXd bone_centers(const WeightSums& sums);

}  // namespace sinew::lbs
