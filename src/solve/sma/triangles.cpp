#include "solve/sma/triangles.h"

#include <Eigen/Geometry>
#include <Eigen/LU>
#include <cmath>

#include "math/parallel.h"

namespace sinew::sma {

namespace {

constexpr std::size_t kTrianglesPerChunk = 256;
constexpr double kSliver = 1e-7;  // twice the area over the longest edge squared below which there is no plane

/// An orthonormal frame on a triangle, and its second and third corner in the plane.
struct TriangleFrame {
  Eigen::Matrix3d axes;    // first edge, in-plane normal of it, unit normal
  Eigen::Matrix2d corner;  // columns: corners 2 and 3 relative to corner 1
  double double_area = 0;
  bool flat = true;  // no area to speak of
};

template <class P>
TriangleFrame triangle_frame(const P& points, const std::array<Index, 3>& corners) {
  TriangleFrame frame;
  const Eigen::Vector3d origin = points.col(corners[0]).template cast<double>();
  const Eigen::Vector3d first = points.col(corners[1]).template cast<double>() - origin;
  const Eigen::Vector3d second = points.col(corners[2]).template cast<double>() - origin;
  const Eigen::Vector3d normal = first.cross(second);
  frame.double_area = normal.norm();
  const double longest = std::max({first.squaredNorm(), second.squaredNorm(), (second - first).squaredNorm()});
  frame.flat = !(frame.double_area > kSliver * longest);
  if (frame.flat) return frame;
  frame.axes.col(0) = first.normalized();
  frame.axes.col(2) = normal / frame.double_area;
  frame.axes.col(1) = frame.axes.col(2).cross(frame.axes.col(0));
  frame.corner << first.norm(), frame.axes.col(0).dot(second), 0, frame.axes.col(1).dot(second);
  return frame;
}

/// The rotation in the polar decomposition of the deformation gradient that takes `rest` to `posed` (§4.1). Normals go
/// to normals unstretched, so the gradient is a 2×2 map M in the planes, and its polar rotation has tangent
/// (M₁₀ − M₀₁) / (M₀₀ + M₁₁).
Eigen::Matrix3d rotation_between(const TriangleFrame& rest, const TriangleFrame& posed) {
  const Eigen::Matrix2d M = posed.corner * rest.corner.inverse();
  const Eigen::Vector2d turn = Eigen::Vector2d(M(0, 0) + M(1, 1), M(1, 0) - M(0, 1)).normalized();
  Eigen::Matrix3d R = Eigen::Matrix3d::Identity();
  R(0, 0) = R(1, 1) = turn[0];
  R(1, 0) = turn[1];
  R(0, 1) = -turn[1];
  return posed.axes * R * rest.axes.transpose();
}

}  // namespace

Triangles triangle_rotations(const Sequence& sequence, int threads) {
  const std::vector<Index> corners = triangles_of(sequence.rest);
  const std::size_t count = corners.size() / 3;
  const std::size_t frames = sequence.frame_count();
  PointRows rotations(static_cast<Eigen::Index>(count), static_cast<Eigen::Index>(9 * frames));
  std::vector<double> areas(count, 0);  // 0: degenerate
  const auto corners_of = [&](std::size_t j) {
    return std::array<Index, 3>{corners[3 * j], corners[3 * j + 1], corners[3 * j + 2]};
  };
  parallel_for(count, kTrianglesPerChunk, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t j = begin; j < end; ++j) {
      const TriangleFrame rest = triangle_frame(sequence.rest.positions, corners_of(j));
      bool usable = !rest.flat;
      for (std::size_t f = 0; f < frames && usable; ++f) {
        const TriangleFrame posed = triangle_frame(sequence.frames[f], corners_of(j));
        usable = !posed.flat;
        if (!usable) break;
        Eigen::Map<Eigen::Matrix<float, 3, 3, Eigen::RowMajor>>(
            &rotations(static_cast<Eigen::Index>(j), static_cast<Eigen::Index>(9 * f))) =
            rotation_between(rest, posed).cast<float>();
      }
      if (usable) areas[j] = rest.double_area / 2;
    }
  });

  Triangles out;
  std::size_t kept = 0;
  for (std::size_t j = 0; j < count; ++j) {
    if (areas[j] <= 0) continue;
    if (kept != j) rotations.row(static_cast<Eigen::Index>(kept)) = rotations.row(static_cast<Eigen::Index>(j));
    ++kept;
    out.corners.push_back(corners_of(j));
    out.areas.push_back(areas[j]);
  }
  out.degenerate = count - kept;
  rotations.conservativeResize(static_cast<Eigen::Index>(kept), Eigen::NoChange);
  out.rotations = std::move(rotations);
  return out;
}

}  // namespace sinew::sma
