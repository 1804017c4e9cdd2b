#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

/// Triangles against rays, points and each other, in double.
namespace sinew::runtime {

using Point = std::array<double, 3>;
using Triangle = std::array<Point, 3>;

inline Point operator-(const Point& a, const Point& b) {
  return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}

inline double dot(const Point& a, const Point& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

inline Point cross(const Point& a, const Point& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

/// t where from + t·along meets a triangle, t >= 0, from either side; infinity where it does not [MollerTrumbore1997].
inline double meets_ray(const Triangle& x, const Point& from, const Point& along, Point& weights) {
  constexpr double none = std::numeric_limits<double>::infinity();
  const Point u = x[1] - x[0];
  const Point v = x[2] - x[0];
  const Point p = cross(along, v);
  const double determinant = dot(u, p);
  if (determinant == 0) return none;
  const Point s = from - x[0];
  const double b = dot(s, p) / determinant;
  const Point q = cross(s, u);
  const double c = dot(along, q) / determinant;
  const double t = dot(v, q) / determinant;
  if (!(b >= 0 && c >= 0 && b + c <= 1 && t >= 0)) return none;
  weights = {1 - b - c, b, c};
  return t;
}

/// Squared distance of a point to a triangle, and the shares of the corners in the point nearest to it [Ericson 2005].
inline double squared_distance(const Triangle& x, const Point& at, Point& weights) {
  const Point u = x[1] - x[0];
  const Point v = x[2] - x[0];
  const Point n = cross(u, v);
  const double area = dot(n, n);
  const Point away = at - x[0];
  if (area > 0) {
    const double c = dot(cross(u, away), n) / area;
    const double b = dot(cross(away, v), n) / area;
    if (b >= 0 && c >= 0 && b + c <= 1) {
      weights = {1 - b - c, b, c};
      const double height = dot(away, n);
      return height * height / area;
    }
  }
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t k = (i + 1) % 3;
    const Point edge = x[k] - x[i];
    const Point to = at - x[i];
    const double length = dot(edge, edge);
    const double along = length > 0 ? std::clamp(dot(to, edge) / length, 0.0, 1.0) : 0.0;
    const Point gap = to - Point{along * edge[0], along * edge[1], along * edge[2]};
    const double squared = dot(gap, gap);
    if (squared >= least) continue;
    least = squared;
    weights = {0, 0, 0};
    weights[i] = 1 - along;
    weights[k] += along;
  }
  return least;
}

/// Whether the triangles have disjoint shadows on an axis.
inline bool separates(const Point& axis, const Triangle& a, const Triangle& b) {
  const double a0 = dot(axis, a[0]);
  const double a1 = dot(axis, a[1]);
  const double a2 = dot(axis, a[2]);
  const double b0 = dot(axis, b[0]);
  const double b1 = dot(axis, b[1]);
  const double b2 = dot(axis, b[2]);
  return std::max({a0, a1, a2}) < std::min({b0, b1, b2}) || std::max({b0, b1, b2}) < std::min({a0, a1, a2});
}

/// Whether two triangles meet: no axis keeps them apart.
inline bool meet(const Triangle& a, const Triangle& b) {
  const Triangle one{a[1] - a[0], a[2] - a[1], a[0] - a[2]};
  const Triangle other{b[1] - b[0], b[2] - b[1], b[0] - b[2]};
  const Point n = cross(one[0], one[1]);
  const Point m = cross(other[0], other[1]);
  if (separates(n, a, b) || separates(m, a, b)) return false;
  for (std::size_t i = 0; i < 3; ++i) {
    if (separates(cross(n, one[i]), a, b) || separates(cross(m, other[i]), a, b)) return false;
    for (std::size_t k = 0; k < 3; ++k)
      if (separates(cross(one[i], other[k]), a, b)) return false;
  }
  return true;
}

}  // namespace sinew::runtime
