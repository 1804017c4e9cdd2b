#pragma once

#include "sinew/core/types.h"

namespace sinew {

/// Smallest sphere that encloses a set of points, exact up to rounding.
struct Sphere {
  Eigen::Vector3d center = Eigen::Vector3d::Zero();
  double radius = 0;
};
Sphere smallest_enclosing_sphere(const Eigen::Ref<const Points>& points);

/// Length of the diagonal of the axis-aligned bounding box; 0 for no points.
double bounding_box_diagonal(const Eigen::Ref<const Points>& points);

}  // namespace sinew
