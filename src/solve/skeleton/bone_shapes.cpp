#include "solve/skeleton/bone_shapes.h"

#include <Eigen/Geometry>
#include <algorithm>

#include "core/index.h"

namespace sinew::skeleton {
namespace {

constexpr float kMostly = 0.5F;     // of a vertex
constexpr double kOutermost = 0.9;  // of the reach, from which on it is the tip
constexpr double kStray = 0.02;     // of what a bone moves, that may be further out than its tip
constexpr int kSamples = 16;        // of a line, to see how much of it is in the body
constexpr double kWayInside = 0.9;  // of the line to the tip must be in the body
constexpr int kTipLooks = 3;        // for the direction of the tip
constexpr double kStub = 0.1;       // longest bone that has half of no vertex: what it moves may be anywhere
constexpr double kShort = 1e-3;     // no direction in less; the radius of the mesh is 1

/// A third of the area of the triangles around every vertex; 1 where there are none.
std::vector<double> vertex_areas(const Mesh& rest, const Problem& problem) {
  const std::vector<Index> triangles = triangles_of(rest);
  std::vector<double> out(problem.vertex_count(), triangles.empty() ? 1.0 : 0.0);
  for (std::size_t t = 0; t + 2 < triangles.size(); t += 3) {
    const Eigen::Vector3d a = problem.rest().col(triangles[t]);
    const Eigen::Vector3d b = problem.rest().col(triangles[t + 1]);
    const Eigen::Vector3d c = problem.rest().col(triangles[t + 2]);
    for (std::size_t i = 0; i < 3; ++i) out[triangles[t + i]] += (b - a).cross(c - a).norm() / 6;
  }
  return out;
}

/// Calls back with vertex, bone and weight for all influences.
template <class Each>
void for_all(const SparseWeights& w, const Each& each) {
  for (std::size_t v = 0; v < w.vertex_count(); ++v)
    for (std::size_t k = w.slot(v); k < w.slot(v) + w.count[v]; ++k) each(v, w.bone[k], w.value[k]);
}

std::vector<Eigen::Vector3d> moved_by(const Problem& problem, const SparseWeights& weights, int bone) {
  std::vector<Eigen::Vector3d> out;
  for_all(weights, [&](std::size_t v, int b, float w) {
    if (b == bone && w >= kMostly) out.emplace_back(problem.rest().col(index(v)));
  });
  return out;
}

/// How far most of the points reach along a direction.
double reach_along(const std::vector<Eigen::Vector3d>& points, const Eigen::Vector3d& from,
                   const Eigen::Vector3d& direction) {
  std::vector<double> along;
  for (const Eigen::Vector3d& x : points) along.push_back((x - from).dot(direction));
  if (along.empty()) return 0;
  const auto few = static_cast<std::ptrdiff_t>(static_cast<double>(along.size()) * kStray);
  std::nth_element(along.begin(), along.end() - 1 - few, along.end());
  return *(along.end() - 1 - few);
}

/// The share of the way from one point to another that is in the body.
double share_inside(const Body& body, const Eigen::Vector3d& from, const Eigen::Vector3d& to) {
  int inside = 0;
  for (int i = 0; i < kSamples; ++i) inside += body.holds(from + (i + 0.5) / kSamples * (to - from)) ? 1 : 0;
  return static_cast<double>(inside) / kSamples;
}

}  // namespace

BoneShapes shapes_of_bones(const Mesh& rest, const Problem& problem, const FitState& state) {
  const std::vector<double> area = vertex_areas(rest, problem);
  const int B = state.bones();
  BoneShapes out{
      Eigen::VectorXd::Constant(B, 1e-30), std::vector<bool>(at(B), false), bone_centroids(state, problem), {}, {},
      Eigen::VectorXd::Constant(B, 0.5)};
  Eigen::Matrix3Xd sum = Eigen::Matrix3Xd::Zero(3, B);
  Eigen::VectorXd count = Eigen::VectorXd::Zero(B);
  for_all(state.weights, [&](std::size_t v, int b, float w) {
    out.area[b] += static_cast<double>(w) * area[v];
    if (w < kMostly) return;
    sum.col(b) += problem.rest().col(index(v));
    ++count[b];
  });
  for (int b = 0; b < B; ++b) {
    if (count[b] == 0) continue;
    out.leads[at(b)] = true;
    out.middle.col(b) = sum.col(b) / count[b];
  }
  out.lowest = out.highest = out.middle.row(1).transpose();
  for_all(state.weights, [&](std::size_t v, int b, float w) {
    if (w < kMostly) return;
    const double height = problem.rest()(1, index(v));
    out.lowest[b] = std::min(out.lowest[b], height);
    out.highest[b] = std::max(out.highest[b], height);
  });
  return out;
}

void divide(const Mesh& rest, const Problem& problem, const SparseWeights& weights, const MirrorPlane& plane,
            BoneShapes& shapes) {
  const std::vector<double> area = vertex_areas(rest, problem);
  shapes.left.setZero();
  for_all(weights, [&](std::size_t v, int b, float w) {
    if (plane.normal.dot(problem.rest().col(index(v))) > plane.offset)
      shapes.left[b] += static_cast<double>(w) * area[v] / shapes.area[b];
  });
}

Eigen::Vector3d tip_of(const SkeletonFit& fit, int bone, const Eigen::Vector3d& head, const Eigen::Vector3d& middle) {
  const std::vector<Eigen::Vector3d> moved = moved_by(*fit.problem, fit.state.weights, bone);
  if (moved.empty()) {
    const double far = (middle - head).norm();
    return far > kStub ? Eigen::Vector3d(head + kStub / far * (middle - head)) : middle;
  }
  Eigen::Vector3d tip = middle;
  for (int look = 0; look < kTipLooks && (tip - head).norm() > kShort; ++look) {
    const Eigen::Vector3d direction = (tip - head).normalized();
    const double reach = reach_along(moved, head, direction);
    if (reach < kShort) break;
    Eigen::Vector3d sum = Eigen::Vector3d::Zero();
    double count = 0;
    for (const Eigen::Vector3d& x : moved)
      if ((x - head).dot(direction) >= kOutermost * reach) {
        sum += x;
        ++count;
      }
    tip = sum / count;
  }
  if (fit.body == nullptr || !fit.body->holds(head)) return tip;
  // Round a corner, or beyond it: nearer to the middle, and at last the last point in the body on the way.
  const Eigen::Vector3d inner = fit.body->holds(tip) ? tip : fit.body->brought_in(tip, head);
  for (const Eigen::Vector3d& end : {inner, Eigen::Vector3d(0.5 * (inner + middle)), middle})
    if ((end - head).norm() > kShort && share_inside(*fit.body, head, end) >= kWayInside) return end;
  return (inner - head).norm() > kShort ? inner : tip;
}

}  // namespace sinew::skeleton
