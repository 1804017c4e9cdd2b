#include "sinew/evaluate/skeleton_match.h"

#include <gtest/gtest.h>

#include <Eigen/Geometry>

#include "sinew/core/bounds.h"

namespace sinew {
namespace {

/// A chain of bones along x with joints at 1, 2, 3, ... that all bend but the last, which turns by 2 degrees only.
Rig chain(int bones) {
  Rig rig;
  rig.rest.positions.resize(3, 2 * bones);
  rig.weights.influences = 1;
  rig.motion = Motion(2, static_cast<std::size_t>(bones));
  rig.times = {0, 1};
  rig.jointed = true;
  rig.transforms = Transforms::rigid;
  Eigen::Isometry3f world = Eigen::Isometry3f::Identity();
  for (int b = 0; b < bones; ++b) {
    const auto x = static_cast<float>(b);
    rig.bones.push_back({"bone" + std::to_string(b), b - 1, {x, 0, 0}, {x + 1, 0, 0}});
    rig.rest.positions.col(2 * b) = Vector3(x + 0.25F, 0.5F, 0);
    rig.rest.positions.col(2 * b + 1) = Vector3(x + 0.75F, -0.5F, 0.3F);
    for (int i = 0; i < 2; ++i) {
      rig.weights.bones.push_back(static_cast<Index>(b));
      rig.weights.values.push_back(1);
    }
    const float degrees = b + 1 == bones ? 2 : 20;
    world = world * Eigen::Translation3f(x, 0, 0) * Eigen::AngleAxisf(degrees * 0.01745329F, Vector3::UnitZ()) *
            Eigen::Translation3f(-x, 0, 0);
    rig.motion(1, static_cast<std::size_t>(b)) = world.matrix().topRows<3>();
  }
  rig.check();
  return rig;
}

TEST(SkeletonMatch, ARigMatchesItself) {
  const Rig rig = chain(5);
  const SkeletonMatch match = match_skeletons(rig, rig);
  ASSERT_EQ(match.joints.size(), 3U) << "the root is no joint and the last one bends by 2 degrees only";
  EXPECT_EQ(match.joints[0].name, "bone1");
  EXPECT_NEAR(match.joints[1].degrees, 20, 1e-3);
  EXPECT_EQ(match.recall, 1);
  EXPECT_EQ(match.precision, 1);
  EXPECT_EQ(match.parent_agreement, 1);
}

TEST(SkeletonMatch, AMissingAndAnInventedJointLowerRecallAndPrecision) {
  const Rig known = chain(5);
  Rig moved = known;
  moved.bones[2].head.y() += 1;
  const SkeletonMatch match = match_skeletons(moved, known);
  EXPECT_NEAR(match.recall, 2.0 / 3, 1e-9);
  EXPECT_NEAR(match.precision, 3.0 / 4, 1e-9);
  EXPECT_FALSE(match.joints[1].found);
  EXPECT_EQ(match.parent_agreement, 1) << "joints 1 and 3 are neighbours when 2 is not found";
}

/// For known joints that were moved from where their bones turn: sliding does not matter.
SkeletonMatchOptions moved_joints() {
  SkeletonMatchOptions options;
  options.slide_percent = 100;
  return options;
}

TEST(SkeletonMatch, OneJointFindsOneKnownJoint) {
  // Joints 1 and 2 of the known chain 2.4 % apart; the recovered one has a joint between them, and 2's is elsewhere.
  Rig known = chain(5);
  const double diagonal = bounding_box_diagonal(known.rest.positions);
  known.bones[2].head = known.bones[1].head + Vector3(static_cast<float>(0.024 * diagonal), 0, 0);
  Rig found = known;
  found.bones[1].head.x() += static_cast<float>(0.01 * diagonal);
  found.bones[2].head.y() += 1;
  const SkeletonMatch match = match_skeletons(found, known, moved_joints());
  EXPECT_NEAR(match.recall, 2.0 / 3, 1e-9);
  EXPECT_NEAR(match.precision, 3.0 / 4, 1e-9);
  EXPECT_EQ(match.near_recall, 1) << "the joint between the two is near both";
  EXPECT_TRUE(match.joints[0].found);
  EXPECT_EQ(match.joints[0].matched, "bone1");
  EXPECT_FALSE(match.joints[1].found);
  EXPECT_TRUE(match.joints[1].near);
}

TEST(SkeletonMatch, TakesTheSecondBestWhereThatLetsBothBeFound) {
  // Joint 1 is nearer to what joint 2 needs: each for itself would take the same.
  Rig known = chain(5);
  const auto percent = static_cast<float>(bounding_box_diagonal(known.rest.positions) / 100);
  known.bones[2].head = known.bones[1].head + Vector3(2 * percent, 0, 0);
  Rig found = known;
  found.bones[1].head = known.bones[1].head + Vector3(0.9F * percent, 0, 0);
  found.bones[2].head = known.bones[1].head - Vector3(1.5F * percent, 0, 0);
  const SkeletonMatch match = match_skeletons(found, known, moved_joints());
  EXPECT_EQ(match.recall, 1);
  EXPECT_EQ(match.joints[0].matched, "bone2");
  EXPECT_EQ(match.joints[1].matched, "bone1");
}

TEST(SkeletonMatch, AnotherRootDoesNotMatterButAnotherTreeDoes) {
  const Rig known = chain(5);
  Rig star = known;
  for (std::size_t b = 1; b < 5; ++b) star.bones[b].parent = 0;
  EXPECT_EQ(match_skeletons(star, known).parent_agreement, 1) << "every pair of joints shares bone 0";
  Rig twisted = known;
  twisted.bones[1].head = known.bones[3].head;
  twisted.bones[3].head = known.bones[2].head;
  twisted.bones[2].head = known.bones[1].head;
  EXPECT_LT(match_skeletons(twisted, known).parent_agreement, 1);
  EXPECT_EQ(match_skeletons(twisted, known).recall, 1);
}

TEST(SkeletonMatch, AJointThatCarriesTheWholeMeshDoesNotCount) {
  Rig known = chain(4);
  for (Index& bone : known.weights.bones) bone = std::max<Index>(bone, 1);
  const SkeletonMatch match = match_skeletons(known, known);
  ASSERT_EQ(match.joints.size(), 1U);
  EXPECT_EQ(match.joints[0].name, "bone2");
}

/// x as it is after a turn about the z axis through a point.
Affine turn_about(const Vector3& centre, float degrees) {
  const Eigen::Isometry3f turn = Eigen::Translation3f(centre) *
                                 Eigen::AngleAxisf(degrees * 0.01745329F, Vector3::UnitZ()) *
                                 Eigen::Translation3f(-centre);
  return turn.matrix().topRows<3>();
}

Affine after(const Affine& outer, const Affine& inner) {
  Affine out = outer.leftCols<3>() * inner;
  out.col(3) += outer.col(3);
  return out;
}

TEST(SkeletonMatch, ABoneWithoutVerticesIsOneBodyWithWhatHangsRigidlyFromIt) {
  // Bone 2 loses its vertices, and bone 3 hangs from it at an angle of 30 degrees that the rest pose does not have.
  Rig known = chain(4);
  for (Index& bone : known.weights.bones)
    if (bone == 2) bone = 3;
  for (std::size_t f = 0; f < 2; ++f)
    known.motion(f, 3) = after(known.motion(f, 2), turn_about(Vector3(2.6F, 0.2F, 0), 30));
  const SkeletonMatch match = match_skeletons(known, known);
  ASSERT_EQ(match.joints.size(), 2U);
  EXPECT_EQ(match.joints[1].name, "bone2") << "the joint that can be seen is where both turn";
  EXPECT_EQ(match.recall, 1);
}

TEST(SkeletonMatch, AJointThatSlidesIsListedButDoesNotCount) {
  Rig known = chain(5);
  for (std::size_t b = 2; b < 5; ++b) known.motion(1, b).col(3) += Vector3(0, 1, 0);
  const SkeletonMatch match = match_skeletons(known, known);
  ASSERT_EQ(match.joints.size(), 3U);
  EXPECT_FALSE(match.joints[1].turns);
  EXPECT_NEAR(match.joints[1].slide, 100 / 4.6, 1.0);
  EXPECT_EQ(match.known_joints, 2);
  EXPECT_EQ(match.recall, 1);
}

TEST(SkeletonMatch, AMirroredBoneBendsByTheAngleOfTheClosestRotation) {
  // Bones 2 and 3 are thin and inside out along y, in every frame: they still turn by 20 degrees against bone 1.
  Rig known = chain(5);
  known.transforms = Transforms::affine;
  Affine mirror = Motion::identity();
  mirror(1, 1) = -0.25F;
  for (std::size_t f = 0; f < 2; ++f)
    for (std::size_t b = 2; b < 4; ++b) known.motion(f, b) = after(known.motion(f, b), mirror);
  const SkeletonMatch match = match_skeletons(known, known);
  ASSERT_EQ(match.joints.size(), 3U);
  for (const JointMatch& joint : match.joints) EXPECT_NEAR(joint.degrees, 20, 1e-2) << joint.name;
}

TEST(SkeletonMatch, ARigWithoutFramesHasNoJointsThatBend) {
  Rig known = chain(5);
  known.motion = Motion(0, 5);
  known.times.clear();
  known.check();
  const SkeletonMatch match = match_skeletons(chain(5), known);
  EXPECT_EQ(match.joints.size(), 0U);
  EXPECT_EQ(match.recall, 1);
  EXPECT_EQ(match.precision, 1);
  Rig elsewhere = known;
  elsewhere.rest.positions.row(1).array() += 1;
  EXPECT_EQ(match_skeletons(elsewhere, known).precision, 1);
}

TEST(SkeletonMatch, ARigThatRestsInAnotherPoseMatchesByItsFrames) {
  const Rig known = chain(5);
  Rig other = known;  // at rest as the known one is in frame 1
  for (std::size_t b = 0; b < 5; ++b) {
    const Affine pose = known.motion(1, b);
    other.bones[b].head = pose.leftCols<3>() * known.bones[b].head + pose.col(3);
    Eigen::Isometry3f back = Eigen::Isometry3f::Identity();
    back.matrix().topRows<3>() = pose;
    back = back.inverse();
    for (std::size_t f = 0; f < 2; ++f)
      other.motion(f, b) = after(known.motion(f, b), Affine(back.matrix().topRows<3>()));
    for (Eigen::Index v = 2 * static_cast<Eigen::Index>(b); v < 2 * static_cast<Eigen::Index>(b) + 2; ++v)
      other.rest.positions.col(v) = pose.leftCols<3>() * known.rest.positions.col(v) + pose.col(3);
  }
  const SkeletonMatch match = match_skeletons(other, known);
  EXPECT_EQ(match.recall, 1);
  EXPECT_EQ(match.precision, 1);
  EXPECT_LT(match.joints[2].percent, 0.01);
  other.bones[2].head.y() += 1;
  EXPECT_LT(match_skeletons(other, known).recall, 1);
}

}  // namespace
}  // namespace sinew
