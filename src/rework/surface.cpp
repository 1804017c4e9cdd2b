#include "rework/surface.h"

#include <Eigen/Geometry>

namespace sinew {

Eigen::Matrix3Xd unit_normals(const Eigen::Matrix3Xd& positions, const std::vector<Index>& triangles) {
  Eigen::Matrix3Xd out = Eigen::Matrix3Xd::Zero(3, positions.cols());
  for (std::size_t t = 0; t + 2 < triangles.size(); t += 3) {
    const Eigen::Vector3d a = positions.col(triangles[t]);
    const Eigen::Vector3d area = (positions.col(triangles[t + 1]) - a).cross(positions.col(triangles[t + 2]) - a);
    for (std::size_t i = 0; i < 3; ++i) out.col(triangles[t + i]) += area;
  }
  for (Eigen::Index v = 0; v < out.cols(); ++v) {
    const double length = out.col(v).norm();
    if (length > 0) out.col(v) /= length;
  }
  return out;
}

}  // namespace sinew
