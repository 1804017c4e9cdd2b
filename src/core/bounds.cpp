#include "sinew/core/bounds.h"

#include <Eigen/Dense>
#include <array>
#include <cmath>

/// The smallest enclosing sphere is determined by at most four points on its surface. As in the simplex method
/// [Welzl1991, Gaertner1999]: hold such a support, bring in the point that is farthest outside, and solve the problem
/// of the at most five points by looking at every subset. The radius grows with each step, so no support comes twice.
namespace sinew {
namespace {

constexpr double kSlack = 1e-12;  // a point is inside when distance <= radius·(1 + kSlack)
constexpr int kMaxSteps = 1000;   // rounding could make supports of equal radius alternate; a handful of steps is usual

struct Support {
  std::array<Eigen::Vector3d, 5> points;
  int size = 0;

  Support() { points.fill(Eigen::Vector3d::Zero()); }
};

/// The smallest sphere through all points of a subset: its centre lies in their affine hull. False when they are
/// affinely dependent.
bool circumsphere(const Support& subset, Sphere& out) {
  const int edges = subset.size - 1;
  out.center = subset.points[0];
  out.radius = 0;
  if (edges == 0) return true;
  Eigen::Matrix<double, Eigen::Dynamic, 3, 0, 3, 3> E(edges, 3);
  Eigen::Matrix<double, Eigen::Dynamic, 1, 0, 3, 1> half_squares(edges);
  for (int i = 0; i < edges; ++i) {
    const Eigen::Vector3d edge = subset.points[static_cast<std::size_t>(i) + 1] - subset.points[0];
    E.row(i) = edge.transpose();
    half_squares[i] = 0.5 * edge.squaredNorm();
  }
  const auto factors = E.completeOrthogonalDecomposition();
  if (factors.rank() < edges) return false;
  const Eigen::Vector3d offset = factors.solve(half_squares);  // of least norm: inside the affine hull
  out.center += offset;
  out.radius = offset.norm();
  return offset.allFinite();
}

bool encloses(const Sphere& sphere, const Support& points) {
  for (int i = 0; i < points.size; ++i)
    if ((points.points[static_cast<std::size_t>(i)] - sphere.center).norm() > sphere.radius * (1 + kSlack))
      return false;
  return true;
}

/// The smallest sphere that encloses at most five points, and the subset that determines it.
bool solve_small(const Support& all, Sphere& best, Support& best_support) {
  bool found = false;
  for (unsigned mask = 1; mask < (1U << all.size); ++mask) {
    Support subset;
    for (int i = 0; i < all.size; ++i)
      if ((mask >> i & 1U) != 0 && subset.size < 5)
        subset.points[static_cast<std::size_t>(subset.size++)] = all.points[static_cast<std::size_t>(i)];
    Sphere sphere;
    if (subset.size > 4 || !circumsphere(subset, sphere) || !encloses(sphere, all)) continue;
    if (found && sphere.radius >= best.radius) continue;
    found = true;
    best = sphere;
    best_support = subset;
  }
  return found;
}

}  // namespace

Sphere smallest_enclosing_sphere(const Eigen::Ref<const Points>& points) {
  Sphere sphere;
  if (points.cols() == 0) return sphere;
  const auto point = [&](Eigen::Index i) -> Eigen::Vector3d { return points.col(i).cast<double>(); };
  Support support;
  support.points[0] = point(0);
  support.size = 1;
  sphere.center = support.points[0];
  for (int step = 0; step < kMaxSteps; ++step) {
    Eigen::Index farthest = 0;
    double distance = -1;
    for (Eigen::Index i = 0; i < points.cols(); ++i) {
      const double d = (point(i) - sphere.center).norm();
      if (d > distance) {
        distance = d;
        farthest = i;
      }
    }
    if (distance <= sphere.radius * (1 + kSlack)) break;
    Support wider = support;
    wider.points[static_cast<std::size_t>(wider.size++)] = point(farthest);
    Sphere next;
    if (!solve_small(wider, next, support) || next.radius <= sphere.radius) {
      sphere.radius = distance;  // rounding is all that is left
      break;
    }
    sphere = next;
  }
  return sphere;
}

double bounding_box_diagonal(const Eigen::Ref<const Points>& points) {
  if (points.cols() == 0) return 0;
  return (points.rowwise().maxCoeff().cast<double>() - points.rowwise().minCoeff().cast<double>()).norm();
}

}  // namespace sinew
