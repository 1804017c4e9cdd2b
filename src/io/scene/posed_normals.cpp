#include "io/scene/posed_normals.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <utility>

namespace sinew {
namespace {

/// Rotation whose columns are the edge made perpendicular to the area vector, a third direction, and the area vector.
/// False when faces without area or an edge along the area vector leave it open.
bool orthonormal_frame(const Eigen::Vector3d& area, const Eigen::Vector3d& edge, Eigen::Matrix3d& frame) {
  constexpr double kParallel = 1e-9;  // of the edge's length that must remain
  const double area_norm = area.norm();
  if (!(area_norm > 0)) return false;
  const Eigen::Vector3d n = area / area_norm;
  const Eigen::Vector3d t = edge - n.dot(edge) * n;
  const double t_norm = t.norm();
  if (!(t_norm > kParallel * edge.norm())) return false;
  frame.col(0) = t / t_norm;
  frame.col(1) = n.cross(frame.col(0));
  frame.col(2) = n;
  return true;
}

}  // namespace

Eigen::Vector3d area_vector(const ConstPointsMap& positions, std::span<const Index> corners) {
  const auto point = [&](std::size_t k) -> Eigen::Vector3d { return positions.col(corners[k]).cast<double>(); };
  Eigen::Vector3d area = Eigen::Vector3d::Zero();
  for (std::size_t k = 1; k + 1 < corners.size(); ++k) area += (point(k) - point(0)).cross(point(k + 1) - point(0));
  return area;
}

PosedNormals::PosedNormals(const Mesh& rest, std::size_t first_face, std::size_t faces, std::size_t first_corner) {
  const auto begin = rest.face_sizes.begin() + static_cast<std::ptrdiff_t>(first_face);
  face_sizes_.assign(begin, begin + static_cast<std::ptrdiff_t>(faces));
  std::size_t count = 0;
  for (const Index size : face_sizes_) count += size;
  // Ordered by normal, then vertex: reading such normals back finds the distinct ones in their old order.
  std::vector<std::pair<Index, Index>> pairs(count);
  for (std::size_t c = 0; c < count; ++c) {
    corners_.push_back(rest.corners[first_corner + c]);
    pairs[c] = {rest.normals.indices[first_corner + c], corners_.back()};
  }
  std::vector<std::pair<Index, Index>> distinct = pairs;
  std::ranges::sort(distinct);
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  for (const auto& pair : pairs)
    group_of_corner_.push_back(static_cast<Index>(std::ranges::lower_bound(distinct, pair) - distinct.begin()));
  for (const auto& [normal, vertex] : distinct)
    for (std::size_t k = 0; k < 3; ++k) rest_normals_.push_back(rest.normals.values[3 * normal + k]);
  edge_of_group_.resize(distinct.size());
  std::vector<bool> seen(distinct.size());
  std::size_t first = 0;
  for (const Index size : face_sizes_) {
    for (std::size_t k = 0; k < size; ++k) {
      const Index group = group_of_corner_[first + k];
      if (!seen[group]) edge_of_group_[group] = {corners_[first + k], corners_[first + (k + 1) % size]};
      seen[group] = true;
    }
    first += size;
  }
  rest_directions_ = group_directions({rest.positions.data(), 3, rest.positions.cols()});
}

PosedNormals::Directions PosedNormals::group_directions(const ConstPointsMap& positions) const {
  const auto groups = static_cast<Eigen::Index>(edge_of_group_.size());
  Directions out{Eigen::Matrix3Xd::Zero(3, groups), Eigen::Matrix3Xd(3, groups)};
  std::size_t first = 0;
  for (const Index size : face_sizes_) {
    const Eigen::Vector3d area = area_vector(positions, std::span(corners_).subspan(first, size));
    for (std::size_t k = 0; k < size; ++k) out.area.col(group_of_corner_[first + k]) += area;
    first += size;
  }
  for (Eigen::Index g = 0; g < groups; ++g) {
    const auto [from, to] = edge_of_group_[static_cast<std::size_t>(g)];
    out.edge.col(g) = positions.col(to).cast<double>() - positions.col(from).cast<double>();
  }
  return out;
}

std::vector<float> PosedNormals::pose(const ConstPointsMap& positions) const {
  const Directions directions = group_directions(positions);
  std::vector<float> out = rest_normals_;
  Eigen::Matrix3d before;
  Eigen::Matrix3d now;
  for (Eigen::Index g = 0; g < directions.area.cols(); ++g) {
    if (directions.area.col(g) == rest_directions_.area.col(g) &&
        directions.edge.col(g) == rest_directions_.edge.col(g))
      continue;
    // A group without a frame keeps its rest normal: there is nothing to follow.
    if (!orthonormal_frame(rest_directions_.area.col(g), rest_directions_.edge.col(g), before) ||
        !orthonormal_frame(directions.area.col(g), directions.edge.col(g), now))
      continue;
    Eigen::Map<Eigen::Vector3f> normal(out.data() + 3 * g);
    const Eigen::Vector3d turned = now * (before.transpose() * normal.cast<double>());
    normal = turned.normalized().cast<float>();
  }
  return out;
}

}  // namespace sinew
