#pragma once

#include <Eigen/Core>
#include <vector>

#include "sinew/core/rig.h"

/// Which bones each slider moves, and how: the half-step of the map for given weights.
namespace sinew::blendshapes {

/// What vertices leave for the map, with x_v = w_v ⊗ (u_v, 1) and z_s,v how far slider s moves vertex v.
struct MapSums {
  Eigen::MatrixXd S;         // 4B×4B = Σ x xᵀ
  Eigen::MatrixXd C;         // 3S×4B = Σ z xᵀ
  Eigen::Matrix3Xd centers;  // 3×B: what bones turn about
  double total = 0;          // Σ |z|²

  int bones() const { return static_cast<int>(S.rows() / 4); }
  int sliders() const { return static_cast<int>(C.rows() / 3); }
};

/// Transforms by slider and bone, minus the identity; blocks outside the support are zero.
struct SparseMap {
  Eigen::MatrixXd E;                       // 3S×4B
  std::vector<std::vector<bool>> support;  // S of B

  std::size_t size() const;  // of the support
};

/// Σ_s,v |z − E x|².
double objective(const MapSums& sums, const Eigen::MatrixXd& E);

/// A support of `count` pairs by a proximal method: accelerated gradient steps on ‖Z − E X‖² + λ Σ ‖block‖, each
/// followed by the shrinkage of the blocks, λ falling until so many are left. Rigid bones count as they turn a little.
std::vector<std::vector<bool>> proximal_support(const MapSums& sums, Transforms transforms, std::size_t count);

/// Pairs leave the support for others that lower the objective more, one for one, while that pays.
void exchange_pairs(const MapSums& sums, Transforms transforms, std::vector<std::vector<bool>>& support);

/// The best transforms on a support: affine ones in closed form, rigid ones by Gauss-Newton steps from where they are.
/// No slider is left worse than it was, unless it has lost a pair.
void refit(const MapSums& sums, Transforms transforms, SparseMap& map);

/// Moves the transforms of pairs that were there before on by `share` of the way from there to here; rigid ones stay
/// so.
void extrapolate(const MapSums& sums, const SparseMap& before, double share, Transforms transforms, SparseMap& map);

}  // namespace sinew::blendshapes
