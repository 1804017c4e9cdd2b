#include "sinew/evaluate/rig_match.h"

#include <gtest/gtest.h>

#include "sinew/core/error.h"

namespace sinew {
namespace {

/// Five vertices that follow three bones, each bone elsewhere in each of two frames.
Rig three_bones() {
  Rig rig;
  rig.rest.positions.resize(3, 5);
  rig.rest.positions << 0, 1, 2, 3, 4, 0, 1, 0, 2, 0, 0, 0, 1, 0, 3;
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> W(5, 3);
  W << 1, 0, 0, 0.5, 0.5, 0, 0, 1, 0, 0, 0.25, 0.75, 0.125, 0, 0.875;
  rig.weights = pack_weights(W);
  rig.motion = Motion(2, 3);
  rig.times = {0, 1};
  for (std::size_t b = 0; b < 3; ++b) {
    rig.bones.push_back({"bone" + std::to_string(b), -1, {}, {}});
    rig.motion(1, b).col(3) = Vector3(static_cast<float>(b + 1), 0, -static_cast<float>(b));
  }
  rig.check();
  return rig;
}

/// The same with bones in the order 2, 0, 1.
Rig turned_round(const Rig& rig) {
  Rig out = rig;
  for (Index& bone : out.weights.bones) bone = (bone + 1) % 3;
  for (std::size_t i = 0; i < out.weights.values.size(); ++i)
    if (out.weights.values[i] == 0) out.weights.bones[i] = 0;
  for (std::size_t f = 0; f < 2; ++f)
    for (std::size_t b = 0; b < 3; ++b) out.motion(f, (b + 1) % 3) = rig.motion(f, b);
  out.check();
  return out;
}

TEST(RigMatch, TheOrderOfBonesMakesNoDifference) {
  const Rig known = three_bones();
  const RigMatch match = match_rigs(turned_round(known), known);
  EXPECT_EQ(match.partner, (std::vector<int>{1, 2, 0}));
  EXPECT_EQ(match.weight_error, 0);
  EXPECT_EQ(match.transform_error, 0);
  EXPECT_EQ(match.vertex_transform_error, 0);
}

TEST(RigMatch, AMovedBoneIsTheMeanOfItsEntries) {
  const Rig known = three_bones();
  Rig found = turned_round(known);
  found.motion(1, 0).col(3).x() += 3.6F;  // the partner of bone 2
  const RigMatch match = match_rigs(found, known);
  EXPECT_NEAR(match.transform_error, 3.6 / (12 * 2 * 3), 1e-6);
  EXPECT_NEAR(match.vertex_transform_error, 3.6 * (0.75 + 0.875) / (12 * 2 * 5), 1e-6);
  EXPECT_EQ(match.weight_error, 0);
}

TEST(RigMatch, AMissingBoneCountsWithItsWeights) {
  const Rig known = three_bones();
  Rig found = known;
  found.bones.pop_back();
  found.motion = Motion(2, 2);
  found.motion(1, 0) = known.motion(1, 0);
  found.motion(1, 1) = known.motion(1, 1);
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> W(5, 2);
  W << 1, 0, 0.5, 0.5, 0, 1, 0, 1, 1, 0;
  found.weights = pack_weights(W);
  const RigMatch match = match_rigs(found, known);
  EXPECT_EQ(match.partner, (std::vector<int>{0, 1, -1}));
  EXPECT_NEAR(match.weight_error, (0.75 + 0.875 + 0.75 + 0.875) / 15, 1e-6);
  EXPECT_EQ(match.transform_error, 0) << "only of bones that have a partner";
  EXPECT_GT(match.vertex_transform_error, 0);
}

TEST(RigMatch, OtherFramesOrVerticesAreRefused) {
  const Rig known = three_bones();
  EXPECT_THROW(match_rigs(select_frames(known, {0}), known), Error);
}

}  // namespace
}  // namespace sinew
