#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/program.h"
#include "sinew/view/page.h"

/// The one path by which commands write: outputs are checked against all inputs and refused at once, and a signal
/// before the file is in place leaves the old one.
namespace sinew {
namespace {

class Outputs : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    ASSERT_EQ(run({"solve", "walk.pc2", "-o", "rig.glb", "--method", "clusters", "--bones", "5"}).status, 0);
    ASSERT_EQ(run({"convert", "walk.pc2", "-o", "morphs.glb"}).status, 0);
  }

  /// Waits until the program catches SIGINT, which it does before it reads anything.
  static void wait_until_listening(pid_t child) {
    for (int i = 0; i < 20000; ++i) {
      std::ifstream status("/proc/" + std::to_string(child) + "/status");
      for (std::string line; std::getline(status, line);)
        if (line.rfind("SigCgt:", 0) == 0 && (std::stoull(line.substr(7), nullptr, 16) >> (SIGINT - 1) & 1U) != 0)
          return;
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

  static bool ended(pid_t child) {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == child;
  }

  /// Halts the command as soon as it begins to write, asks it to stop, lets it go on. Repeated where the file was in
  /// its place already.
  Result interrupt_while_writing(const std::vector<std::string>& command) {
    Result result;
    for (int attempt = 0; attempt < 20; ++attempt) {
      write("out.glb", "old");
      const std::set<std::string> before = files();
      const pid_t child = start(command);
      while (files() == before && !ended(child)) std::this_thread::sleep_for(std::chrono::microseconds(200));
      kill(child, SIGSTOP);
      const bool in_time = text_of(folder_ / "out.glb") == "old" && !ended(child);
      kill(child, SIGINT);
      kill(child, SIGCONT);
      result = finish(child);
      if (in_time && result.status != 0) return result;
    }
    return result;
  }
};

TEST_F(Outputs, NeverReplaceAnInputHoweverItIsNamed) {
  const std::string taken = "which is an input";
  expect_refused(3, taken, {"reduce", "rig.glb", "--examples", "morphs.glb", "-o", "morphs.glb"});
  expect_refused(3, taken, {"compress", "rig.glb", "--examples", "morphs.glb", "-o", "./morphs.glb"});
  expect_refused(3, taken, {"reduce", "rig.glb", "-o", "rig.glb"});
  expect_refused(3, taken, {"compress", "rig.glb", "-o", "rig.glb"});
  expect_refused(3, taken, {"correct", "rig.glb", "morphs.glb", "-o", "morphs.glb"});
  expect_refused(3, taken, {"solve", "walk.pc2", "--rig", "rig.glb", "-o", "rig.glb"});
  expect_refused(3, taken, {"solve", "walk.pc2", "--rest", "morphs.glb", "-o", "morphs.glb"});
  expect_refused(3, taken, {"solve", "walk.pc2", "-o", "r.glb", "--report", "walk.obj"});  // read beside walk.pc2
  expect_refused(3, taken, {"solve", "walk.pc2", "-o", "r.glb", "--checkpoint", "walk.pc2"});
  expect_refused(3, taken, {"convert", "walk.pc2", "-o", "walk.mdd"});  // writes walk.obj beside it
  ASSERT_EQ(run({"convert", "walk.pc2", "-o", "frames"}).status, 0);
  expect_refused(3, taken, {"convert", "frames", "-o", "frames"});
  expect_refused(3, taken, {"solve", "frames", "-o", "r.glb", "--report", "frames/frame0002.obj"});
  expect_refused(3, taken, {"view", "rig.glb", "--against", "walk.pc2", "-o", "walk.obj"});
  expect_refused(2, "name the same file", {"solve", "walk.pc2", "-o", "r.glb", "--checkpoint", "./r.glb"});
  expect_refused(2, "name the same file",
                 {"solve", "walk.pc2", "-o", "r.glb", "--checkpoint", "c", "--report",
                  "../" + folder_.path().filename().string() + "/c"});
}

TEST_F(Outputs, OfAWrongExtensionAreRefusedBeforeAnythingIsRead) {
  const std::string ends = "-o out.obj: expected a name that ends in .fbx, .glb";
  expect_refused(2, ends, {"solve", "nowhere", "-o", "out.obj"});
  expect_refused(2, ends, {"correct", "nowhere.glb", "nowhere", "-o", "out.obj"});
  expect_refused(2, ends, {"reduce", "nowhere.glb", "-o", "out.obj"});
  expect_refused(2, ends, {"compress", "nowhere.glb", "-o", "out.obj"});
  expect_refused(2, "-o out.xyz: expected", {"convert", "nowhere.glb", "-o", "out.xyz"});
}

TEST_F(Outputs, ASignalBeforeTheWorkIsNeverSwallowed) {
  for (const std::vector<std::string>& command : {std::vector<std::string>{"reduce", "rig.glb", "-o", "out.glb"},
                                                  {"compress", "rig.glb", "-o", "out.glb", "--force"},
                                                  {"correct", "rig.glb", "walk.pc2", "-o", "out.glb"},
                                                  {"convert", "rig.glb", "-o", "out.glb"}}) {
    SCOPED_TRACE(command[0]);
    Result result;
    for (int attempt = 0; attempt < 20 && result.status != 130; ++attempt) {
      write("out.glb", "old");
      const pid_t child = start(command);
      wait_until_listening(child);
      kill(child, SIGINT);
      result = finish(child);
    }
    EXPECT_EQ(result.status, 130) << result.err;
    EXPECT_NE(result.err.find("interrupted"), std::string::npos) << result.err;
    EXPECT_EQ(text_of(folder_ / "out.glb"), "old");
  }
}

TEST_F(Outputs, ASignalWhileTheFileIsWrittenLeavesTheOldOne) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"solve", "walk.pc2", "-o", "out.glb", "--method", "clusters", "--bones", "5"},
        {"correct", "rig.glb", "walk.pc2", "-o", "out.glb"},
        {"reduce", "rig.glb", "-o", "out.glb"},
        {"compress", "rig.glb", "-o", "out.glb", "--force"}}) {
    SCOPED_TRACE(command[0]);
    write("out.glb", "old");
    const std::set<std::string> before = files();
    const Result result = interrupt_while_writing(command);
    EXPECT_EQ(result.status, 130) << result.err;
    EXPECT_EQ(text_of(folder_ / "out.glb"), "old");
    EXPECT_EQ(files(), before);
  }
}

TEST_F(Outputs, AFormatOfBothKeepsARigARigAndASequenceASequence) {
  for (const auto& [input, kind] : {std::pair{"rig.glb", "rig"}, std::pair{"walk.pc2", "sequence"}}) {
    const Result converted = run({"convert", input, "-o", "out.usda"});
    ASSERT_EQ(converted.status, 0) << converted.err;
    const Result info = run({"info", "out.usda", "--json"});
    ASSERT_EQ(info.status, 0) << info.err;
    EXPECT_EQ(nlohmann::json::parse(info.out)["kind"], kind);
  }
}

TEST_F(Outputs, WhatIsLostOfTwoLayersIsSaid) {
  for (const char* output : {"out.usda", "out.fbx"}) {
    const Result result = run({"compress", "rig.glb", "-o", output, "--force"});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_NE(result.err.find("the format has no place for two layers"), std::string::npos) << result.err;
    EXPECT_EQ(run({"info", output, "--json"}).status, 0);
  }
  EXPECT_EQ(run({"compress", "rig.glb", "-o", "out.glb", "--force"}).err, "");
}

TEST_F(Outputs, BonesThatWouldShearAreRefusedBeforeTheWorkWithWhatHelps) {
  const auto solve = [&](const std::string& output, const std::vector<std::string>& more) {
    std::vector<std::string> command{"solve", "walk.pc2", "-o", output, "--transforms", "affine", "--bones", "3"};
    command.insert(command.end(), more.begin(), more.end());
    return run(command);
  };
  for (const char* output : {"out.fbx", "out.usda"}) {
    const Result result = solve(output, {});
    EXPECT_EQ(result.status, 2);
    EXPECT_NE(result.err.find("--transforms rigid"), std::string::npos) << result.err;
    EXPECT_EQ(result.err.find("--bake-shear") != std::string::npos, output == std::string("out.fbx")) << result.err;
  }
  EXPECT_EQ(solve("out.fbx", {"--bake-shear"}).status, 0);
  EXPECT_EQ(solve("out.usda", {"--bake-shear"}).status, 2);
}

TEST_F(Outputs, ARigOfAnyFormatIsShown) {
  if (!has_viewer()) GTEST_SKIP() << "skipped: built without the viewer";
  for (const char* name : {"same.fbx", "same.usdz"}) {
    ASSERT_EQ(run({"convert", "rig.glb", "-o", name}).status, 0);
    const Result result = run({"view", name, "walk.pc2", "-o", "page.html"});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_NE(text_of(folder_ / "page.html").find("Z2xURg"), std::string::npos);  // "glTF" in base 64
  }
}

TEST_F(Outputs, HelpNamesEveryFormatThatCanBeReadOrWritten) {
  const std::string convert = run({"convert", "--help"}).out;
  for (const FileUse use :
       {FileUse::write_sequence, FileUse::write_rig, FileUse::read_sequence, FileUse::read_positions})
    for (const std::string& extension : extensions_for(use))
      EXPECT_NE(convert.find(extension), std::string::npos) << extension;
  EXPECT_NE(convert.find(".abc"), std::string::npos);
  EXPECT_NE(run({"solve", "--help"}).out.find(".npz"), std::string::npos);
}

TEST_F(Outputs, EstimatesCountTheBonesThatAreAdded) {
  const auto bytes = [&](const std::vector<std::string>& extra) {
    std::vector<std::string> command{"solve", "walk.pc2", "--rig", "rig.glb", "--dry-run", "--json"};
    command.insert(command.end(), extra.begin(), extra.end());
    const Result result = run(command);
    EXPECT_EQ(result.status, 0) << result.err;
    return nlohmann::json::parse(result.out)["estimate"]["memory_bytes"].get<double>();
  };
  EXPECT_GT(bytes({"--add-bones", "40"}), bytes({}));
}

}  // namespace
}  // namespace sinew
