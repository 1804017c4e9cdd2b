#include "sinew/evaluate/inside.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sinew/core/bounds.h"

namespace sinew {
namespace {

/// A box from `low` to `high` as twelve triangles, counter-clockwise outside; without its lid where `open`.
void add_box(const Vector3& low, const Vector3& high, bool open, Mesh& mesh) {
  const auto base = static_cast<Index>(mesh.positions.cols());
  mesh.positions.conservativeResize(3, base + 8);
  for (Index i = 0; i < 8; ++i)
    mesh.positions.col(base + i) = Vector3((i & 1U) != 0 ? high.x() : low.x(), (i & 2U) != 0 ? high.y() : low.y(),
                                           (i & 4U) != 0 ? high.z() : low.z());
  std::vector<std::array<Index, 4>> sides{{0, 2, 3, 1}, {0, 4, 6, 2}, {0, 1, 5, 4}, {1, 3, 7, 5}, {2, 6, 7, 3}};
  if (!open) sides.push_back({4, 5, 7, 6});
  for (const auto& side : sides) {
    for (const Index i : side) mesh.corners.push_back(base + i);
    mesh.face_sizes.push_back(4);
  }
}

/// A chain along x with joints at the given heads; the first bone is the root, tails at the next head.
Rig chain(Mesh mesh, const std::vector<Vector3>& heads) {
  Rig rig;
  rig.rest = std::move(mesh);
  for (std::size_t b = 0; b + 1 < heads.size(); ++b)
    rig.bones.push_back({"bone_" + std::to_string(b), static_cast<int>(b) - 1, heads[b], heads[b + 1]});
  rig.weights.influences = 1;
  rig.weights.bones.assign(rig.rest.vertex_count(), 0);
  rig.weights.values.assign(rig.rest.vertex_count(), 1);
  rig.motion = Motion(2, rig.bones.size());
  rig.times = {0, 1};
  rig.jointed = true;
  return rig;
}

Mesh box(bool open = false) {
  Mesh mesh;
  mesh.positions.resize(3, 0);
  add_box(Vector3(0, 0, 0), Vector3(10, 2, 1), open, mesh);
  return mesh;
}

TEST(Inside, CountsJointsAndLengthWithinABox) {
  // Joints at 4 (in), 8 (2.05 above the box's middle, 1.5 out), and the end back inside.
  const Rig rig = chain(box(), {{1, 1, 0.4F}, {4, 1, 0.4F}, {8, 1, 2.5F}, {8, 1, 0.5F}});
  const Inside found = inside_at_rest(rig);
  EXPECT_EQ(found.joints, 2);
  EXPECT_DOUBLE_EQ(found.joint_share, 0.5);
  const double diagonal = bounding_box_diagonal(rig.rest.positions);
  EXPECT_NEAR(found.worst_percent, 100 * 1.5 / diagonal, 1e-4);
  EXPECT_EQ(found.worst_joint, "bone_2");
  const double rising = std::hypot(4, 2.1);
  EXPECT_NEAR(found.length_share, (3 + rising * 0.6 / 2.1 + 0.5) / (3 + rising + 2), 0.03);
}

TEST(Inside, ReadsAnOpenBoxAndSeveralComponents) {
  const std::vector<Vector3> heads{{1, 1, 0.4F}, {4, 1, 0.3F}, {8, 1, 0.3F}, {9, 1, 0.3F}};
  EXPECT_DOUBLE_EQ(inside_at_rest(chain(box(true), heads)).joint_share, 1);
  EXPECT_DOUBLE_EQ(inside_at_rest(chain(box(true), {heads[0], {4, 1, 1.2F}, heads[2], heads[3]})).joint_share, 0.5);
  Mesh two = box();
  add_box(Vector3(11, 0, 0), Vector3(14, 2, 1), false, two);
  const Inside found = inside_at_rest(chain(two, {{1, 1, 0.4F}, {9, 1, 0.4F}, {13, 1, 0.6F}, {10.5F, 1, 0.5F}}));
  EXPECT_DOUBLE_EQ(found.joint_share, 1) << "one joint in each component";
  EXPECT_NEAR(found.length_share, (8 + 3 + 2) / (8 + 4 + 2.5), 0.03);
}

TEST(Inside, CountsABodyTurnedInsideOut) {
  Mesh mesh = box();
  std::reverse(mesh.corners.begin(), mesh.corners.end());
  EXPECT_DOUBLE_EQ(inside_at_rest(chain(mesh, {{1, 1, 0.4F}, {4, 1, 0.4F}, {8, 1, 0.5F}})).joint_share, 1);
}

TEST(Inside, FollowsTheMotion) {
  Rig rig = chain(box(), {{1, 1, 0.4F}, {4, 1, 0.4F}, {8, 1, 0.4F}, {9, 1, 0.4F}});
  rig.motion(1, 2).col(3) = Vector3(0, 0, 0.8F);  // all vertices follow bone 0, which stays
  EXPECT_DOUBLE_EQ(inside_in_frame(rig, 0).joint_share, 1);
  const Inside moved = inside_in_frame(rig, 1);
  EXPECT_DOUBLE_EQ(moved.joint_share, 0.5);
  EXPECT_NEAR(moved.worst_percent, 100 * 0.2 / bounding_box_diagonal(rig.rest.positions), 1e-4);
  EXPECT_DOUBLE_EQ(inside_when_posed(rig, 2).joint_share, 0.5);
}

}  // namespace
}  // namespace sinew
