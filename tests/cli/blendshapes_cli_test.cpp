#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "sinew/io/blendshapes.h"
#include "sinew/io/npz.h"

/// solve --blendshapes, from the command line to its files.
namespace sinew {
namespace {

using Sliders = Program;

TEST_F(Sliders, FramesOrMorphTargetsBecomeARigThatFollowsSliders) {
  const Result solved = run({"solve", "walk.pc2", "--blendshapes", "--bones", "8", "--influences", "4", "--quality",
                             "fast", "--sliders", "map.npz", "--report", "report.json", "--json", "-o", "rig.glb"});
  ASSERT_EQ(solved.status, 0) << solved.err;
  const auto json = nlohmann::json::parse(solved.out);
  EXPECT_EQ(json, nlohmann::json::parse(text_of(folder_ / "report.json")));
  const std::size_t sliders = json["map"]["sliders"].size();
  EXPECT_LE(json["map"]["entries"], 8 * sliders / 10);
  EXPECT_GE(json["map"]["zeros"], 0.9);
  EXPECT_EQ(json["map"]["errors"]["shapes"]["poses"], sliders);
  EXPECT_EQ(json["map"]["errors"]["expressions"]["poses"], 200);
  const Rig rig = read_rig(folder_ / "rig.glb");
  EXPECT_EQ(read_sliders(folder_ / "rig.glb", rig).value().slider_count(), sliders);
  EXPECT_EQ(rig.frame_count(), sliders + 1);
  EXPECT_TRUE(fs::exists(folder_ / "map.npz"));
}

TEST_F(Sliders, AreKeptByCommandsThatLeaveTheBonesAsTheyAre) {
  for (const std::string transforms : {"affine", "rigid"}) {
    ASSERT_EQ(run({"solve", "walk.pc2", "--blendshapes", "--bones", "8", "--influences", "4", "--quality", "fast",
                   "--transforms", transforms, "-o", "face.glb"})
                  .status,
              0);
    const SliderMap map = read_sliders(folder_ / "face.glb", read_rig(folder_ / "face.glb")).value();
    ASSERT_EQ(run({"pack", "face.glb", "-o", "packed.glb"}).status, 0);
    ASSERT_EQ(run({"lod", "face.glb", "--ratio", "0.5", "--no-distance", "-o", "low.glb"}).status, 0);
    ASSERT_EQ(run({"transfer", "face.glb", "walk.pc2", "-o", "other.glb"}).status, 0);
    ASSERT_EQ(run({"lod", "face.glb", "--levels", "2", "--no-distance", "-o", "levels.glb"}).status, 0);
    ASSERT_EQ(run({"reduce", "face.glb", "--influences", "2", "-o", "fewer.glb"}).status, 0);
    ASSERT_EQ(run({"reduce", "levels.glb", "--influences", "2", "-o", "fewer-levels.glb"}).status, 0);
    for (const char* file : {"packed.glb", "low.glb", "other.glb", "levels.glb", "fewer.glb", "fewer-levels.glb"}) {
      const Rig rig = read_rig(folder_ / file);
      const auto kept = read_sliders(folder_ / file, rig);
      ASSERT_TRUE(kept) << file;
      EXPECT_EQ(kept->names, map.names) << file;
      ASSERT_EQ(kept->entries.size(), map.entries.size()) << file;
      for (std::size_t i = 0; i < map.entries.size(); ++i) EXPECT_EQ(kept->entries[i].by, map.entries[i].by);
      // The map turns bones about their heads.
      const Rig before = read_rig(folder_ / "face.glb");
      ASSERT_EQ(rig.bone_count(), before.bone_count()) << file;
      for (std::size_t b = 0; b < rig.bone_count(); ++b)
        EXPECT_LT((rig.bones[b].head - before.bones[b].head).norm(), 1e-5F) << file;
    }
  }
}

TEST_F(Sliders, CommandsThatLeaveThemOutSaySo) {
  ASSERT_EQ(run({"solve", "walk.pc2", "--blendshapes", "--bones", "8", "--quality", "fast", "-o", "face.glb"}).status,
            0);
  ASSERT_EQ(run({"convert", "face.glb", "-o", "face"}).status, 0);
  const Result edited = run({"edit", "face.glb", "--rest", "face/rest.obj", "-o", "edited.glb"});
  ASSERT_EQ(edited.status, 0) << edited.err;
  EXPECT_NE(edited.err.find("face.glb: its sliders are left out"), std::string::npos) << edited.err;
  EXPECT_FALSE(read_sliders(folder_ / "edited.glb", read_rig(folder_ / "edited.glb")));
  expect_refused(2, "--refit weights", {"reduce", "face.glb", "--influences", "2", "--refit", "always", "-o", "r.glb"});
}

TEST_F(Sliders, WhatCannotBeIsRefusedAndNothingIsWritten) {
  expect_refused(2, "--sparsity", {"solve", "walk.pc2", "--sparsity", "0.5", "-o", "rig.glb"});
  expect_refused(2, "--sparsity", {"solve", "walk.pc2", "--blendshapes", "--sparsity", "1.5", "-o", "rig.glb"});
  expect_refused(2, "--skeleton is not something",
                 {"solve", "walk.pc2", "--blendshapes", "--skeleton", "-o", "rig.glb"});
  expect_refused(2, "--max-error is not something",
                 {"solve", "walk.pc2", "--blendshapes", "--max-error", "1", "-o", "rig.glb"});
  expect_refused(2, "kept in .glb files", {"solve", "walk.pc2", "--blendshapes", "-o", "rig.fbx"});
  expect_refused(2, "ends in .npz", {"solve", "walk.pc2", "--blendshapes", "--sliders", "map.txt", "-o", "rig.glb"});
  expect_refused(2, "--influences all", {"solve", "walk.pc2", "--blendshapes", "--influences", "all", "-o", "rig.glb"});
  ASSERT_EQ(run({"solve", "walk.pc2", "--bones", "4", "--quality", "fast", "-o", "plain.glb"}).status, 0);
  expect_refused(3, "has no morph targets", {"solve", "plain.glb", "--blendshapes", "-o", "rig.glb"});
}

}  // namespace
}  // namespace sinew
