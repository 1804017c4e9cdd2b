#include <nlohmann/json.hpp>

#include "cli/program.h"

/// `sinew sweep`: rows over values of one option, remembered, drawn.
namespace sinew {
namespace {

using Json = nlohmann::json;

class Sweep : public Program {
 protected:
  const std::vector<std::string> clusters_{"sweep",    "walk.obj", "walk.pc2", "--over", "bones=2:6:2",
                                           "--method", "clusters", "-o",       "out"};

  std::vector<std::string> with(std::vector<std::string> more) const {
    std::vector<std::string> all = clusters_;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  Json document() const { return Json::parse(text_of(folder_ / "out/sweep.json")); }
};

/// How often a word is in a text.
std::size_t count_of(const std::string& word, const std::string& text) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

TEST_F(Sweep, EachRowHasTheFiguresOfTheSolveThatItStandsFor) {
  const Result swept = run(with({"--method", "sma --epsilon 0.2 --iterations 0", "--json"}));
  ASSERT_EQ(swept.status, 0) << swept.err;
  const Json rows = Json::parse(swept.out);
  ASSERT_EQ(rows.size(), 6U);
  EXPECT_EQ(rows[2]["method"], "clusters");
  EXPECT_EQ(rows[2]["bones"], 6);
  EXPECT_EQ(rows[2]["rig_bones"], 6);
  const Json solved =
      Json::parse(run({"solve", "walk.pc2", "--method", "clusters", "--bones", "6", "-o", "r.glb", "--json"}).out);
  EXPECT_EQ(rows[2]["e_rms"], solved["errors"]["e_rms"]);
  EXPECT_EQ(rows[2]["bytes"], solved["bytes"]);
  EXPECT_GT(rows[3]["near_rigid_fraction"], 0);
  std::set<std::string> expected = files_;
  expected.insert({"r.glb", "out", "out/sweep.csv", "out/sweep.json", "out/e_rms.svg"});
  EXPECT_EQ(files(), expected);
  const std::string csv = text_of(folder_ / "out/sweep.csv");
  EXPECT_EQ(csv.rfind("method,bones,rig_bones,", 0), 0U) << csv;
  EXPECT_EQ(count_of("\n", csv), 7U);
}

TEST_F(Sweep, RowsThatAreDoneAreNotDoneAgain) {
  ASSERT_EQ(run(clusters_).status, 0);
  // A figure that no solve could give shows that the row was taken from the file.
  std::string text = text_of(folder_ / "out/sweep.json");
  Json changed = Json::parse(text);
  changed["rows"][1]["e_rms"] = 123456;
  write("out/sweep.json", changed.dump());
  std::vector<std::string> wider = clusters_;
  wider[4] = "bones=4,6,8";
  wider.emplace_back("--json");
  const Json rows = Json::parse(run(wider).out);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0]["e_rms"], 123456);
  EXPECT_EQ(rows[1]["e_rms"], changed["rows"][2]["e_rms"]);
  EXPECT_LT(rows[2]["e_rms"], rows[1]["e_rms"]);
  EXPECT_EQ(document()["rows"].size(), 4U) << "the row of two bones is kept";
}

TEST_F(Sweep, WhatComesBeforeTheSweptCommandIsDoneOnce) {
  const Result swept = run({"sweep", "walk.pc2", "--over", "rank=0:2", "--method", "clusters --bones 3", "--y", "e_rms",
                            "--y", "distortion_percent", "-o", "out", "--json"});
  ASSERT_EQ(swept.status, 0) << swept.err;
  const Json rows = Json::parse(swept.out);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_LT(rows[2]["e_rms"], rows[1]["e_rms"]);
  EXPECT_LT(rows[1]["e_rms"], rows[0]["e_rms"]);
  EXPECT_EQ(document()["starts"].size(), 1U);
  EXPECT_TRUE(fs::exists(folder_ / "out/distortion_percent.svg"));
  const Json solved =
      Json::parse(run({"solve", "walk.pc2", "--method", "clusters", "--bones", "3", "-o", "r.glb", "--json"}).out);
  const double of_the_start = solved["errors"]["e_rms"];
  EXPECT_NEAR(rows[0]["e_rms"].get<double>(), of_the_start, 1e-6 * of_the_start) << "written twice";
}

TEST_F(Sweep, CommandsAfterABarSeeTheSequence) {
  const Result swept = run({"sweep", "walk.obj", "walk.pc2", "--over", "influences=1,2", "--method",
                            "clusters --bones 3 | reduce --examples SEQUENCE --refit always", "-o", "out", "--json"});
  ASSERT_EQ(swept.status, 0) << swept.err;
  const Json rows = Json::parse(swept.out);
  EXPECT_EQ(rows[0]["rig_influences"], 1);
  EXPECT_EQ(rows[1]["rig_influences"], 2);
  EXPECT_LT(rows[1]["e_rms"], rows[0]["e_rms"]);
}

TEST_F(Sweep, PlotsNameBothAxesAndDrawThePointsOfOthers) {
  write("points.csv", "curve,x,y\nTheirs & others,3,5.5\nTheirs & others,6,2.25\n");
  ASSERT_EQ(run(with({"--points", "points.csv"})).status, 0);
  const std::string svg = text_of(folder_ / "out/e_rms.svg");
  EXPECT_NE(svg.find("bones asked for"), std::string::npos);
  EXPECT_NE(svg.find("E_RMS, 1/1000 of the radius"), std::string::npos);
  EXPECT_NE(svg.find(">clusters<"), std::string::npos);
  EXPECT_NE(svg.find("Theirs &amp; others"), std::string::npos);
  EXPECT_NE(svg.find("prefers-color-scheme:dark"), std::string::npos);
  EXPECT_EQ(count_of("<circle", svg), 4U) << "three rows and the legend";
  EXPECT_EQ(count_of("<rect x=", svg), 3U) << "two points of others and the legend";
}

TEST_F(Sweep, WrongUsageIsRefusedBeforeAnythingIsSolved) {
  const auto over = [](const std::string& text) {
    return std::vector<std::string>{"sweep", "walk.pc2", "--over", text, "-o", "out"};
  };
  expect_refused(2, "--over", over("bones"));
  expect_refused(2, "--over", over("bones=9:2"));
  expect_refused(2, "--over", over("bones=2:9:0"));
  expect_refused(2, "--over", over("bones=2,x"));
  expect_refused(2, "has an option --colours", over("colours=1:2"));
  expect_refused(2, "--y speed", with({"--y", "speed"}));
  expect_refused(2, "cannot follow a solve", with({"--method", "clusters | view"}));
  expect_refused(2, "is what the sweep goes over", with({"--method", "clusters --bones 3"}));
  expect_refused(3, "points.csv", with({"--points", "points.csv"}));
  expect_refused(3, "nowhere", {"sweep", "nowhere", "--over", "bones=1:2", "-o", "out"});
  expect_refused(3, "folder", {"sweep", "walk.pc2", "--over", "bones=1:2", "-o", "missing/out"});
}

TEST_F(Sweep, WhatACommandSaysAboutItsOptionsIsPassedOn) {
  const Result result = run(with({"--options", "--epsilon 0.1"}));
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find("--epsilon belongs to --method sma"), std::string::npos) << result.err;
}

TEST_F(Sweep, ARowThatCannotBeSolvedLeavesTheOthers) {
  const Result result = run({"sweep", "walk.pc2", "--over", "frames=1", "-o", "out"});
  EXPECT_EQ(result.status, 2) << "frames are no number";
  write("still/f1.obj", text_of(folder_ / "walk.obj"));
  write("still/f2.obj", text_of(folder_ / "walk.obj"));
  const Result still = run({"sweep", "still", "--over", "bones=2,3", "--method", "clusters", "--method",
                            "clusters --allow-static", "-o", "out"});
  EXPECT_EQ(still.status, 4) << still.err;
  EXPECT_NE(still.err.find("2 of 4 rows"), std::string::npos) << still.err;
  EXPECT_NE(still.out.find("nothing moves"), std::string::npos) << still.out;
  EXPECT_EQ(count_of("\n", text_of(folder_ / "out/sweep.csv")), 3U);
}

TEST_F(Sweep, AFolderOfAnotherSweepIsRefused) {
  ASSERT_EQ(run(clusters_).status, 0);
  expect_refused(3, "another option",
                 {"sweep", "walk.pc2", "--over", "iterations=1,2", "--method", "clusters", "-o", "out"});
  write("out/sweep.json", "[1, 2");
  expect_refused(3, "not of a sweep", clusters_);
}

TEST_F(Sweep, AnInterruptedSweepKeepsItsRowsAndGoesOn) {
  std::vector<std::string> words{"sweep",     "walk.pc2", "--over", "seed=1:400", "--options",
                                 "--bones 9", "--jobs",   "1",      "-o",         "out"};
  const pid_t child = start(words);
  for (int i = 0; i < 600 && !fs::exists(folder_ / "out/sweep.json"); ++i) usleep(50000);
  ASSERT_TRUE(fs::exists(folder_ / "out/sweep.json"));
  kill(child, SIGINT);
  const Result result = finish(child);
  EXPECT_EQ(result.status, 130) << result.err;
  EXPECT_NE(result.err.find("goes on"), std::string::npos) << result.err;
  const std::size_t done = document()["rows"].size();
  EXPECT_GE(done, 1U);
  EXPECT_LT(done, 400U);
  for (const std::string& file : files())
    EXPECT_EQ(file.find(".sweep-"), std::string::npos) << "nothing temporary is left: " << file;
  words[3] = "seed=1,2";
  EXPECT_EQ(run(words).status, 0);
}

}  // namespace
}  // namespace sinew
