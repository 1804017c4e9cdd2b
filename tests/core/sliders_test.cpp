#include "sinew/core/sliders.h"

#include <gtest/gtest.h>

#include <Eigen/Geometry>

#include "sinew/core/blendshapes.h"
#include "support/patch_face.h"
#include "support/support.h"

namespace sinew {
namespace {

using test::expect_error;
using test::patch_face;

SliderMap two_turns() {
  SliderMap map;
  map.names = {"a", "b"};
  map.entries = {{0, 0, {1, 0, 0, 0, 0, 0.5F}}, {0, 1, {0, 2, 0, 0, 0, 0.25F}}};
  return map;
}

std::vector<Bone> one_bone() {
  std::vector<Bone> bones(1);
  bones[0].head = Vector3(3, 1, -2);
  return bones;
}

TEST(Sliders, RigidBonesGoAndTurnBySumsAboutTheirHead) {
  Eigen::MatrixXf values(1, 2);
  values << 0.5F, 2;
  const Affine T = slider_motion(two_turns(), one_bone(), values)(0, 0);
  const Vector3 head = one_bone()[0].head;
  EXPECT_LT((T * head.homogeneous() - (head + Vector3(0.5F, 4, 0))).norm(), 1e-5F);
  const Eigen::Matrix3f R = Eigen::AngleAxisf(0.75F, Vector3::UnitZ()).toRotationMatrix();
  EXPECT_LT((T.leftCols<3>() - R).norm(), 1e-6F);
}

TEST(Sliders, AffineBonesAreExactlyTheSumOfTheirSliders) {
  SliderMap map;
  map.transforms = Transforms::affine;
  map.names = {"a", "b"};
  map.entries = {{0, 0, {1, 0, 2, 0.1F, 0, 0, 0, -0.2F, 0.3F, 0, 0, 0}},
                 {0, 1, {0, 3, 0, 0, 0.5F, 0, 0, 0, 0, 1, 0, 0}}};
  Eigen::MatrixXf values(3, 2);
  values << 1, 0, 0, 1, 0.25F, -2;
  const Motion motion = slider_motion(map, one_bone(), values);
  const Affine still = Motion::identity();
  const Affine sum = still + 0.25F * (motion(0, 0) - still) - 2 * (motion(1, 0) - still);
  EXPECT_LT((motion(2, 0) - sum).norm(), 1e-5F);
  EXPECT_FLOAT_EQ(motion(0, 0)(1, 1), 0.8F);  // the nine numbers are columns
  EXPECT_FLOAT_EQ(motion(0, 0)(2, 1), 0.3F);
}

TEST(Sliders, AllAtZeroAreTheRestPoseToTheBit) {
  EXPECT_EQ(slider_motion(two_turns(), one_bone(), Eigen::MatrixXf::Zero(1, 2))(0, 0), Motion::identity());
}

TEST(Sliders, CheckNamesWhatIsWrong) {
  two_turns().check(1);
  const auto refused = [](const std::string& part, const std::function<void(SliderMap&)>& damage) {
    SliderMap map = two_turns();
    damage(map);
    expect_error(ErrorKind::input, part, [&] { map.check(1); });
  };
  refused("without names", [](SliderMap& map) { map.names.clear(); });
  refused("without names", [](SliderMap& map) { map.names[1] = map.names[0]; });
  refused("there are 2 sliders and 1 bones", [](SliderMap& map) { map.entries[1].slider = 2; });
  refused("there are 2 sliders and 1 bones", [](SliderMap& map) { map.entries[1].bone = 1; });
  refused("out of order", [](SliderMap& map) { map.entries[1].slider = 0; });
  refused("not finite", [](SliderMap& map) { map.entries[1].by[5] = std::numeric_limits<float>::infinity(); });
}

TEST(Blendshapes, FramesThatMoveBecomeSlidersThatTakeTurns) {
  const Blendshapes face = patch_face();
  Sequence frames = shaped_frames(face);  // the rest pose, then each slider
  const Blendshapes again = blendshapes_of(frames);
  ASSERT_EQ(again.slider_count(), 5U);
  EXPECT_EQ(again.rest.shapes[0].name, "shape_1");
  for (std::size_t s = 0; s < 5; ++s)
    EXPECT_LT((again.rest.shapes[s].offsets - face.rest.shapes[s].offsets).cwiseAbs().maxCoeff(), 1e-6F);
  EXPECT_EQ(again.values, face.values);
  again.check();
  frames.frames = Frames(1, frames.vertex_count());
  frames.frames[0] = frames.rest.positions;
  expect_error(ErrorKind::input, "nothing moves", [&] { blendshapes_of(frames); });
}

TEST(Blendshapes, ShapesAddUp) {
  const Blendshapes face = patch_face();
  Eigen::MatrixXf values = Eigen::MatrixXf::Zero(1, 5);
  values(0, 1) = 0.5F;
  values(0, 4) = -1;
  const Points expected = face.rest.positions + 0.5F * face.rest.shapes[1].offsets - face.rest.shapes[4].offsets;
  EXPECT_LT((shaped(face, values).frames[0] - expected).cwiseAbs().maxCoeff(), 1e-6F);
}

TEST(Blendshapes, CheckNamesWhatIsWrong) {
  const auto refused = [](const std::string& part, const std::function<void(Blendshapes&)>& damage) {
    Blendshapes face = patch_face();
    damage(face);
    expect_error(ErrorKind::input, part, [&] { face.check(); });
  };
  refused("has no shapes", [](Blendshapes& face) { face.rest.shapes.clear(); });
  refused("two shapes are called", [](Blendshapes& face) { face.rest.shapes[1].name = face.rest.shapes[0].name; });
  refused("values of", [](Blendshapes& face) { face.values.conservativeResize(2, Eigen::NoChange); });
  refused("not finite", [](Blendshapes& face) { face.values(0, 0) = std::numeric_limits<float>::quiet_NaN(); });
}

TEST(Blendshapes, RandomExpressionsDependOnTheSeedAlone) {
  const Eigen::MatrixXf values = random_slider_values(50, 40, 3);
  EXPECT_EQ(values, random_slider_values(50, 40, 3));
  EXPECT_NE(values, random_slider_values(50, 40, 4));
  EXPECT_GE(values.minCoeff(), 0);
  EXPECT_LT(values.maxCoeff(), 1);
  const auto moved = static_cast<double>((values.array() > 0).count()) / 2000;
  EXPECT_NEAR(moved, 0.2, 0.03);
}

}  // namespace
}  // namespace sinew
