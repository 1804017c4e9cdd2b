#pragma once

#include <Eigen/Core>

namespace sinew {

/// xᵀ A x + 2 bᵀ x + c: squared distances to planes, weighted by area.
struct Quadric {
  Eigen::Matrix3d A = Eigen::Matrix3d::Zero();
  Eigen::Vector3d b = Eigen::Vector3d::Zero();
  double c = 0;

  /// The plane through `point` with unit normal `normal`.
  void add_plane(const Eigen::Vector3d& normal, const Eigen::Vector3d& point, double weight) {
    const double offset = -normal.dot(point);
    A += weight * normal * normal.transpose();
    b += weight * offset * normal;
    c += weight * offset * offset;
  }
  Quadric& operator+=(const Quadric& other) {
    A += other.A;
    b += other.b;
    c += other.c;
    return *this;
  }
  double operator()(const Eigen::Vector3d& x) const { return x.dot(A * x) + 2 * b.dot(x) + c; }
};

/// Squared differences of n values at a place from what they are on the planes of their triangles [Hoppe 1999]: over a
/// triangle value k is g_k · (p, 1).
struct ValueQuadric {
  Eigen::Matrix4d square = Eigen::Matrix4d::Zero();  // Σ area Σ_k λ_k g_k g_kᵀ
  Eigen::Matrix4Xd sum;                              // 4×n: Σ area g_k
  double area = 0;

  explicit ValueQuadric(Eigen::Index values) : sum(Eigen::Matrix4Xd::Zero(4, values)) {}

  ValueQuadric& operator+=(const ValueQuadric& other) {
    square += other.square;
    sum += other.sum;
    area += other.area;
    return *this;
  }
  /// The values that fit best at a place.
  Eigen::VectorXd best(const Eigen::Vector3d& p) const {
    return sum.transpose() * p.homogeneous() / (area > 0 ? area : 1);
  }
  /// The quadric of the place alone, values at their best. `scale` is λ.
  Quadric open(const Eigen::VectorXd& scale) const {
    Eigen::Matrix4d m = square;
    if (area > 0) m -= sum * scale.asDiagonal() * sum.transpose() / area;
    return {m.topLeftCorner<3, 3>(), m.topRightCorner<3, 1>(), m(3, 3)};
  }
  /// What given values cost at a place.
  double cost(const Eigen::Vector3d& p, const Eigen::VectorXd& values, const Eigen::VectorXd& scale) const {
    const Eigen::Vector4d x = p.homogeneous();
    return x.dot(square * x) - 2 * (scale.cwiseProduct(values)).dot(sum.transpose() * x) +
           area * values.dot(scale.cwiseProduct(values));
  }
};

}  // namespace sinew
