#include "sinew/evaluate/skeleton_match.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "math/assignment.h"
#include "math/rotation.h"
#include "sinew/core/bounds.h"

namespace sinew {
namespace {

constexpr float kInfluence = 1e-3F;  // a bone influences a vertex when its weight is above this

/// Vertices that each bone influences by itself.
std::vector<std::size_t> influenced_vertices(const Rig& rig) {
  std::vector<std::size_t> out(rig.bone_count(), 0);
  for (std::size_t i = 0; i < rig.weights.values.size(); ++i)
    if (rig.weights.values[i] > kInfluence) ++out[rig.weights.bones[i]];
  return out;
}

/// Per bone, the summed weight of all bones at or below it.
std::vector<double> subtree_weight(const Rig& rig) {
  std::vector<double> out(rig.bone_count(), 0);
  for (std::size_t i = 0; i < rig.weights.values.size(); ++i) out[rig.weights.bones[i]] += rig.weights.values[i];
  for (std::size_t b = rig.bone_count(); b-- > 0;)
    if (rig.bones[b].parent >= 0) out[static_cast<std::size_t>(rig.bones[b].parent)] += out[b];
  return out;
}

/// The closest rotation; mirrored bones have one too.
Eigen::Matrix3d rotation_part(const Affine& T) {
  return closest_rotation(T.leftCols<3>().cast<double>());
}

double largest_bend(const Rig& rig, std::size_t b) {
  const auto p = static_cast<std::size_t>(rig.bones[b].parent);
  double largest = 0;
  for (std::size_t f = 0; f < rig.frame_count(); ++f) {
    const Eigen::Matrix3d bend = rotation_part(rig.motion(f, p)).transpose() * rotation_part(rig.motion(f, b));
    largest = std::max(largest, Eigen::AngleAxisd(bend).angle());
  }
  return largest * 180 / std::numbers::pi;
}

/// Bones below a joint: all but the roots and helpers.
std::vector<std::size_t> joints_of(const Rig& rig) {
  std::vector<std::size_t> out;
  for (std::size_t b = 0; b < rig.bone_count(); ++b)
    if (rig.bones[b].parent >= 0 && !rig.bones[b].helper) out.push_back(b);
  return out;
}

/// Where a joint is: its rest position, or where the bone below it carries that in every frame.
using Places = Eigen::Matrix3Xd;

/// Whether both rigs rest in the same pose, so that their joints can be compared in it.
bool same_rest(const Rig& a, const Rig& b, double diagonal) {
  return a.rest.positions.cols() == b.rest.positions.cols() &&
         (a.rest.positions - b.rest.positions).colwise().norm().maxCoeff() <= 1e-3 * diagonal;
}

Places places_of(const Rig& rig, std::size_t b, bool at_rest) {
  if (at_rest) return rig.bones[b].head.cast<double>();
  Places out(3, static_cast<Eigen::Index>(rig.frame_count()));
  for (std::size_t f = 0; f < rig.frame_count(); ++f)
    out.col(static_cast<Eigen::Index>(f)) =
        (rig.motion(f, b).leftCols<3>() * rig.bones[b].head + rig.motion(f, b).col(3)).cast<double>();
  return out;
}

struct Nearest {
  std::size_t bone = 0;
  double distance = std::numeric_limits<double>::infinity();
};

Nearest nearest_joint(const std::vector<std::size_t>& joints, const std::vector<Places>& places, const Places& from) {
  Nearest out;
  for (std::size_t i = 0; i < joints.size(); ++i) {
    const double distance = (places[i] - from).colwise().norm().mean();
    if (distance < out.distance) out = {joints[i], distance};
  }
  return out;
}

/// How far apart two poses of a bone are: degrees, and the distance of its head.
struct Against {
  double degrees = 0;
  double distance = 0;
};

Affine relative(const Rig& rig, std::size_t f, std::size_t a, std::size_t b) {
  const Eigen::Matrix3f back = rig.motion(f, a).leftCols<3>().inverse();
  Affine out = back * rig.motion(f, b);
  out.col(3) -= back * rig.motion(f, a).col(3);
  return out;
}

Against between(const Affine& x, const Affine& y, const Vector3& head) {
  const Eigen::Matrix3d turn = rotation_part(x).transpose() * rotation_part(y);
  const Vector3 moved = x.leftCols<3>() * head + x.col(3) - y.leftCols<3>() * head - y.col(3);
  return {Eigen::AngleAxisd(turn).angle() * 180 / std::numbers::pi, static_cast<double>(moved.norm())};
}

/// Bones of a known rig that move as one: top[b] is the uppermost bone of b's body.
///
/// A bone without vertices cannot be seen, but what hangs rigidly from it in every frame can: the two are one body,
/// even if the rest pose has another angle between them. Two bones with vertices are one body only if the rest pose
/// agrees too.
struct Bodies {
  std::vector<std::size_t> top;
  std::vector<bool> seen;  // at the top: whether the body has vertices
};

Bodies bodies_of(const Rig& rig, const std::vector<std::size_t>& own, double diagonal) {
  const auto small = [&](const Against& x) { return x.degrees < 0.5 && x.distance < 5e-3 * diagonal; };
  Bodies out{std::vector<std::size_t>(rig.bone_count()), std::vector<bool>(rig.bone_count())};
  std::vector<std::size_t> shown(rig.bone_count());  // at the top: a bone of the body that has vertices
  for (std::size_t b = 0; b < rig.bone_count(); ++b) {
    out.top[b] = b;
    out.seen[b] = own[b] > 0;
    shown[b] = b;
    if (rig.bones[b].parent < 0) continue;
    const std::size_t top = out.top[static_cast<std::size_t>(rig.bones[b].parent)];
    const std::size_t other = shown[top];
    // A rig without frames never leaves its rest pose.
    const Affine first = rig.frame_count() > 0 ? relative(rig, 0, other, b) : Motion::identity();
    bool one = !(out.seen[top] && out.seen[b]) || small(between(first, Motion::identity(), rig.bones[b].head));
    for (std::size_t f = 1; f < rig.frame_count() && one; ++f)
      one = small(between(relative(rig, f, other, b), first, rig.bones[b].head));
    if (!one) continue;
    out.top[b] = top;
    if (out.seen[b] && !out.seen[top]) shown[top] = b;
    out.seen[top] = out.seen[top] || out.seen[b];
  }
  return out;
}

/// Largest distance between where a bone and its parent carry its head.
double largest_slide(const Rig& rig, std::size_t b) {
  const auto p = static_cast<std::size_t>(rig.bones[b].parent);
  double largest = 0;
  for (std::size_t f = 0; f < rig.frame_count(); ++f)
    largest = std::max(largest, between(rig.motion(f, p), rig.motion(f, b), rig.bones[b].head).distance);
  return largest;
}

/// Groups of bones that remain connected when only the joints in `cut` separate them.
std::vector<std::size_t> bones_merged_across_other_joints(const Rig& rig, const std::vector<bool>& cut) {
  std::vector<std::size_t> group(rig.bone_count());
  for (std::size_t b = 0; b < rig.bone_count(); ++b) {
    const int p = rig.bones[b].parent;
    group[b] = p >= 0 && !cut[b] ? group[static_cast<std::size_t>(p)] : b;
  }
  return group;
}

double share(std::size_t part, std::size_t whole) {
  return whole == 0 ? 1 : static_cast<double>(part) / static_cast<double>(whole);
}

/// Known edges between found joints that the recovered tree has; match[b] is the recovered joint of known joint b or
/// -1.
double edge_agreement(const Rig& recovered, const Rig& known, const std::vector<int>& match) {
  std::vector<bool> cut(recovered.bone_count(), false);
  for (const int m : match)
    if (m >= 0) cut[static_cast<std::size_t>(m)] = true;
  const std::vector<std::size_t> group = bones_merged_across_other_joints(recovered, cut);
  const auto sides = [&](int m) {
    const auto b = static_cast<std::size_t>(m);
    return std::pair{group[static_cast<std::size_t>(recovered.bones[b].parent)], group[b]};
  };
  std::size_t edges = 0;
  std::size_t agreed = 0;
  for (std::size_t b = 0; b < known.bone_count(); ++b) {
    if (match[b] < 0) continue;
    int above = known.bones[b].parent;
    while (above >= 0 && match[static_cast<std::size_t>(above)] < 0)
      above = known.bones[static_cast<std::size_t>(above)].parent;
    if (above < 0) continue;
    ++edges;
    const auto [a0, a1] = sides(match[static_cast<std::size_t>(above)]);
    const auto [b0, b1] = sides(match[b]);
    if (a0 == b0 || a0 == b1 || a1 == b0 || a1 == b1) ++agreed;
  }
  return share(agreed, edges);
}

/// Pairs of one joint of each list, one to one: as many within the tolerance as there can be, of least total distance.
/// For every joint of `from` the place in `to`, or -1.
std::vector<int> matched(const std::vector<Places>& from, const std::vector<Places>& to, double tolerance) {
  if (from.empty() || to.empty()) return std::vector<int>(from.size(), -1);
  const double beyond = tolerance * static_cast<double>(from.size() + to.size());  // dearer than all pairs within
  Eigen::MatrixXd distance(static_cast<Eigen::Index>(from.size()), static_cast<Eigen::Index>(to.size()));
  for (std::size_t i = 0; i < from.size(); ++i)
    for (std::size_t j = 0; j < to.size(); ++j) {
      const double away = (from[i] - to[j]).colwise().norm().mean();
      distance(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = away <= tolerance ? away : beyond;
    }
  std::vector<int> out = least_assignment(distance);
  for (std::size_t i = 0; i < out.size(); ++i)
    if (out[i] >= 0 && distance(static_cast<Eigen::Index>(i), out[i]) >= beyond) out[i] = -1;
  return out;
}

/// The places of some joints.
std::vector<Places> chosen(const std::vector<Places>& places, const std::vector<std::size_t>& which) {
  std::vector<Places> out;
  for (const std::size_t i : which) out.push_back(places[i]);
  return out;
}

/// How many more recovered joints have a known joint of their own once those in `taken` are matched to `counted`.
std::size_t matched_besides(const std::vector<Places>& known, const std::vector<std::size_t>& counted,
                            const std::vector<Places>& recovered, const std::vector<bool>& taken, double tolerance) {
  std::vector<std::size_t> others;
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < known.size(); ++i)
    if (std::find(counted.begin(), counted.end(), i) == counted.end()) others.push_back(i);
  for (std::size_t i = 0; i < recovered.size(); ++i)
    if (!taken[i]) left.push_back(i);
  const std::vector<int> pairs = matched(chosen(known, others), chosen(recovered, left), tolerance);
  return static_cast<std::size_t>(std::count_if(pairs.begin(), pairs.end(), [](int i) { return i >= 0; }));
}

}  // namespace

SkeletonMatch match_skeletons(const Rig& recovered, const Rig& known, const SkeletonMatchOptions& options) {
  SkeletonMatch out;
  const double diagonal = bounding_box_diagonal(known.rest.positions);
  const std::vector<double> below = subtree_weight(known);
  const double total = std::accumulate(known.weights.values.begin(), known.weights.values.end(), 0.0);
  const std::vector<std::size_t> known_joints = joints_of(known);
  const std::vector<std::size_t> recovered_joints = joints_of(recovered);
  const Bodies bodies = bodies_of(known, influenced_vertices(known), diagonal);
  const bool at_rest = same_rest(recovered, known, diagonal) || known.frame_count() == 0 ||
                       recovered.frame_count() != known.frame_count();
  std::vector<Places> known_places;
  std::vector<Places> recovered_places;
  for (const std::size_t b : known_joints) known_places.push_back(places_of(known, b, at_rest));
  for (const std::size_t b : recovered_joints) recovered_places.push_back(places_of(recovered, b, at_rest));

  std::vector<std::size_t> counted;    // places in known_joints
  std::vector<std::size_t> listed_as;  // of each of them in out.joints
  std::size_t near = 0;
  for (std::size_t i = 0; i < known_joints.size(); ++i) {
    const std::size_t b = known_joints[i];
    if (bodies.top[b] != b || !bodies.seen[b] || below[b] > total * (1 - 1e-6)) continue;
    const double degrees = largest_bend(known, b);
    if (!(degrees > options.least_degrees)) continue;
    const Nearest nearest = nearest_joint(recovered_joints, recovered_places, known_places[i]);
    JointMatch joint;
    joint.name = known.bones[b].name;
    joint.degrees = degrees;
    joint.slide = 100 * largest_slide(known, b) / diagonal;
    joint.turns = joint.slide <= options.slide_percent;
    joint.percent = 100 * nearest.distance / diagonal;
    joint.nearest = recovered_joints.empty() ? "" : recovered.bones[nearest.bone].name;
    joint.near = joint.turns && joint.percent <= options.near_percent;
    if (joint.turns) {
      counted.push_back(i);
      listed_as.push_back(out.joints.size());
      near += joint.near ? 1 : 0;
    }
    out.joints.push_back(std::move(joint));
  }
  const double tolerance = options.tolerance_percent * diagonal / 100;
  const std::vector<int> pairs = matched(chosen(known_places, counted), recovered_places, tolerance);
  std::vector<int> match(known.bone_count(), -1);
  std::vector<bool> taken(recovered_joints.size(), false);
  std::size_t found = 0;
  for (std::size_t i = 0; i < counted.size(); ++i) {
    if (pairs[i] < 0) continue;
    const auto own = static_cast<std::size_t>(pairs[i]);
    taken[own] = true;
    ++found;
    match[known_joints[counted[i]]] = static_cast<int>(recovered_joints[own]);
    out.joints[listed_as[i]].matched = recovered.bones[recovered_joints[own]].name;
    out.joints[listed_as[i]].found = true;
  }
  std::size_t near_known = 0;
  for (const Places& places : recovered_places)
    if (100 * nearest_joint(known_joints, known_places, places).distance / diagonal <= options.near_percent)
      ++near_known;
  out.known_joints = static_cast<int>(counted.size());
  out.recovered_joints = static_cast<int>(recovered_joints.size());
  out.recall = share(found, counted.size());
  out.precision = share(found + matched_besides(known_places, counted, recovered_places, taken, tolerance),
                        recovered_joints.size());
  out.near_recall = share(near, counted.size());
  out.near_precision = share(near_known, recovered_joints.size());
  out.parent_agreement = edge_agreement(recovered, known, match);
  return out;
}

}  // namespace sinew
