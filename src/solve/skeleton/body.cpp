#include "solve/skeleton/body.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

namespace sinew::skeleton {
namespace {

constexpr double kBelow = 0.01;  // the surface, for a joint that is brought in; half a percent of the diagonal or so
constexpr double kNearSurface = 0.04;  // to the surface, from where it is brought in by the shortest way
constexpr double kEnclosed = 0.75;     // mean winding number next to the surface: 1 of a closed one, 1/2 of a sheet
constexpr std::size_t kLooks = 200;    // for that
constexpr int kSteps = 24;             // on the way from the anchor, and to the middle

constexpr double kCell = 0.01;         // side of the cells by which answers are kept
constexpr double kSmallCell = 0.002;   // the same of those that the surface cuts
constexpr double kMiddleCell = 0.005;  // the same of the middles

/// The number of the cell that x lies in, and its centre. Points far away share cells.
std::uint64_t cell_of(const Eigen::Vector3d& x, double side, Eigen::Vector3d& centre) {
  constexpr std::int64_t kHalf = 1 << 20;
  std::uint64_t number = 0;
  for (int i = 0; i < 3; ++i) {
    const double place = std::clamp(std::floor(x[i] / side), -double{kHalf}, double{kHalf - 1});
    centre[i] = (place + 0.5) * side;
    number = (number << 21) | static_cast<std::uint64_t>(static_cast<std::int64_t>(place) + kHalf);
  }
  return number;
}

Eigen::Matrix3Xd scaled(const Points& positions, const lbs::Scaling& scaling) {
  return (positions.cast<double>().colwise() - scaling.center) * scaling.scale;
}

}  // namespace

Body::Body(const Mesh& rest, const lbs::Scaling& scaling)
    : surface_(scaled(rest.positions, scaling), triangles_of(rest)) {
  const Eigen::Matrix3Xd points = scaled(rest.positions, scaling);
  const std::vector<Index> triangles = triangles_of(rest);
  const std::size_t step = 3 * std::max<std::size_t>(1, triangles.size() / 3 / kLooks);
  double seen = 0;
  double looks = 0;
  for (std::size_t t = 0; t + 2 < triangles.size(); t += step, ++looks) {
    const Eigen::Vector3d a = points.col(triangles[t]);
    const Eigen::Vector3d b = points.col(triangles[t + 1]);
    const Eigen::Vector3d c = points.col(triangles[t + 2]);
    const Eigen::Vector3d normal = (b - a).cross(c - a).stableNormalized();
    const Eigen::Vector3d middle = (a + b + c) / 3;
    const double below = std::abs(surface_.winding(middle - 0.1 * kBelow * normal));
    seen += std::max(below, std::abs(surface_.winding(middle + 0.1 * kBelow * normal)));
  }
  hollow_ = seen <= kEnclosed * looks;
}

Body::Cell Body::cell_at(const Eigen::Vector3d& x, double side, std::unordered_map<std::uint64_t, Cell>& cells) const {
  Eigen::Vector3d centre;
  const std::uint64_t number = cell_of(x, side, centre);
  auto found = cells.find(number);
  if (found == cells.end()) {
    const double half_diagonal = 0.5 * std::sqrt(3.0) * side;
    const bool cut = (surface_.nearest(centre) - centre).norm() <= half_diagonal;
    found = cells.emplace(number, Cell{surface_.inside(centre), cut}).first;
  }
  return found->second;
}

bool Body::holds(const Eigen::Vector3d& x) const {
  if (const Cell cell = cell_at(x, kCell, cells_); !cell.cut) return cell.within;
  if (const Cell cell = cell_at(x, kSmallCell, small_cells_); !cell.cut) return cell.within;
  return surface_.inside(x);
}

bool Body::roughly_holds(const Eigen::Vector3d& x) const {
  const Cell cell = cell_at(x, kCell, cells_);
  return cell.cut ? cell_at(x, kSmallCell, small_cells_).within : cell.within;
}

Eigen::Vector3d Body::middle(const Eigen::Vector3d& x) const {
  Eigen::Vector3d centre;
  const std::uint64_t number = cell_of(x, kMiddleCell, centre);
  auto found = middles_.find(number);
  if (found == middles_.end()) found = middles_.emplace(number, middle_from(centre)).first;
  return found->second;
}

Eigen::Vector3d Body::middle_from(const Eigen::Vector3d& x) const {
  constexpr double kStraight = 0.6;  // of a step must be gained in depth: at the middle the nearest side changes
  constexpr double kStep = 0.25;     // of the depth
  Eigen::Vector3d at = x;
  Eigen::Vector3d side = surface_.nearest(at);
  if (!holds(at)) {
    const Eigen::Vector3d in = side - at;
    if (in.norm() < 1e-9) return x;
    Eigen::Vector3d below = side + kBelow * in.normalized();
    at = holds(below) ? below : Eigen::Vector3d(side + 0.1 * kBelow * in.normalized());
    if (!holds(at)) return x;
    side = surface_.nearest(at);
  }
  double depth = (at - side).norm();
  for (int i = 0; i < kSteps && depth > 1e-9; ++i) {
    const double step = std::max(kStep * depth, 0.2 * kBelow);
    const Eigen::Vector3d next = at + step / depth * (at - side);
    const Eigen::Vector3d next_side = surface_.nearest(next);
    const double reached = (next - next_side).norm();
    if (reached - depth < kStraight * step) break;
    at = next;
    side = next_side;
    depth = reached;
  }
  return at;
}

Eigen::Vector3d Body::brought_in(const Eigen::Vector3d& x, const Eigen::Vector3d& anchor) const {
  const Eigen::Vector3d side = surface_.nearest(x);
  if (const Eigen::Vector3d in = side - x; in.norm() < kNearSurface && in.norm() > 1e-9) {
    Eigen::Vector3d below = side + kBelow * in.normalized();
    if (holds(below)) return below;
  }
  Eigen::Vector3d last = anchor;
  for (int i = 1; i < kSteps; ++i) {
    const Eigen::Vector3d next = anchor + static_cast<double>(i) / kSteps * (x - anchor);
    if (!holds(next)) break;
    last = next;
  }
  return last;
}

}  // namespace sinew::skeleton
