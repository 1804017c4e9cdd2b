#include "sinew/io/gltf_levels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/gltf/gltf_edit.h"
#include "io/gltf/gltf_rigs.h"
#include "sinew/io/gltf.h"
#include "sinew/io/output_file.h"
#include "support/support.h"

namespace sinew {
namespace {

/// The same bones and motion on a bar that is cut less often.
Rig coarser(const Rig& rig, int n) {
  Rig out = rig;
  const Rig other = test::random_rig(n, static_cast<int>(rig.bone_count()), 3, 1, Transforms::rigid, 77);
  out.rest = other.rest;
  out.weights = other.weights;
  return out;
}

TEST(ReadRigLevels, EveryLevelComesBackAsItWasWritten) {
  const test::TemporaryFolder folder;
  const Rig rig = test::random_rig(12, 4, 3, 5, Transforms::rigid);
  const std::vector<Rig> levels{rig, coarser(rig, 7), coarser(rig, 2)};
  write_glb_levels(folder / "levels.glb", levels);
  const std::vector<Rig> back = read_rig_levels(folder / "levels.glb");
  ASSERT_EQ(back.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(back[i].vertex_count(), levels[i].vertex_count());
    EXPECT_LT(test::largest_difference(levels[i], back[i]), 1e-5) << "level " << i;
  }
}

TEST(ReadRigLevels, AFileWithoutLevelsIsOne) {
  const test::TemporaryFolder folder;
  write_glb(folder / "rig.glb", test::chain_rig(6, 5, 3));
  EXPECT_EQ(read_rig_levels(folder / "rig.glb").size(), 1U);
  write_rig(folder / "rig.fbx", test::chain_rig(6, 5, 3));
  EXPECT_EQ(read_rig_levels(folder / "rig.fbx").size(), 1U);
}

TEST(ReadRigLevels, NodesThatAreNotThereAndLevelsWithoutEndAreRefused) {
  const test::TemporaryFolder folder;
  const Rig rig = test::random_rig(6, 4, 3, 3, Transforms::rigid);
  const auto expect_refused = [&](const std::string& part, const nlohmann::json& ids) {
    test::Glb glb = test::take_apart(glb_bytes(rig));
    for (auto& node : glb.json["nodes"])
      if (node.contains("mesh")) node["extensions"]["MSFT_lod"]["ids"] = ids;
    OutputFile file(folder / "bad.glb");
    file.write(test::put_together(glb));
    file.commit();
    test::expect_error(ErrorKind::input, part, [&] { read_rig_levels(folder / "bad.glb"); });
  };
  expect_refused("nodes", {999});
  expect_refused("node", {-1});
  expect_refused("levels of detail", std::vector<int>(1000, 0));
  expect_refused("level 1", {0});  // a bone, which has no mesh
}

}  // namespace
}  // namespace sinew
