#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "sinew/io/gltf_levels.h"

/// lod, transfer, edit and bounds, from the command line to the file.
namespace sinew {
namespace {

class Rework : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    ASSERT_EQ(run({"solve", "walk.pc2", "--bones", "6", "--quality", "fast", "-o", "rig.glb"}).status, 0);
    files_ = files();
  }
};

TEST_F(Rework, LodWritesAsManyTrianglesAsAskedForAndSaysHowFarTheyAre) {
  const Result one = run({"lod", "rig.glb", "--triangles", "300", "--json", "-o", "low.glb"});
  ASSERT_EQ(one.status, 0) << one.err;
  const auto json = nlohmann::json::parse(one.out);
  EXPECT_LE(json["levels"][0]["triangles"], 300);
  EXPECT_GT(json["levels"][0]["mean_percent"], 0.0);
  EXPECT_LT(json["levels"][0]["max_percent"], 10.0);
  EXPECT_EQ(read_rig(folder_ / "low.glb").rest.face_count(), json["levels"][0]["triangles"]);
}

TEST_F(Rework, LevelsGoIntoOneFileOrIntoOneEach) {
  ASSERT_EQ(run({"lod", "rig.glb", "--levels", "2", "--no-distance", "-o", "levels.glb"}).status, 0);
  EXPECT_EQ(read_rig(folder_ / "levels.glb").vertex_count(), read_rig(folder_ / "rig.glb").vertex_count());
  EXPECT_NE(text_of(folder_ / "levels.glb").find("MSFT_lod"), std::string::npos);
  ASSERT_EQ(run({"lod", "rig.glb", "--levels", "2", "--separate", "--no-distance", "-o", "each.glb"}).status, 0);
  EXPECT_GT(read_rig(folder_ / "each-1.glb").vertex_count(), read_rig(folder_ / "each-2.glb").vertex_count());
  EXPECT_FALSE(fs::exists(folder_ / "each.glb"));
}

TEST_F(Rework, TransferAndEditOfTheRigsOwnRestPoseKeepItsFrames) {
  ASSERT_EQ(run({"convert", "rig.glb", "-o", "obj"}).status, 0);
  const Result carried = run({"transfer", "rig.glb", "obj/rest.obj", "--json", "-o", "carried.glb"});
  ASSERT_EQ(carried.status, 0) << carried.err;
  EXPECT_EQ(nlohmann::json::parse(carried.out)["filled"], 0);
  const Result edited = run({"edit", "rig.glb", "--rest", "obj/rest.obj", "--json", "-o", "edited.glb"});
  ASSERT_EQ(edited.status, 0) << edited.err;
  EXPECT_LT(nlohmann::json::parse(edited.out)["moved_percent"], 1e-4);
  const Sequence before = pose_all(read_rig(folder_ / "rig.glb"));
  const Sequence after = pose_all(read_rig(folder_ / "edited.glb"));
  for (std::size_t f = 0; f < before.frame_count(); ++f)
    EXPECT_LT((std::as_const(before.frames)[f] - std::as_const(after.frames)[f]).cwiseAbs().maxCoeff(), 1e-4F);
}

TEST_F(Rework, BoundsPrintsEveryClipAndWritesATree) {
  const Result bounds = run({"bounds", "rig.glb", "--json", "-o", "bounded.glb"});
  ASSERT_EQ(bounds.status, 0) << bounds.err;
  const std::size_t clips = std::max<std::size_t>(1, read_rig(folder_ / "rig.glb").clips.size());
  EXPECT_EQ(nlohmann::json::parse(bounds.out)["clips"].size(), clips);
  EXPECT_NE(text_of(folder_ / "bounded.glb").find("SINEW_bounds"), std::string::npos);
}

TEST_F(Rework, ATextureAndItsLayoutAreWrittenTogether) {
  const Result bones = run({"convert", "rig.glb", "-o", "bones.exr", "--precision", "float"});
  ASSERT_EQ(bones.status, 0) << bones.err;
  EXPECT_EQ(bones.out, "bones.exr\nbones.json\n");
  EXPECT_NE(bones.err.find("half floats move vertices by"), std::string::npos) << bones.err;
  const auto layout = nlohmann::json::parse(text_of(folder_ / "bones.json"));
  EXPECT_EQ(layout["bones"].size(), read_rig(folder_ / "rig.glb").bone_count());
  EXPECT_EQ(layout["frames"], sequence_.frame_count());
  EXPECT_EQ(layout["precision"], "float");
  const Result positions = run({"convert", "walk.pc2", "--positions", "-o", "walk.exr"});  // no rig is needed
  ASSERT_EQ(positions.status, 0) << positions.err;
  EXPECT_EQ(nlohmann::json::parse(text_of(folder_ / "walk.json"))["vertices"], sequence_.vertex_count());
  expect_refused(3, "walk.pc2", {"convert", "walk.pc2", "-o", "r.exr"});
  expect_refused(2, "--max-width", {"convert", "rig.glb", "-o", "r.exr", "--max-width", "0"});
  expect_refused(2, "--precision", {"convert", "rig.glb", "-o", "r.exr", "--precision", "double"});
  write("taken.json", "{}");
  expect_refused(3, "is an input", {"convert", "rig.glb", "taken.json", "--positions", "-o", "taken.exr"});
}

TEST_F(Rework, ACrowdIsOnePageOfRigsWithTheirLevels) {
  ASSERT_EQ(run({"lod", "rig.glb", "--levels", "2", "--no-distance", "-o", "levels.glb"}).status, 0);
  const Result crowd = run({"crowd", "levels.glb", "rig.glb", "--count", "321", "--json", "-o", "crowd.html"});
  if (crowd.err.find("no viewer") != std::string::npos) GTEST_SKIP() << "the viewer is not built in";
  ASSERT_EQ(crowd.status, 0) << crowd.err;
  const auto json = nlohmann::json::parse(crowd.out);
  EXPECT_EQ(json["rigs"][0]["levels"], 3);
  EXPECT_EQ(json["rigs"][1]["levels"], 1);
  EXPECT_GT(json["rigs"][0]["half_error_percent"]["max"], 0.0);
  const std::string page = text_of(folder_ / "crowd.html");
  EXPECT_EQ(json["bytes"], page.size());
  EXPECT_NE(page.find(R"("count":321)"), std::string::npos);
  ASSERT_EQ(run({"crowd", "levels.glb", "rig.glb", "--count", "321", "-o", "again.html"}).status, 0);
  EXPECT_EQ(text_of(folder_ / "again.html").size() - page.size(),
            std::string("again").size() - std::string("crowd").size());
  expect_refused(2, "--count", {"crowd", "rig.glb", "--count", "0", "-o", "r.html"});
  expect_refused(2, "at most", {"crowd", "rig.glb", "--max-size", "1K", "-o", "r.html"});
  expect_refused(
      2, "7 rigs",
      {"crowd", "rig.glb", "rig.glb", "rig.glb", "rig.glb", "rig.glb", "rig.glb", "rig.glb", "-o", "r.html"});
  expect_refused(3, "is an input", {"crowd", "rig.glb", "-o", "rig.glb"});
  expect_refused(3, "walk.pc2", {"crowd", "walk.pc2", "-o", "r.html"});
  write("broken.glb", "glTF but not really a file");
  expect_refused(3, "broken.glb", {"crowd", "broken.glb", "-o", "r.html"});
}

TEST_F(Rework, FilesOfSeveralLevelsKeepThemOrTheCommandSaysThatItTakesTheFinest) {
  ASSERT_EQ(run({"lod", "rig.glb", "--levels", "2", "--no-distance", "-o", "levels.glb"}).status, 0);
  const std::vector<Rig> before = read_rig_levels(folder_ / "levels.glb");
  ASSERT_EQ(before.size(), 3U);
  EXPECT_EQ(count_rig_levels(folder_ / "levels.glb"), 3U);
  EXPECT_EQ(count_rig_levels(folder_ / "rig.glb"), 1U);
  EXPECT_EQ(count_rig_levels(folder_ / "walk.pc2"), 1U);

  const Result reduced = run({"reduce", "levels.glb", "--influences", "1", "-o", "fewer.glb"});
  ASSERT_EQ(reduced.status, 0) << reduced.err;
  const std::vector<Rig> after = read_rig_levels(folder_ / "fewer.glb");
  ASSERT_EQ(after.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(after[i].vertex_count(), before[i].vertex_count());
    EXPECT_GT(used_influences(before[i].weights), 1);
    EXPECT_EQ(used_influences(after[i].weights), 1);
    for (std::size_t f = 0; f < before[i].frame_count(); ++f)
      for (std::size_t b = 0; b < before[i].bone_count(); ++b)
        ASSERT_LT((after[i].motion(f, b) - before[i].motion(f, b)).norm(), 1e-4F);
  }

  const std::string said = "levels.glb: holds 3 levels of detail; the finest is taken";
  for (const std::vector<std::string>& command : {std::vector<std::string>{"pack", "levels.glb"},
                                                  {"edit", "levels.glb", "--rest", "walk.obj"},
                                                  {"transfer", "levels.glb", "walk.obj"},
                                                  {"correct", "levels.glb", "walk.pc2", "--rank", "1"},
                                                  {"lod", "levels.glb", "--no-distance"}}) {
    std::vector<std::string> all = command;
    all.insert(all.end(), {"-o", "out.glb"});
    const Result result = run(all);
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_NE(result.err.find(said), std::string::npos) << command[0] << ": " << result.err;
  }
}

TEST_F(Rework, WhatCannotBeIsRefusedAndNothingIsWritten) {
  expect_refused(2, "--triangles", {"lod", "rig.glb", "--triangles", "0", "-o", "r.glb"});
  expect_refused(2, "only .glb holds several levels", {"lod", "rig.glb", "--levels", "2", "-o", "r.fbx"});
  expect_refused(3, "is an input", {"lod", "rig.glb", "-o", "rig.glb"});
  expect_refused(3, "nowhere.obj", {"transfer", "rig.glb", "nowhere.obj", "-o", "r.glb"});
  expect_refused(2, "--degrees", {"transfer", "rig.glb", "walk.obj", "--degrees", "200", "-o", "r.glb"});
  expect_refused(2, "either --rest or --displacements", {"edit", "rig.glb", "-o", "r.glb"});
  expect_refused(3, "nowhere.npy", {"edit", "rig.glb", "--displacements", "nowhere.npy", "-o", "r.glb"});
  expect_refused(2, "--corrections", {"edit", "rig.glb", "--rest", "walk.obj", "--corrections", "bend", "-o", "r.glb"});
  expect_refused(2, ".glb", {"bounds", "rig.glb", "-o", "r.fbx"});
}

}  // namespace
}  // namespace sinew
