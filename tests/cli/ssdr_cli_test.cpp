#include <nlohmann/json.hpp>

#include "cli/program.h"

/// Partial problems of the ssdr solver as the command line states them, judged by the files that come out.
namespace sinew {
namespace {

class SolveCommand : public Program {};

TEST_F(SolveCommand, SaysWhichDeviceItUsedAndRefusesOneThatIsNotThere) {
  const std::vector<std::string> solve = {"solve", "walk.pc2", "-o", "d.glb", "--bones", "5", "--quality", "fast"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = solve;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  };
  for (const char* device : {"cuda:99", "gpu", "cuda:", "cuda:x"}) {
    const Result refused = with({"--device", device});
    EXPECT_NE(refused.status, 0) << device;
    EXPECT_NE(refused.err.find(device == std::string("cuda:99") ? "GPU" : "cuda:N"), std::string::npos) << refused.err;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "d.glb")) << device;
  }
  const Result solved = with({"--device", "cpu", "--json"});
  ASSERT_EQ(solved.status, 0) << solved.err;
  EXPECT_EQ(nlohmann::json::parse(solved.out)["solve"]["device"], "cpu");
  const Result other = with({"--device", "cuda", "--method", "sma"});
  EXPECT_NE(other.err.find("--device is not something --method sma can do"), std::string::npos) << other.err;
}

class PartialProblem : public SolveCommand {
 protected:
  void SetUp() override {
    SolveCommand::SetUp();
    ASSERT_EQ(run({"solve", "walk.pc2", "-o", "given.glb", "--bones", "7", "--quality", "fast"}).status, 0);
    given_ = read_rig(folder_ / "given.glb");
    given_error_ = error_of("given.glb");
  }

  double error_of(const std::string& rig) {
    const Result result = run({"evaluate", rig, "walk.pc2", "--json"});
    EXPECT_EQ(result.status, 0) << result.err;
    return nlohmann::json::parse(result.out)["errors"]["e_rms"].get<double>();
  }

  /// Solves with the given rig and these options, and returns what was written.
  Rig fitted(const std::vector<std::string>& options) {
    std::vector<std::string> arguments = {"solve", "walk.pc2", "-o", "r.glb", "--rig", "given.glb"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const Result result = run(arguments);
    EXPECT_EQ(result.status, 0) << result.err;
    return read_rig(folder_ / "r.glb");
  }

  /// Largest difference of a bone's motion between a rig and the given one; GLB stores rotations as quaternions.
  float moved(const Rig& rig, std::size_t b) const {
    float largest = 0;
    for (std::size_t f = 0; f < rig.frame_count(); ++f)
      largest = std::max(largest, (rig.motion(f, b) - given_.motion(f, b)).cwiseAbs().maxCoeff());
    return largest;
  }

  static constexpr float kStored = 1e-5F;

  Rig given_;
  double given_error_ = 0;
};

TEST_F(PartialProblem, FittingWeightsKeepsTheMotionOfEveryBone) {
  const Rig rig = fitted({"--fit", "weights"});
  ASSERT_EQ(rig.bone_count(), 7U);
  for (std::size_t b = 0; b < 7; ++b) EXPECT_LT(moved(rig, b), kStored) << b;
  EXPECT_NE(rig.weights.values, given_.weights.values);
  EXPECT_LT(error_of("r.glb"), given_error_);
}

TEST_F(PartialProblem, FittingMotionKeepsEveryWeight) {
  const Rig rig = fitted({"--fit", "motion"});
  EXPECT_EQ(rig.weights.bones, given_.weights.bones);
  EXPECT_EQ(rig.weights.values, given_.weights.values);
  EXPECT_LT(error_of("r.glb"), given_error_);
}

TEST_F(PartialProblem, FittingAllStartsFromTheGivenRigAndGetsBelowIt) {
  const Rig rig = fitted({"--fit", "all"});
  EXPECT_EQ(rig.bone_count(), 7U);
  const double all = error_of("r.glb");
  EXPECT_LT(all, given_error_);
  fitted({"--fit", "motion"});
  EXPECT_LT(all, error_of("r.glb"));
}

TEST_F(PartialProblem, LockedBonesStayByNameAndByNumberWhileOthersMove) {
  const Rig rig = fitted({"--fit", "all", "--lock", given_.bones[2].name, "--lock", "5"});
  EXPECT_LT(moved(rig, 2), kStored);
  EXPECT_LT(moved(rig, 5), kStored);
  float others = 0;
  for (const std::size_t b : {0U, 1U, 3U, 4U, 6U}) others = std::max(others, moved(rig, b));
  EXPECT_GT(others, 100 * kStored);
}

TEST_F(PartialProblem, AddedBonesComeLastAndLowerTheErrorOfFittedWeights) {
  fitted({"--fit", "weights"});
  const double without = error_of("r.glb");
  const Rig rig = fitted({"--fit", "weights", "--add-bones", "2"});
  ASSERT_EQ(rig.bone_count(), 9U);
  EXPECT_EQ(rig.bones[7].name, "helper_0");
  for (std::size_t b = 0; b < 7; ++b) EXPECT_LT(moved(rig, b), kStored) << b;
  EXPECT_LT(error_of("r.glb"), without);
}

TEST_F(PartialProblem, OptionsThatExcludeEachOtherAreRefused) {
  const std::vector<std::string> base = {"solve", "walk.pc2", "-o", "r.glb"};
  const auto refused = [&](int status, const std::string& part, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = base;
    arguments.insert(arguments.end(), more.begin(), more.end());
    expect_refused(status, part, arguments);
  };
  refused(2, "--add-bones needs --rig", {"--add-bones", "2"});
  refused(2, "--lock", {"--lock", "bone_1"});
  refused(2, "nobody", {"--rig", "given.glb", "--lock", "nobody"});
  refused(2, "--add-bones rather than", {"--rig", "given.glb", "--bones", "9"});
  refused(2, "would have no weights", {"--rig", "given.glb", "--fit", "motion", "--add-bones", "1"});
  refused(3, "given.glb", {"--rig", "not/given.glb"});
}

TEST_F(SolveCommand, MaxErrorGivesTheFewestBonesThatReachIt) {
  const Result solved = run(
      {"solve", "walk.pc2", "-o", "r.glb", "--max-error", "12", "--max-bones", "32", "--quality", "fast", "--json"});
  ASSERT_EQ(solved.status, 0) << solved.err;
  const auto report = nlohmann::json::parse(solved.out);
  EXPECT_LT(report["errors"]["e_rms"].get<double>(), 12);
  EXPECT_EQ(report["solve"]["termination"], "target reached");
  const int bones = report["rig"]["bones"].get<int>();
  EXPECT_EQ(report["solve"]["bones"], bones);
  // One bone fewer was tried and did not reach it.
  bool fewer = false;
  for (const auto& tried : report["solve"]["search"])
    fewer = fewer || (tried["bones"] == bones - 1 && tried["e_rms"].get<double>() >= 12);
  EXPECT_TRUE(fewer) << report["solve"]["search"];
}

TEST_F(SolveCommand, MovingTheRestPoseIsWrittenAndLowersTheError) {
  const std::vector<std::string> base = {"solve", "walk.pc2",  "-o",       "r.glb", "--bones",
                                         "6",     "--quality", "balanced", "--json"};
  const auto error = [](const Result& result) {
    return nlohmann::json::parse(result.out)["errors"]["e_rms"].get<double>();
  };
  const Result fixed = run(base);
  ASSERT_EQ(fixed.status, 0) << fixed.err;
  const Points rest = read_rig(folder_ / "r.glb").rest.positions;
  std::vector<std::string> more = base;
  more.push_back("--rest-pose");
  const Result free = run(more);
  ASSERT_EQ(free.status, 0) << free.err;
  EXPECT_LT(error(free), error(fixed));
  EXPECT_GT((read_rig(folder_ / "r.glb").rest.positions - rest).cwiseAbs().maxCoeff(), 1e-4F);
}

TEST_F(SolveCommand, StartsFromFlatsWhereAskedToAndOnlyWhereThatMakesSense) {
  EXPECT_EQ(run({"solve", "walk.pc2", "-o", "f.glb", "--bones", "7", "--quality", "fast", "--start", "flats"}).status,
            0);
  EXPECT_EQ(read_rig(folder_ / "f.glb").bone_count(), 7U);
  const Result given = run({"solve", "walk.pc2", "-o", "g.glb", "--rig", "f.glb", "--start", "flats"});
  EXPECT_EQ(given.status, 2);
  EXPECT_NE(given.err.find("leave --start out"), std::string::npos) << given.err;
  EXPECT_EQ(run({"solve", "walk.pc2", "-o", "g.glb", "--method", "sma", "--start", "flats"}).status, 2);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "g.glb"));
}

TEST_F(SolveCommand, WithoutAUsableModelSaysSoAndWritesNothing) {
  // Finite numbers, but their squares are not: no rig of them can be kept in a file.
  write("huge/0.obj", "v 0 0 0\nv 3e38 0 0\nv 0 3e38 0\nv 0 0 -3e38\nv -3e38 1e38 3e38\nf 1 2 3\nf 1 3 4\nf 2 3 5\n");
  write("huge/1.obj", "v 0 0 0\nv 0 3e38 0\nv 3e38 0 0\nv 0 0 -3e38\nv 1e38 -3e38 3e38\nf 1 2 3\nf 1 3 4\nf 2 3 5\n");
  for (const char* method : {"ssdr", "kavan", "clusters", "flats", "skeleton", "sma"})
    expect_refused(4, "without a usable model", {"solve", "huge", "--method", method, "-o", "h.glb"});
}

}  // namespace
}  // namespace sinew
