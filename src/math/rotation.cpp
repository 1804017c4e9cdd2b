#include "math/rotation.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <cmath>

namespace sinew {
namespace {

/// Largest |N q − λ q| relative to |N| that the fast path may leave.
constexpr double kResidual = 1e-14;

using Matrix4 = Eigen::Matrix4d;
using Vector4 = Eigen::Vector4d;

/// Horn's matrix: qᵀ N q = tr(R(q)ᵀ H) for a unit quaternion q = (w, x, y, z).
Matrix4 horn_matrix(const Eigen::Matrix3d& H) {
  Matrix4 N;
  N(0, 0) = H(0, 0) + H(1, 1) + H(2, 2);
  N(1, 1) = H(0, 0) - H(1, 1) - H(2, 2);
  N(2, 2) = -H(0, 0) + H(1, 1) - H(2, 2);
  N(3, 3) = -H(0, 0) - H(1, 1) + H(2, 2);
  N(0, 1) = N(1, 0) = H(2, 1) - H(1, 2);
  N(0, 2) = N(2, 0) = H(0, 2) - H(2, 0);
  N(0, 3) = N(3, 0) = H(1, 0) - H(0, 1);
  N(1, 2) = N(2, 1) = H(0, 1) + H(1, 0);
  N(1, 3) = N(3, 1) = H(0, 2) + H(2, 0);
  N(2, 3) = N(3, 2) = H(1, 2) + H(2, 1);
  return N;
}

/// Largest root of the characteristic polynomial λ⁴ + c2 λ² + c1 λ + c0 by Newton from above, where it converges
/// monotonically [Theobald 2005].
double largest_eigenvalue(const Eigen::Matrix3d& H, const Matrix4& N) {
  const double norm2 = H.squaredNorm();
  const double c2 = -2 * norm2;
  const double c1 = -8 * H.determinant();
  const double c0 = N.determinant();
  double lambda = std::sqrt(3 * norm2);
  for (int step = 0; step < 50; ++step) {
    const double l2 = lambda * lambda;
    const double value = l2 * l2 + c2 * l2 + c1 * lambda + c0;
    const double slope = 4 * l2 * lambda + 2 * c2 * lambda + c1;
    if (!(slope > 0)) break;
    const double next = lambda - value / slope;
    if (std::abs(next - lambda) <= 1e-13 * lambda) return next;
    lambda = next;
  }
  return lambda;
}

/// Column of the adjugate of N − λ I with the largest norm: the eigenvector of a simple eigenvalue.
Vector4 eigenvector(Matrix4 N, double lambda) {
  N.diagonal().array() -= lambda;
  // 2×2 minors of the upper and the lower two rows; each column of the adjugate is made from them.
  const auto minor2 = [&N](int r, int a, int b) { return N(r, a) * N(r + 1, b) - N(r, b) * N(r + 1, a); };
  const double s01 = minor2(0, 0, 1), s02 = minor2(0, 0, 2), s03 = minor2(0, 0, 3);
  const double s12 = minor2(0, 1, 2), s13 = minor2(0, 1, 3), s23 = minor2(0, 2, 3);
  const double t01 = minor2(2, 0, 1), t02 = minor2(2, 0, 2), t03 = minor2(2, 0, 3);
  const double t12 = minor2(2, 1, 2), t13 = minor2(2, 1, 3), t23 = minor2(2, 2, 3);
  Matrix4 A;
  A.col(0) << N(1, 1) * t23 - N(1, 2) * t13 + N(1, 3) * t12, -N(1, 0) * t23 + N(1, 2) * t03 - N(1, 3) * t02,
      N(1, 0) * t13 - N(1, 1) * t03 + N(1, 3) * t01, -N(1, 0) * t12 + N(1, 1) * t02 - N(1, 2) * t01;
  A.col(1) << -N(0, 1) * t23 + N(0, 2) * t13 - N(0, 3) * t12, N(0, 0) * t23 - N(0, 2) * t03 + N(0, 3) * t02,
      -N(0, 0) * t13 + N(0, 1) * t03 - N(0, 3) * t01, N(0, 0) * t12 - N(0, 1) * t02 + N(0, 2) * t01;
  A.col(2) << N(3, 1) * s23 - N(3, 2) * s13 + N(3, 3) * s12, -N(3, 0) * s23 + N(3, 2) * s03 - N(3, 3) * s02,
      N(3, 0) * s13 - N(3, 1) * s03 + N(3, 3) * s01, -N(3, 0) * s12 + N(3, 1) * s02 - N(3, 2) * s01;
  A.col(3) << -N(2, 1) * s23 + N(2, 2) * s13 - N(2, 3) * s12, N(2, 0) * s23 - N(2, 2) * s03 + N(2, 3) * s02,
      -N(2, 0) * s13 + N(2, 1) * s03 - N(2, 3) * s01, N(2, 0) * s12 - N(2, 1) * s02 + N(2, 2) * s01;
  Eigen::Index best = 0;
  A.colwise().squaredNorm().maxCoeff(&best);
  return A.col(best).normalized();
}

/// Eigenvector of the largest eigenvalue by cyclic Jacobi: slower, but right for any multiplicity.
Vector4 eigenvector_by_jacobi(Matrix4 N) {
  Matrix4 Q = Matrix4::Identity();
  for (int sweep = 0; sweep < 30; ++sweep) {
    double off = 0;
    for (int p = 0; p < 4; ++p) {
      for (int q = p + 1; q < 4; ++q) off += N(p, q) * N(p, q);
    }
    if (off <= 1e-34 * N.squaredNorm()) break;
    for (int p = 0; p < 4; ++p) {
      for (int q = p + 1; q < 4; ++q) {
        if (N(p, q) == 0) continue;
        const double theta = (N(q, q) - N(p, p)) / (2 * N(p, q));
        const double t = (theta >= 0 ? 1.0 : -1.0) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        const double c = 1 / std::sqrt(t * t + 1);
        const double s = t * c;
        const Vector4 column_p = N.col(p);
        N.col(p) = c * column_p - s * N.col(q);
        N.col(q) = s * column_p + c * N.col(q);
        const Eigen::RowVector4d row_p = N.row(p);
        N.row(p) = c * row_p - s * N.row(q);
        N.row(q) = s * row_p + c * N.row(q);
        const Vector4 q_p = Q.col(p);
        Q.col(p) = c * q_p - s * Q.col(q);
        Q.col(q) = s * q_p + c * Q.col(q);
      }
    }
  }
  Eigen::Index best = 0;
  N.diagonal().maxCoeff(&best);
  return Q.col(best).normalized();
}

}  // namespace

Eigen::Matrix3d closest_rotation(const Eigen::Matrix3d& H) {
  const double scale = H.cwiseAbs().maxCoeff();
  if (!(scale > 0) || !std::isfinite(scale)) return Eigen::Matrix3d::Identity();
  const Eigen::Matrix3d unit = H / scale;
  const Matrix4 N = horn_matrix(unit);
  const double lambda = largest_eigenvalue(unit, N);
  Vector4 q = eigenvector(N, lambda);
  // A double root (λ − σ2 + σ3 = 0 and the like) makes the adjugate vanish: take the slow, safe way there.
  if (!(((N * q) - lambda * q).cwiseAbs().maxCoeff() <= kResidual * std::abs(lambda))) q = eigenvector_by_jacobi(N);
  return Eigen::Quaterniond(q[0], q[1], q[2], q[3]).normalized().toRotationMatrix();
}

Eigen::Matrix3d closest_rotation(const Eigen::Matrix3d& H, const Eigen::Matrix3d& previous) {
  const double norm = H.norm();
  if (!(norm > 0) || !std::isfinite(norm)) return previous;
  return closest_rotation(Eigen::Matrix3d(H + (1e-9 * norm) * previous));
}

double rotation_angle(const Eigen::Matrix3d& A, const Eigen::Matrix3d& B) {
  // atan2 of sine and cosine keeps full precision near 0 and near pi, where acos of the trace does not.
  const Eigen::Matrix3d D = A.transpose() * B;
  const Eigen::Vector3d axis(D(2, 1) - D(1, 2), D(0, 2) - D(2, 0), D(1, 0) - D(0, 1));
  return std::atan2(axis.norm() / 2, (D.trace() - 1) / 2);
}

RigidFit fit_rigid(const Eigen::Vector3d& sum_p, const Eigen::Vector3d& sum_q, const Eigen::Matrix3d& sum_qp,
                   double sum_w) {
  RigidFit fit;
  if (!(sum_w > 0)) return fit;
  fit.R = closest_rotation(sum_qp - sum_q * sum_p.transpose() / sum_w);
  fit.t = (sum_q - fit.R * sum_p) / sum_w;
  return fit;
}

}  // namespace sinew
