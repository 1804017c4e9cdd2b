#include "sinew/io/fbx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/fbx/fbx_rigs.h"
#include "sinew/core/error.h"

namespace sinew {
namespace {

using test::GltfCase;

class WriteFbx : public testing::TestWithParam<GltfCase> {};

TEST_P(WriteFbx, ComesBackAsItWas) {
  const Rig& rig = GetParam().rig;
  const Rig back = parse_fbx_rig(fbx_bytes(rig, {.bake_shear = true}));
  EXPECT_EQ(back.rest.positions, rig.rest.positions);
  EXPECT_EQ(back.rest.face_sizes, rig.rest.face_sizes);
  EXPECT_EQ(back.rest.corners, rig.rest.corners);
  EXPECT_EQ(back.rest.face_materials, rig.rest.face_materials);
  EXPECT_EQ(back.rest.pieces.size(), rig.rest.pieces.size());
  ASSERT_EQ(back.bone_count(), rig.bone_count());
  for (std::size_t b = 0; b < rig.bone_count(); ++b) {
    EXPECT_EQ(back.bones[b].name, rig.bones[b].name);
    EXPECT_EQ(back.bones[b].parent, rig.bones[b].parent);
    EXPECT_EQ(back.bones[b].tail, rig.bones[b].tail);
    EXPECT_LE((back.bones[b].head - rig.bones[b].head).norm(), 1e-6F * rig.bones[b].head.norm());
  }
  EXPECT_EQ(back.weights.bones, rig.weights.bones);
  EXPECT_EQ(back.weights.values, rig.weights.values);
  EXPECT_EQ(back.transforms, rig.transforms);
  EXPECT_EQ(back.jointed, rig.jointed);
  EXPECT_EQ(back.notes.empty(), rig.notes.empty());
  ASSERT_EQ(back.frame_count(), rig.frame_count());
  ASSERT_EQ(back.clips.size(), rig.clips.size());
  for (std::size_t c = 0; c < rig.clips.size(); ++c) {
    EXPECT_EQ(back.clips[c].name, rig.clips[c].name);
    EXPECT_EQ(back.clips[c].frames, rig.clips[c].frames);
  }
  for (std::size_t f = 0; f < rig.frame_count(); ++f) EXPECT_NEAR(back.times[f], rig.times[f], 1e-10);
  EXPECT_LE(test::largest_difference(rig, back), 2e-6);
}

INSTANTIATE_TEST_SUITE_P(Cases, WriteFbx, testing::ValuesIn(test::fbx_cases()),
                         [](const auto& entry) { return entry.param.name; });

}  // namespace
}  // namespace sinew
