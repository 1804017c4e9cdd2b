#include "sinew/evaluate/inside.h"

#include <Eigen/Geometry>
#include <algorithm>

#include "math/surface_tree.h"
#include "sinew/core/bounds.h"

namespace sinew {
namespace {

constexpr int kSamples = 24;  // points of every bone, evenly spread

/// Where every bone begins and ends in some pose.
struct Placed {
  Points surface;         // 3×V
  Eigen::Matrix3Xd head;  // 3×B
  Eigen::Matrix3Xd tail;  // 3×B
};

/// The share of a straight line that lies inside.
double share_within(const SurfaceTree& body, const Eigen::Vector3d& from, const Eigen::Vector3d& to) {
  int within = 0;
  for (int i = 0; i < kSamples; ++i) within += body.inside(from + (i + 0.5) / kSamples * (to - from)) ? 1 : 0;
  return static_cast<double>(within) / kSamples;
}

Inside measure(const Rig& rig, const Placed& placed) {
  const SurfaceTree body(placed.surface.cast<double>(), triangles_of(rig.rest));
  const double diagonal = bounding_box_diagonal(rig.rest.positions);
  Inside out;
  int within = 0;
  double length = 0;
  double length_within = 0;
  const auto add_line = [&](const Eigen::Vector3d& from, const Eigen::Vector3d& to) {
    const double whole = (to - from).norm();
    length += whole;
    length_within += whole > 0 ? whole * share_within(body, from, to) : 0;
  };
  std::vector<bool> ends(rig.bone_count(), true);
  for (std::size_t b = 0; b < rig.bone_count(); ++b) {
    if (rig.bones[b].parent < 0 || rig.bones[b].helper) continue;
    const auto p = static_cast<std::size_t>(rig.bones[b].parent);
    ends[p] = false;
    const Eigen::Vector3d head = placed.head.col(static_cast<Eigen::Index>(b));
    add_line(placed.head.col(static_cast<Eigen::Index>(p)), head);
    ++out.joints;
    if (body.inside(head)) {
      ++within;
      continue;
    }
    const double away = 100 * (body.nearest(head) - head).norm() / diagonal;
    if (away < out.worst_percent) continue;
    out.worst_percent = away;
    out.worst_joint = rig.bones[b].name;
  }
  for (std::size_t b = 0; b < rig.bone_count(); ++b)
    if (ends[b] && !rig.bones[b].helper)
      add_line(placed.head.col(static_cast<Eigen::Index>(b)), placed.tail.col(static_cast<Eigen::Index>(b)));
  if (out.joints > 0) out.joint_share = static_cast<double>(within) / out.joints;
  if (length > 0) out.length_share = length_within / length;
  return out;
}

Placed placed_at_rest(const Rig& rig) {
  const auto B = static_cast<Eigen::Index>(rig.bone_count());
  Placed out{rig.rest.positions, Eigen::Matrix3Xd(3, B), Eigen::Matrix3Xd(3, B)};
  for (Eigen::Index b = 0; b < B; ++b) {
    out.head.col(b) = rig.bones[static_cast<std::size_t>(b)].head.cast<double>();
    out.tail.col(b) = rig.bones[static_cast<std::size_t>(b)].tail.cast<double>();
  }
  return out;
}

}  // namespace

Inside inside_at_rest(const Rig& rig) {
  return measure(rig, placed_at_rest(rig));
}

Inside inside_in_frame(const Rig& rig, std::size_t frame) {
  Placed placed = placed_at_rest(rig);
  pose(rig, frame, placed.surface);
  for (Eigen::Index b = 0; b < placed.head.cols(); ++b) {
    const Eigen::Matrix<double, 3, 4> T = rig.motion(frame, static_cast<std::size_t>(b)).cast<double>();
    placed.head.col(b) = (T * placed.head.col(b).homogeneous()).eval();
    placed.tail.col(b) = (T * placed.tail.col(b).homogeneous()).eval();
  }
  return measure(rig, placed);
}

Inside inside_when_posed(const Rig& rig, std::size_t most) {
  Inside out;
  const std::size_t frames = rig.frame_count();
  const std::size_t count = std::min(most, frames);
  for (std::size_t i = 0; i < count; ++i) {
    const Inside one = inside_in_frame(rig, (2 * i + 1) * frames / (2 * count));
    out.joints = one.joints;
    out.joint_share = std::min(out.joint_share, one.joint_share);
    out.length_share = std::min(out.length_share, one.length_share);
    if (one.worst_percent <= out.worst_percent) continue;
    out.worst_percent = one.worst_percent;
    out.worst_joint = one.worst_joint;
  }
  return out;
}

}  // namespace sinew
