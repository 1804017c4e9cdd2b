#include "solve/skeleton/anatomy.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/index.h"

namespace sinew {
namespace {

using namespace skeleton;

/// A bone of a made-up character: what it hangs from, its joint, and the far end of what it moves.
struct Part {
  int parent;
  Eigen::Vector3d joint;
  Eigen::Vector3d end;
};

/// The same parts across x = 0.
void add_pair(std::vector<Part>& parts, int parent, const std::vector<Eigen::Vector3d>& chain) {
  for (const double side : {1.0, -1.0}) {
    int above = parent;
    for (std::size_t i = 0; i + 1 < chain.size(); ++i) {
      const auto on_side = [&](const Eigen::Vector3d& p) { return Eigen::Vector3d(side * p.x(), p.y(), p.z()); };
      parts.push_back({above, on_side(chain[i]), on_side(chain[i + 1])});
      above = static_cast<int>(parts.size()) - 1;
    }
  }
}

struct Described {
  Anatomy anatomy;
  std::vector<std::string> names;
};

/// `facing` +1: towards +Z. Sides by the plane x = 0 where `mirrored`, else by the legs.
Described describe(const std::vector<Part>& parts, double facing = 1, bool mirrored = true) {
  const auto B = static_cast<int>(parts.size());
  BoneShapes shapes{Eigen::VectorXd::Ones(B), std::vector<bool>(at(B), true),
                    Eigen::Matrix3Xd(3, B),   Eigen::VectorXd(B),
                    Eigen::VectorXd(B),       Eigen::VectorXd::Constant(B, 0.5)};
  std::vector<TreeEdge> edges;
  for (int b = 0; b < B; ++b) {
    const Part& part = parts[at(b)];
    shapes.middle.col(b) = 0.5 * (part.joint + part.end);
    shapes.lowest[b] = std::min(part.joint.y(), part.end.y());
    shapes.highest[b] = std::max(part.joint.y(), part.end.y());
    if (const double x = shapes.middle(0, b); mirrored && std::abs(x) > 0.01) shapes.left[b] = x > 0 ? 1 : 0;
    if (part.parent >= 0) edges.push_back({part.parent, b, part.joint});
  }
  const RootedTree tree = rooted(edges, B, middle_bone(edges, shapes));
  const MirrorPlane plane;
  std::vector<LimbPair> pairs = limb_pairs(tree, shapes, mirrored ? &plane : nullptr);
  if (!mirrored && !plane_between(tree, pairs)) pairs.clear();
  Facing faces;
  faces.left = facing;
  faces.forward = facing * Eigen::Vector3d::UnitZ();
  Described out{anatomy_of(tree, shapes, pairs, faces), {}};
  out.names = names_by_place(tree, shapes, out.anatomy);
  return out;
}

/// A person whose first bone is the middle of the spine: pelvis 1, chest 2, neck 3, head 4.
std::vector<Part> person() {
  std::vector<Part> parts{{-1, {0, 1.1, 0}, {0, 1.25, 0}},
                          {0, {0, 1.1, 0}, {0, 0.95, 0}},
                          {0, {0, 1.25, 0}, {0, 1.45, 0}},
                          {2, {0, 1.5, 0}, {0, 1.58, 0}},
                          {3, {0, 1.58, 0}, {0, 1.8, 0.05}}};
  add_pair(parts, 1, {{0.1, 0.95, 0}, {0.1, 0.5, 0.02}, {0.1, 0.08, 0}, {0.1, 0, 0.15}});  // 5-7, 8-10
  add_pair(parts, 2, {{0.18, 1.45, 0}, {0.45, 1.44, 0}, {0.7, 1.43, 0}});                  // 11-12, 13-14
  return parts;
}

TEST(Anatomy, OfAPersonIsPelvisSpineNeckHeadArmsAndLegs) {
  const Described found = describe(person());
  EXPECT_EQ(found.anatomy.root, 1);
  const std::vector<std::string> expected{"spine_1", "pelvis",  "spine_2", "neck",    "head",
                                          "leg_L_1", "leg_L_2", "leg_L_3", "leg_R_1", "leg_R_2",
                                          "leg_R_3", "arm_L_1", "arm_L_2", "arm_R_1", "arm_R_2"};
  EXPECT_EQ(found.names, expected);
}

TEST(Anatomy, TurnedRoundSwapsLeftAndRight) {
  std::vector<Part> parts = person();
  for (Part& part : parts) {
    part.joint.z() = -part.joint.z();
    part.end.z() = -part.end.z();
  }
  EXPECT_EQ(describe(parts, -1).names[5], "leg_R_1");
}

TEST(Anatomy, OfAHandThatSpreadsHasFingers) {
  std::vector<Part> parts = person();
  for (const double z : {0.03, 0.0, -0.03}) add_pair(parts, 0, {{0.7, 1.43, z}, {0.8, 1.43, z}});
  for (std::size_t b = 15; b < parts.size(); ++b) parts[b].parent = parts[b].joint.x() > 0 ? 12 : 14;
  const Described found = describe(parts);
  EXPECT_EQ(found.names[12], "arm_L_2");
  EXPECT_EQ(found.names[15], "finger_L_1_1");
  EXPECT_EQ(found.names[16], "finger_R_1_1");
  EXPECT_EQ(found.names[19], "finger_L_3_1");
}

/// Chest 0, pelvis 1, neck 2, head 3, tail 4 and 5, then legs of three bones: front left, front right, hind left, …
std::vector<Part> beast() {
  std::vector<Part> parts{{-1, {0, 0.8, 0.0}, {0, 0.8, 0.4}},  {0, {0, 0.8, 0.0}, {0, 0.8, -0.4}},
                          {0, {0, 0.85, 0.45}, {0, 1.1, 0.6}}, {2, {0, 1.1, 0.6}, {0, 1.1, 0.9}},
                          {1, {0, 0.8, -0.5}, {0, 0.7, -0.7}}, {4, {0, 0.7, -0.7}, {0, 0.5, -0.9}}};
  add_pair(parts, 0, {{0.15, 0.7, 0.35}, {0.15, 0.4, 0.3}, {0.15, 0.1, 0.35}, {0.15, 0, 0.4}});
  add_pair(parts, 1, {{0.15, 0.7, -0.4}, {0.15, 0.4, -0.3}, {0.15, 0.1, -0.4}, {0.15, 0, -0.35}});
  return parts;
}

TEST(Anatomy, OfABeastHasItsRootAtTheHindLegs) {
  const Described found = describe(beast());
  const std::vector<std::string> expected{
      "spine_1",       "pelvis",        "neck",          "head",          "tail_1",        "tail_2",
      "leg_front_L_1", "leg_front_L_2", "leg_front_L_3", "leg_front_R_1", "leg_front_R_2", "leg_front_R_3",
      "leg_hind_L_1",  "leg_hind_L_2",  "leg_hind_L_3",  "leg_hind_R_1",  "leg_hind_R_2",  "leg_hind_R_3"};
  EXPECT_EQ(found.anatomy.root, 1);
  EXPECT_EQ(found.names, expected);
}

TEST(Anatomy, OfABeastInAPoseIsToldByItsLegs) {
  std::vector<Part> parts = beast();
  parts[3].end.x() = 0.25;  // it looks aside, its tail hangs aside, one leg is lifted
  parts[5].end.x() = -0.3;
  parts[17].end.z() = -0.6;
  const Described found = describe(parts, 1, false);
  EXPECT_EQ(found.names, describe(beast()).names);
}

TEST(Anatomy, ABellyThatHangsFromTheChestIsNoHead) {
  std::vector<Part> parts = beast();
  parts[2].parent = 1;  // the neck hangs from behind the chest
  parts.push_back({0, {0, 0.7, 0.3}, {0, 0.5, 0.4}});
  const Described found = describe(parts);
  EXPECT_EQ(found.names[2], "neck");
  EXPECT_EQ(found.names[3], "head");
  EXPECT_EQ(found.names[18], "") << "no place of its own";
}

TEST(Anatomy, OfSixLegsHasFrontMidAndHind) {
  std::vector<Part> parts = beast();
  add_pair(parts, 0, {{0.15, 0.7, 0.05}, {0.15, 0.4, 0.0}, {0.15, 0.1, 0.05}, {0.15, 0, 0.1}});
  const Described found = describe(parts);
  EXPECT_EQ(found.anatomy.root, 0);
  EXPECT_EQ(found.names[0], "root");
  EXPECT_EQ(found.names[6], "leg_front_L_1");
  EXPECT_EQ(found.names[18], "leg_mid_L_1");
  EXPECT_EQ(found.names[15], "leg_hind_R_1");
}

TEST(Anatomy, SaysNothingOfASnake) {
  std::vector<Part> parts;
  for (int i = 0; i < 9; ++i) parts.push_back({i - 1, {0, 0.05, 0.2 * i}, {0, 0.05, 0.2 * i + 0.2}});
  const Described found = describe(parts);
  EXPECT_EQ(found.anatomy.root, 4) << "the middle";
  for (const std::string& name : found.names) EXPECT_EQ(name, "");
  EXPECT_EQ(describe(parts, 1, false).names, found.names) << "its halves are no pair of legs";
}

TEST(Anatomy, NamesEveryBoneOnce) {
  for (const auto& parts : {person(), beast()}) {
    std::vector<std::string> names = describe(parts).names;
    std::sort(names.begin(), names.end());
    EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  }
}

}  // namespace
}  // namespace sinew
