#include "io/gltf_rigs.h"
#include "sinew/io/gltf.h"
#include "support/support.h"

namespace sinew {
namespace {

Rig round_trip(const Rig& rig) {
  return parse_gltf_rig(glb_bytes(rig), {});
}

TEST(WriteGlb, RigidBonesComeBack) {
  const Rig rig = test::random_rig(6, 5, 3, 7, Transforms::rigid);
  const Rig back = round_trip(rig);
  EXPECT_EQ(back.transforms, Transforms::rigid);
  EXPECT_EQ(back.rest.positions, rig.rest.positions);
  EXPECT_EQ(back.weights.bones, rig.weights.bones);
  EXPECT_EQ(back.times, rig.times);
  EXPECT_LT(test::largest_difference(rig, back), 1e-6);
}

TEST(WriteGlb, AffineBonesWithShearComeBack) {
  const Rig rig = test::random_rig(6, 5, 4, 7, Transforms::affine);
  const Rig back = round_trip(rig);
  EXPECT_EQ(back.transforms, Transforms::affine);
  EXPECT_LT(test::largest_difference(rig, back), 1e-6);
}

TEST(WriteGlb, JointedChainComesBackAsOne) {
  const Rig rig = test::chain_rig(8, 6, 5);
  rig.check();
  const Rig back = round_trip(rig);
  EXPECT_TRUE(back.jointed);
  for (std::size_t b = 0; b < rig.bone_count(); ++b) EXPECT_EQ(back.bones[b].parent, rig.bones[b].parent);
  EXPECT_LT(test::largest_difference(rig, back), 1e-6);
}

}  // namespace
}  // namespace sinew
