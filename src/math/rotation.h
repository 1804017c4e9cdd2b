#pragma once

#include <Eigen/Core>

namespace sinew {

/// The rotation R (det +1) that maximises tr(Rᵀ H): the closest one to H, and the best fit of Σ |q − R p|² for
/// H = Σ q pᵀ [Horn 1987]. Never fails: for a rank-deficient H it returns one of the optimal rotations, for H = 0 the
/// identity. Orthonormal to a few ulp.
Eigen::Matrix3d closest_rotation(const Eigen::Matrix3d& H);

/// The same where H may leave directions undetermined (a bone on a line, a point or nothing): among near-optimal
/// rotations it prefers the one close to `previous`, by adding 1e-9 · |H| · previous (or `previous` itself for H = 0).
/// Never worse than `previous` in tr(Rᵀ H) by more than rounding.
Eigen::Matrix3d closest_rotation(const Eigen::Matrix3d& H, const Eigen::Matrix3d& previous);

/// Angle between two rotations, in radians.
double rotation_angle(const Eigen::Matrix3d& A, const Eigen::Matrix3d& B);

/// A rigid motion x ↦ R x + t.
struct RigidFit {
  Eigen::Matrix3d R = Eigen::Matrix3d::Identity();
  Eigen::Vector3d t = Eigen::Vector3d::Zero();
};

/// Best rigid motion for the moments of weighted pairs: Σ w p, Σ w q, Σ w q pᵀ, Σ w. For Σ w = 0 the identity.
RigidFit fit_rigid(const Eigen::Vector3d& sum_p, const Eigen::Vector3d& sum_q, const Eigen::Matrix3d& sum_qp,
                   double sum_w);

}  // namespace sinew
