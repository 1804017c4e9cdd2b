#include "solve/skeleton/facing.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

namespace sinew::skeleton {
namespace {

// Lengths: the radius of the mesh is 1. Heights: of the whole mesh.
constexpr double kUpright = 0.5;             // most that the normal of the plane may have of up
constexpr std::size_t kJourney = 12;         // frames, fewer of which are poses rather than a journey
constexpr double kFar = 0.5;                 // a journey, at least
constexpr double kStraight = 0.5;            // share of the way that leads forwards, at least
constexpr double kSole = 0.03;               // height of what is a sole
constexpr double kAnkleFrom = 0.06;          // and of what stands on it
constexpr double kAnkleTo = 0.14;            // the same
constexpr std::size_t kSlabVertices = 1000;  // vertices of each that are looked at
constexpr double kToes = 0.008;              // by which soles reach further forwards, on average, at least

/// How far the mesh travels along a direction that turns with it, and how far in all.
double travel_along(const Eigen::Vector3d& direction, const Sequence& sequence, const lbs::Problem& problem,
                    double& in_all) {
  const Eigen::Vector3d centre = problem.rest().rowwise().mean();
  double sum = 0;
  in_all = 0;
  for (std::size_t f = 1; f < problem.frame_count(); ++f) {
    const bool begins = std::any_of(sequence.clips.begin(), sequence.clips.end(),
                                    [&](const Clip& clip) { return clip.first_frame == f; });
    if (begins) continue;
    const auto row = 3 * static_cast<Eigen::Index>(f);
    const auto place = [&](Eigen::Index at) {
      return Eigen::Vector3d(problem.common().block<3, 3>(at, 0) * centre + problem.common().block<3, 1>(at, 3));
    };
    const Eigen::Vector3d step = place(row) - place(row - 3);
    sum += step.dot(problem.common().block<3, 3>(row, 0) * direction);
    in_all += std::hypot(step.x(), step.z());
  }
  return sum;
}

/// At most kSlabVertices of the vertices between two heights, spread evenly.
Eigen::Matrix3Xd slab(const Eigen::Matrix3Xd& rest, double from, double to) {
  std::vector<Eigen::Index> within;
  for (Eigen::Index v = 0; v < rest.cols(); ++v)
    if (rest(1, v) >= from && rest(1, v) <= to) within.push_back(v);
  const std::vector<Index> chosen = lbs::spread_vertices(within.size(), kSlabVertices);
  Eigen::Matrix3Xd out(3, static_cast<Eigen::Index>(chosen.size()));
  for (std::size_t i = 0; i < chosen.size(); ++i) out.col(static_cast<Eigen::Index>(i)) = rest.col(within[chosen[i]]);
  return out;
}

/// How much further forwards soles reach than what stands on them: each vertex against the one above that is nearest.
double toes_along(const Eigen::Vector3d& direction, const Eigen::Matrix3Xd& rest) {
  const double floor = rest.row(1).minCoeff();
  const double height = rest.row(1).maxCoeff() - floor;
  const Eigen::Matrix3Xd soles = slab(rest, floor, floor + kSole * height);
  const Eigen::Matrix3Xd ankles = slab(rest, floor + kAnkleFrom * height, floor + kAnkleTo * height);
  if (soles.cols() == 0 || ankles.cols() == 0) return 0;
  double sum = 0;
  for (const auto& sole : soles.colwise()) {
    Eigen::Index nearest = 0;
    (ankles.colwise() - sole).colwise().squaredNorm().minCoeff(&nearest);
    sum += direction.dot(sole - ankles.col(nearest));
  }
  return sum / static_cast<double>(soles.cols());
}

}  // namespace

Facing facing_of(const Sequence& sequence, const lbs::Problem& problem, const MirrorPlane& plane) {
  Facing out;
  if (std::abs(plane.normal.y()) > kUpright) return out;
  Eigen::Vector3d forward = plane.normal.cross(Eigen::Vector3d::UnitY()).normalized();  // if the normal points left
  double in_all = 0;
  const double travelled = travel_along(forward, sequence, problem, in_all);
  const double toes = toes_along(forward, problem.rest());
  double sign = 1;
  if (std::abs(toes) >= kToes) {
    out.by = Facing::By::feet;
    sign = toes;
  } else if (problem.frame_count() >= kJourney && in_all >= kFar && std::abs(travelled) >= kStraight * in_all) {
    out.by = Facing::By::travel;
    sign = travelled;
  } else if (std::abs(forward.z()) > kUpright) {
    sign = forward.z();
  }
  out.left = sign < 0 ? -1 : 1;
  out.forward = out.left * forward;
  return out;
}

}  // namespace sinew::skeleton
