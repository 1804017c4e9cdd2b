#include "sinew/evaluate/skeleton_match.h"

#include <Eigen/Geometry>
#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "sinew/evaluate/errors.h"

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

Eigen::Matrix3d rotation_part(const Affine& T) {
  const Eigen::Matrix3d A = T.leftCols<3>().cast<double>();
  const Eigen::JacobiSVD<Eigen::Matrix3d> svd(A, Eigen::ComputeFullU | Eigen::ComputeFullV);
  return svd.matrixU() * svd.matrixV().transpose();
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

/// Bones below a joint: all but the roots.
std::vector<std::size_t> joints_of(const Rig& rig) {
  std::vector<std::size_t> out;
  for (std::size_t b = 0; b < rig.bone_count(); ++b)
    if (rig.bones[b].parent >= 0) out.push_back(b);
  return out;
}

struct Nearest {
  std::size_t bone = 0;
  double distance = std::numeric_limits<double>::infinity();
};

Nearest nearest_joint(const Rig& rig, const std::vector<std::size_t>& joints, const Vector3& point) {
  Nearest out;
  for (const std::size_t b : joints) {
    const double distance = (rig.bones[b].head - point).cast<double>().norm();
    if (distance < out.distance) out = {b, distance};
  }
  return out;
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

}  // namespace

SkeletonMatch match_skeletons(const Rig& recovered, const Rig& known, const SkeletonMatchOptions& options) {
  SkeletonMatch out;
  const double diagonal = bounding_box_diagonal(known.rest.positions);
  const std::vector<std::size_t> own = influenced_vertices(known);
  const std::vector<double> below = subtree_weight(known);
  const double total = std::accumulate(known.weights.values.begin(), known.weights.values.end(), 0.0);
  const std::vector<std::size_t> known_joints = joints_of(known);
  const std::vector<std::size_t> recovered_joints = joints_of(recovered);

  std::vector<int> match(known.bone_count(), -1);
  std::size_t found = 0;
  for (const std::size_t b : known_joints) {
    if (own[b] == 0 || below[b] > total * (1 - 1e-6)) continue;
    const double degrees = largest_bend(known, b);
    if (!(degrees > options.least_degrees)) continue;
    const Nearest nearest = nearest_joint(recovered, recovered_joints, known.bones[b].head);
    const double percent = 100 * nearest.distance / diagonal;
    const bool hit = percent <= options.tolerance_percent;
    out.joints.push_back({known.bones[b].name, degrees, percent,
                          recovered_joints.empty() ? "" : recovered.bones[nearest.bone].name, hit});
    if (!hit) continue;
    ++found;
    match[b] = static_cast<int>(nearest.bone);
  }
  std::size_t near_known = 0;
  for (const std::size_t b : recovered_joints)
    if (100 * nearest_joint(known, known_joints, recovered.bones[b].head).distance / diagonal <=
        options.tolerance_percent)
      ++near_known;
  out.recovered_joints = static_cast<int>(recovered_joints.size());
  out.recall = share(found, out.joints.size());
  out.precision = share(near_known, recovered_joints.size());
  out.parent_agreement = edge_agreement(recovered, known, match);
  return out;
}

}  // namespace sinew
