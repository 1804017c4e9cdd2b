#include "math/surface_tree.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace sinew {
namespace {

constexpr std::uint32_t kLeaf = 8;  // triangles
constexpr double kFar = 3;          // radii of a node from which it is seen as one dipole

/// Solid angle of a triangle [van Oosterom and Strackee 1983].
double solid_angle(const Eigen::Matrix3d& triangle, const Eigen::Vector3d& x) {
  const Eigen::Vector3d a = triangle.col(0) - x;
  const Eigen::Vector3d b = triangle.col(1) - x;
  const Eigen::Vector3d c = triangle.col(2) - x;
  const double la = a.norm();
  const double lb = b.norm();
  const double lc = c.norm();
  const double y = a.dot(b.cross(c));
  const double w = la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb;
  return 2 * std::atan2(y, w);
}

double squared_distance(const Eigen::Vector3d& low, const Eigen::Vector3d& high, const Eigen::Vector3d& x) {
  return (low - x).cwiseMax(x - high).cwiseMax(0).squaredNorm();
}

}  // namespace

Eigen::Vector3d nearest_on(const Eigen::Matrix3d& triangle, const Eigen::Vector3d& x) {
  const Eigen::Vector3d normal =
      (triangle.col(1) - triangle.col(0)).cross(Eigen::Vector3d(triangle.col(2) - triangle.col(0)));
  bool within = true;
  Eigen::Vector3d best = triangle.col(0);
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 3; ++i) {
    const Eigen::Vector3d from = triangle.col(i);
    const Eigen::Vector3d edge = triangle.col((i + 1) % 3) - from;
    within = within && normal.cross(edge).dot(x - from) >= 0;
    const double along = std::clamp((x - from).dot(edge) / std::max(edge.squaredNorm(), 1e-300), 0.0, 1.0);
    const Eigen::Vector3d on = from + along * edge;
    if (const double away = (on - x).squaredNorm(); away < least) {
      least = away;
      best = on;
    }
  }
  if (!within) return best;
  return x - normal * (normal.dot(x - triangle.col(0)) / normal.squaredNorm());
}

Eigen::Vector3d shares_on(const Eigen::Matrix3d& triangle, const Eigen::Vector3d& on) {
  Eigen::Vector3d out;
  const Eigen::Vector3d normal =
      (triangle.col(1) - triangle.col(0)).cross(Eigen::Vector3d(triangle.col(2) - triangle.col(0)));
  for (int i = 0; i < 3; ++i)
    out[i] = normal.dot((triangle.col((i + 1) % 3) - on).cross(Eigen::Vector3d(triangle.col((i + 2) % 3) - on)));
  out = out.cwiseMax(0);
  return out.sum() > 0 ? Eigen::Vector3d(out / out.sum()) : Eigen::Vector3d(Eigen::Vector3d::UnitX());
}

SurfaceTree::SurfaceTree(const Eigen::Matrix3Xd& positions, const std::vector<Index>& triangles) {
  for (std::size_t t = 0; t + 2 < triangles.size(); t += 3) {
    Eigen::Matrix3d corners;
    for (std::size_t i = 0; i < 3; ++i) corners.col(static_cast<Eigen::Index>(i)) = positions.col(triangles[t + i]);
    const Eigen::Vector3d area =
        (corners.col(1) - corners.col(0)).cross(Eigen::Vector3d(corners.col(2) - corners.col(0)));
    if (area.squaredNorm() > 0) triangles_.push_back({corners, t / 3});
  }
  if (!triangles_.empty()) build(0, static_cast<std::uint32_t>(triangles_.size()));
}

void SurfaceTree::summarise(Node& node) const {
  node.low.setConstant(std::numeric_limits<double>::infinity());
  node.high = -node.low;
  node.centre.setZero();
  node.normal.setZero();
  double total = 0;
  for (std::uint32_t t = node.first; t < node.last; ++t) {
    const Eigen::Matrix3d& c = triangles_[t].corners;
    const Eigen::Vector3d area = 0.5 * (c.col(1) - c.col(0)).cross(Eigen::Vector3d(c.col(2) - c.col(0)));
    node.low = node.low.cwiseMin(c.rowwise().minCoeff());
    node.high = node.high.cwiseMax(c.rowwise().maxCoeff());
    node.centre += area.norm() * c.rowwise().mean();
    node.normal += area;
    total += area.norm();
  }
  node.centre /= total;
  node.radius = 0;
  for (std::uint32_t t = node.first; t < node.last; ++t)
    node.radius = std::max(node.radius, (triangles_[t].corners.colwise() - node.centre).colwise().norm().maxCoeff());
}

std::uint32_t SurfaceTree::build(std::uint32_t first, std::uint32_t last) {
  const auto number = static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back({});
  Node node{};
  node.first = first;
  node.last = last;
  summarise(node);
  nodes_[number] = node;
  if (last - first <= kLeaf) return number;
  Eigen::Index axis = 0;
  (node.high - node.low).maxCoeff(&axis);
  const auto begin = triangles_.begin();
  const std::uint32_t middle = first + (last - first) / 2;
  std::nth_element(begin + first, begin + middle, begin + last, [&](const Triangle& a, const Triangle& b) {
    return a.corners.row(axis).sum() < b.corners.row(axis).sum();
  });
  build(first, middle);
  const std::uint32_t right = build(middle, last);
  nodes_[number].right = right;
  return number;
}

double SurfaceTree::winding(const Eigen::Vector3d& x) const {
  if (nodes_.empty()) return 0;
  double sum = 0;
  std::array<std::uint32_t, 64> stack{};
  std::size_t depth = 1;
  while (depth > 0) {
    const std::uint32_t number = stack[--depth];
    const Node& node = nodes_[number];
    const Eigen::Vector3d to = node.centre - x;
    const double away = to.norm();
    if (away > kFar * node.radius) {
      sum += to.dot(node.normal) / (away * away * away);
    } else if (node.right == 0) {
      for (std::uint32_t t = node.first; t < node.last; ++t) sum += solid_angle(triangles_[t].corners, x);
    } else {
      stack[depth++] = node.right;
      stack[depth++] = number + 1;
    }
  }
  return sum / (4 * std::numbers::pi);
}

SurfaceTree::Place SurfaceTree::closest(const Eigen::Vector3d& x) const {
  Place best;
  best.point = x;
  if (nodes_.empty()) return best;
  std::uint32_t found = 0;
  double least = std::numeric_limits<double>::infinity();
  std::array<std::uint32_t, 64> stack{};
  std::size_t depth = 1;
  while (depth > 0) {
    const std::uint32_t number = stack[--depth];
    const Node& node = nodes_[number];
    if (squared_distance(node.low, node.high, x) >= least) continue;
    if (node.right == 0) {
      for (std::uint32_t t = node.first; t < node.last; ++t) {
        const Eigen::Vector3d on = nearest_on(triangles_[t].corners, x);
        if (const double away = (on - x).squaredNorm(); away < least) {
          least = away;
          best.point = on;
          found = t;
        }
      }
      continue;
    }
    const std::uint32_t left = number + 1;
    const bool left_first = squared_distance(nodes_[left].low, nodes_[left].high, x) <=
                            squared_distance(nodes_[node.right].low, nodes_[node.right].high, x);
    stack[depth++] = left_first ? node.right : left;
    stack[depth++] = left_first ? left : node.right;
  }
  best.triangle = triangles_[found].number;
  best.weights = shares_on(triangles_[found].corners, best.point);
  return best;
}

}  // namespace sinew
