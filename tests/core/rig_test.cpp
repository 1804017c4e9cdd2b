#include "sinew/core/rig.h"

#include <Eigen/Geometry>
#include <limits>

#include "support/support.h"

namespace sinew {
namespace {

/// Two rigid bones, the second jointed to the first, three vertices, two frames.
Rig elbow() {
  Rig rig;
  rig.rest.positions.resize(3, 3);
  rig.rest.positions << 0, 1, 2, 0, 0.5F, 0, 0, 0, 1;
  rig.bones = {{"upper", -1, {0, 0, 0}, {1, 0, 0}}, {"lower", 0, {1, 0, 0}, {2, 0, 0}}};
  rig.weights = {2, {0, 0, 1, 0, 1, 0}, {1, 0, 0.75F, 0.25F, 1, 0}};
  rig.motion = Motion(2, 2);
  const Eigen::AngleAxisf turn(0.7F, Vector3(0.6F, 0, 0.8F));
  rig.motion(1, 1).leftCols<3>() = turn.toRotationMatrix();
  rig.motion(1, 1).col(3) = rig.bones[1].head - turn * rig.bones[1].head;
  rig.times = {0, 1};
  rig.transforms = Transforms::rigid;
  rig.jointed = true;
  return rig;
}

TEST(Rig, PosesByBlendedTransformsAfterCorrections) {
  Rig rig = elbow();
  rig.check();
  rig.corrections = Corrections{{Points::Constant(3, 3, 0.5F)}, {}, Eigen::MatrixXf::Constant(2, 1, 2.0F)};
  rig.check();
  Points posed(3, 3);
  pose(rig, 1, posed);
  const Vector3 p = rig.rest.positions.col(1) + Vector3::Constant(1.0F);
  const Vector3 expected = 0.75F * (rig.motion(1, 1).leftCols<3>() * p + rig.motion(1, 1).col(3)) + 0.25F * p;
  EXPECT_LT((posed.col(1) - expected).norm(), 1e-6F);
  EXPECT_EQ(pose_all(rig).frames[1], posed);
}

TEST(Rig, NamesTheFirstViolation) {
  Rig rig = elbow();
  rig.weights.values[2] = 0.5F;
  test::expect_error(ErrorKind::input, "weights of vertex 1 sum to 0.75", [&] { rig.check(); });
  rig = elbow();
  rig.weights.bones[3] = 1;
  test::expect_error(ErrorKind::input, "vertex 1 refers to bone 1 twice", [&] { rig.check(); });
  rig = elbow();
  rig.weights.bones[4] = 2;
  test::expect_error(ErrorKind::input, "vertex 2 refers to bone 2", [&] { rig.check(); });
  rig = elbow();
  rig.motion(1, 0)(0, 0) = 1.01F;
  test::expect_error(ErrorKind::input, "frame 1, bone 0 'upper': transform is not rigid", [&] { rig.check(); });
  rig = elbow();
  rig.motion(1, 1)(0, 3) += 0.01F;
  test::expect_error(ErrorKind::input, "bone 1 'lower' leaves its joint", [&] { rig.check(); });
  rig = elbow();
  rig.bones[0].parent = 1;
  test::expect_error(ErrorKind::input, "parents come first", [&] { rig.check(); });
  rig = elbow();
  rig.motion(0, 1)(2, 3) = std::numeric_limits<float>::quiet_NaN();
  test::expect_error(ErrorKind::input, "frame 0, bone 1", [&] { rig.check(); });
}

TEST(Rig, RefusesNumbersThatAreNotFiniteWhereverTheyAre) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Rig rig = elbow();
  rig.bones[1].head.y() = nan;
  test::expect_error(ErrorKind::input, "bone 1 'lower': its head or tail is not finite", [&] { rig.check(); });
  rig = elbow();
  rig.bones[0].tail.z() = std::numeric_limits<float>::infinity();
  test::expect_error(ErrorKind::input, "bone 0 'upper': its head or tail is not finite", [&] { rig.check(); });
  rig = elbow();
  rig.times[1] = nan;
  test::expect_error(ErrorKind::input, "time of frame 1", [&] { rig.check(); });
}

TEST(Rig, RefusesTimesThatStandStillAndClipsThatDoNotPartitionTheFrames) {
  Rig rig = elbow();
  rig.times = {1, 1};
  test::expect_error(ErrorKind::input, "time of frame 1", [&] { rig.check(); });
  rig.clips = {{"a", 0, 1}, {"b", 1, 1}};
  rig.check();
  rig.clips = {{"a", 0, 1}};
  test::expect_error(ErrorKind::input, "clips hold 1 frames, there are 2", [&] { rig.check(); });
  rig.clips = {{"a", 0, 1}, {"b", 1, 2}};
  test::expect_error(ErrorKind::input, "clip 'b' has 2 frames from frame 1", [&] { rig.check(); });
  rig.clips = {{"a", 0, 1}, {"b", 1, std::numeric_limits<std::size_t>::max()}, {"c", 0, 2}};
  test::expect_error(ErrorKind::input, "clip 'b'", [&] { rig.check(); });
}

TEST(Rig, UnusedSlotsNameBoneZero) {
  Rig rig = elbow();
  rig.weights.bones[5] = 1;
  test::expect_error(ErrorKind::input, "vertex 2 has bone 1 in an unused slot", [&] { rig.check(); });
}

TEST(PackWeights, KeepsTheLargestSortedAndNormalised) {
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> dense(3, 4);
  dense << 0.1, 0.2, 0.3, 0.4, 0, 0, 1, -1e-12, 0, 0, 0, 0;
  const SkinWeights packed = pack_weights(dense, 2);
  EXPECT_EQ(packed.bones, (std::vector<Index>{3, 2, 2, 0, 0, 0}));
  EXPECT_NEAR(packed.values[0], 4.0 / 7, 1e-7);
  EXPECT_NEAR(packed.values[1], 3.0 / 7, 1e-7);
  EXPECT_EQ(packed.values[2], 1.0F);
  EXPECT_EQ(packed.values[3], 0.0F);
  EXPECT_EQ(packed.values[4], 1.0F);
  EXPECT_EQ(pack_weights(dense).influences, 4);
  EXPECT_NEAR((unpack_weights(pack_weights(dense), 4).row(0).cast<double>() - dense.row(0)).norm(), 0, 1e-7);
}

}  // namespace
}  // namespace sinew
