#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <string>

#include "cli/program.h"
#include "sinew/view/page.h"
#include "view/page_parts.h"

/// What somebody meets who uses the program for the first time, on files that were not made for it.
namespace sinew {
namespace {

using nlohmann::json;

class FirstSteps : public Program {};

TEST_F(FirstSteps, WhatDoesNotMoveIsNotSolvedUnlessAsked) {
  ASSERT_EQ(run({"convert", "walk.pc2", "-o", "still.obj", "--frames", "0:1"}).status, 0);
  expect_refused(3, "nothing moves in its only frame", {"solve", "still.obj", "-o", "r.glb"});
  expect_refused(3, "nothing moves", {"solve", "walk.pc2", "-o", "r.glb", "--frames", "0:1"});
  for (const char* frame : {"a", "b", "c"})
    write("still/" + std::string(frame) + ".obj", text_of(folder_ / "still.obj"));
  expect_refused(3, "nothing moves in its 3 frames", {"solve", "still", "-o", "r.glb"});
  EXPECT_EQ(run({"solve", "still", "-o", "r.glb", "--allow-static", "--bones", "2"}).status, 0);
}

TEST_F(FirstSteps, FewFramesAreWarnedAboutAndSolved) {
  const Result few = run({"solve", "walk.pc2", "-o", "r.glb", "--frames", "0:3", "--bones", "4"});
  EXPECT_EQ(few.status, 0);
  EXPECT_NE(few.err.find("only 3 frames"), std::string::npos) << few.err;
}

TEST_F(FirstSteps, FramesAndClipsAreChosenOnBothSidesOfAComparison) {
  ASSERT_EQ(
      run({"solve", "walk.obj", "walk.pc2", "walk.pc2", "-o", "r.glb", "--method", "clusters", "--bones", "5"}).status,
      0);
  const auto error = [&](std::vector<std::string> choice) {
    choice.insert(choice.begin(), {"evaluate", "r.glb", "walk.obj", "walk.pc2", "walk.pc2", "--json"});
    const Result result = run(choice);
    EXPECT_EQ(result.status, 0) << result.err;
    return json::parse(result.out)["errors"];
  };
  const json whole = error({});
  const json part = error({"--frames", "2:7"});
  ASSERT_EQ(part["per_frame_percent"].size(), 5U);
  for (std::size_t f = 0; f < 5; ++f)
    EXPECT_NEAR(part["per_frame_percent"][f].get<double>(), whole["per_frame_percent"][f + 2].get<double>(), 1e-9);
  // A clip of a .glb, by name on both sides.
  ASSERT_EQ(run({"convert", "walk.obj", "walk.pc2", "walk.pc2", "-o", "clips.glb"}).status, 0);
  const auto clips = json::parse(run({"info", "clips.glb", "--json"}).out)["clips"];
  ASSERT_EQ(clips.size(), 2U);
  const std::string second = clips[1]["name"];
  const Result one = run({"evaluate", "r.glb", "clips.glb", "--clip", second, "--json"});
  ASSERT_EQ(one.status, 0) << one.err;
  const std::size_t start = clips[1]["first_frame"];
  const json errors = json::parse(one.out)["errors"]["per_frame_percent"];
  ASSERT_EQ(errors.size(), clips[1]["frames"].get<std::size_t>());
  EXPECT_NEAR(errors[1].get<double>(), whole["per_frame_percent"][start + 1].get<double>(), 1e-4);
  // Both, by repeating it.
  const Result both = run({"evaluate", "r.glb", "clips.glb", "--clip", second, "--clip", "0", "--json"});
  ASSERT_EQ(both.status, 0) << both.err;
  EXPECT_EQ(json::parse(both.out)["errors"]["per_frame_percent"].size(), whole["per_frame_percent"].size());
  const Result none = run({"evaluate", "r.glb", "clips.glb", "--clip", "nosuch"});
  EXPECT_EQ(none.status, 3);
}

TEST_F(FirstSteps, ARigIsComparedAtAnyRate) {
  ASSERT_EQ(run({"solve", "walk.pc2", "-o", "r.glb", "--bones", "8"}).status, 0);
  const auto frames = [&](const char* rate) {
    const Result result = run({"evaluate", "r.glb", "walk.pc2", "--fps", rate, "--json"});
    EXPECT_EQ(result.status, 0) << result.err;
    return json::parse(result.out)["errors"];
  };
  const std::size_t keys = sequence_.frame_count();
  EXPECT_EQ(frames("60")["per_frame_percent"].size(), 2 * keys - 1);
  const Result at_keys = run({"evaluate", "r.glb", "walk.pc2", "--json"});
  const json plain = json::parse(at_keys.out)["errors"]["per_frame_percent"];
  const json twice = frames("60")["per_frame_percent"];
  for (std::size_t f = 0; f < keys; ++f)
    EXPECT_NEAR(twice[2 * f].get<double>(), plain[f].get<double>(), 1e-3 * plain[f].get<double>() + 1e-5);
}

TEST_F(FirstSteps, AFileInsteadOfACommandIsAnsweredWithTheCommandForIt) {
  expect_refused(2, "did you mean 'sinew solve walk.pc2 -o rig.glb'?", {"walk.pc2"});
  expect_refused(2, "did you mean 'sinew solve horse.glb -o rig.glb'?", {"horse.glb"});
}

TEST_F(FirstSteps, HelpExplainsOneCommandOrAll) {
  EXPECT_EQ(run({"help"}).out, run({"--help"}).out);
  EXPECT_EQ(run({"help", "solve"}).out, run({"solve", "--help"}).out);
  expect_refused(2, "no command 'dance'", {"help", "dance"});
  const std::string man = run({"help", "--man"}).out;
  EXPECT_EQ(man.rfind(".TH SINEW 1", 0), 0U);
  for (const char* word : {".SS sinew solve", "\\-\\-max\\-error", "SEQUENCE"})
    EXPECT_NE(man.find(word), std::string::npos) << word;
}

TEST_F(FirstSteps, HelpIsNoWiderThanAHundredColumnsWithoutGaps) {
  for (const std::string command : {"demo", "solve", "sweep", "correct", "evaluate", "reduce", "compress", "pack",
                                    "lod", "transfer", "edit", "bounds", "info", "convert", "view", "app", "crowd"}) {
    const std::string help = run({"help", command}).out;
    EXPECT_EQ(help.find("\n\n\n"), std::string::npos) << command;
    EXPECT_NE(help.find("\nUsage: sinew " + command), std::string::npos) << help;
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) {
      const auto letters = std::count_if(line.begin(), line.end(),
                                         [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
      const bool example = line.rfind("  sinew ", 0) == 0;
      EXPECT_TRUE(letters <= 100 || example) << command << ": " << line;
    }
  }
}

TEST_F(FirstSteps, DefaultsAreShownAndNumbersOutOfRangeAreSaidInAFewWords) {
  const std::string help = run({"help", "solve"}).out;
  for (const char* word : {"How to solve it (ssdr)", "(balanced)", "(4; all with flats)", "(rigid; affine with"})
    EXPECT_NE(help.find(word), std::string::npos) << word << help;
  EXPECT_NE(run({"help", "lod"}).out.find("This share of the triangles (0.5)"), std::string::npos);
  EXPECT_NE(run({"help", "reduce"}).out.find("largest, smooth, geometry or poisson (geometry)"), std::string::npos);
  EXPECT_NE(run({"help", "reduce"}).out.find("(required)"), std::string::npos);
  const Result zero = run({"solve", "walk.pc2", "-o", "r.glb", "--fps", "0"});
  EXPECT_EQ(zero.status, 2);
  EXPECT_LT(zero.err.size(), 160U) << zero.err;
  EXPECT_NE(zero.err.find("0 is not a number above 0"), std::string::npos) << zero.err;
  for (const std::string& extension : extensions_for(FileUse::read_sequence))
    for (const char* command : {"solve", "convert"})
      EXPECT_NE(run({"help", command}).out.find(extension), std::string::npos) << command << extension;
}

TEST_F(FirstSteps, WhatAnOptionCannotTakeIsSaidWithWhatItCan) {
  const auto refused = [&](const std::string& option, const std::string& value) {
    return run({"solve", "walk.pc2", "-o", "r.glb", option, value}).err;
  };
  EXPECT_EQ(
      refused("--quality", "goood"),
      "sinew solve: --quality: fast, balanced or best is expected, not goood\n'sinew solve --help' lists what there "
      "is\n");
  EXPECT_NE(refused("--quality", "1").find("not 1"), std::string::npos);  // the number behind a word is no word
  EXPECT_NE(refused("--bones", "0").find("--bones: 0 is not a whole number from 1 to 100000"), std::string::npos);
  EXPECT_NE(refused("--bones", "99999999999").find("is not a whole number from 1"), std::string::npos);
  EXPECT_NE(refused("--seed", "-1").find("--seed: -1 is not a number from 0 up"), std::string::npos);
  EXPECT_NE(refused("--iterations", "2.5").find("--iterations: 2.5 is not a whole number"), std::string::npos);
  EXPECT_NE(refused("--influences", "0").find("--influences: 0 is not a number from 1 up"), std::string::npos);
  EXPECT_NE(refused("--memory-limit", "3X").find("--memory-limit 3X: expected"), std::string::npos);
  EXPECT_NE(run({"solve", "walk.pc2", "--bones"}).err.find("--bones needs a value"), std::string::npos);
  EXPECT_NE(run({"solve", "", "-o", "r.glb"}).err.find("an empty name: no such file"), std::string::npos);
  const std::string unknown = run({"evaluate", "r.glb", "walk.pc2", "-o", "x"}).err;
  EXPECT_EQ(unknown.find("did you mean"), std::string::npos) << unknown;  // no command is meant by -o
}

TEST_F(FirstSteps, ShellsCompleteCommandsAndOptions) {
  const std::string bash = run({"completion", "bash"}).out;
  write("complete.bash", bash + R"(
COMP_WORDS=(sinew sol) COMP_CWORD=1; _sinew; echo "1: ${COMPREPLY[@]}"
COMP_WORDS=(sinew solve --max-) COMP_CWORD=2; _sinew; echo "2: ${COMPREPLY[@]}"
COMP_WORDS=(sinew help ev) COMP_CWORD=2; _sinew; echo "3: ${COMPREPLY[@]}"
COMP_WORDS=(sinew solve walk.o) COMP_CWORD=2; _sinew; echo "4: ${COMPREPLY[@]}"
COMP_WORDS=(sinew solve --quality b) COMP_CWORD=3; _sinew; echo "5: ${COMPREPLY[@]}"
)");
  const std::string command = "cd " + folder_.path().string() + " && bash complete.bash > completed";
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(text_of(folder_ / "completed"),
            "1: solve\n2: --max-error --max-bones\n3: evaluate\n4: walk.obj\n5: balanced best\n");
  EXPECT_NE(run({"completion", "zsh"}).out.find("'*--bones["), std::string::npos);
  EXPECT_NE(run({"completion", "zsh"}).out.find(":value:(fast balanced best)"), std::string::npos);
  EXPECT_NE(run({"completion", "fish"}).out.find("-l bones -r"), std::string::npos);
  EXPECT_NE(run({"completion", "fish"}).out.find("-l quality -x -a 'fast balanced best'"), std::string::npos);
  expect_refused(2, "SHELL", {"completion", "tcsh"});
}

TEST_F(FirstSteps, BvhIsRefusedWithTheWayToConvertIt) {
  write("walk.bvh", "HIERARCHY\n");
  expect_refused(3, "export that, e.g. in Blender", {"solve", "walk.bvh", "-o", "r.glb"});
}

TEST_F(FirstSteps, FilesOfOtherProgramsAreRefusedWithTheWayToConvertThem) {
  write("walk.blend", "BLENDER");
  expect_refused(3, "in Blender: open or import it", {"solve", "walk.blend", "-o", "r.glb"});
  write("walk.mb", "Maya");
  expect_refused(3, "export it there as Alembic, FBX or glTF", {"info", "walk.mb"});
}

TEST_F(FirstSteps, MeshesThatAreAlikeAreCounted) {
  const std::string head = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 2 0 0\nv 3 0 0\nv 2 1 0\n";
  write("twins.obj", head + "o leaf\nf 1 2 3\no leaf\nf 4 5 6\n");
  const std::string info = run({"info", "twins.obj"}).out;
  EXPECT_NE(info.find("2 × leaf (3 vertices, 1 faces)"), std::string::npos) << info;
}

TEST_F(FirstSteps, TheErrorBetweenKeysIsPrintedBesideThatAtThem) {
  const Result solved = run({"solve", "walk.pc2", "-o", "r.glb", "--bones", "8", "--json"});
  ASSERT_EQ(solved.status, 0) << solved.err;
  const json between = json::parse(solved.out)["between"];
  EXPECT_EQ(between["places"], sequence_.frame_count() - 1);
  EXPECT_GT(between["rmse_percent"].get<double>(), 0);
  const Result evaluated = run({"evaluate", "r.glb", "walk.pc2", "--json"});
  EXPECT_EQ(json::parse(evaluated.out)["between"], between);
  const std::string table = run({"solve", "walk.pc2", "-o", "r.glb", "--bones", "8"}).out;
  for (const char* column : {"between %", "normals °", "played °"})
    EXPECT_NE(table.find(column), std::string::npos) << column;
}

TEST_F(FirstSteps, ReducedRigsAreFittedAnewWhereThatPays) {
  ASSERT_EQ(
      run({"solve", "walk.pc2", "-o", "dense.glb", "--bones", "12", "--influences", "all", "--transforms", "affine"})
          .status,
      0);
  const auto reduced = [&](const char* refit) {
    const Result result = run({"reduce", "dense.glb", "--influences", "2", "--method", "largest", "--refit", refit,
                               "-o", "few.glb", "--json"});
    EXPECT_EQ(result.status, 0) << result.err;
    return json::parse(result.out);
  };
  const json cut = reduced("never");
  const json fitted = reduced("auto");
  EXPECT_EQ(cut["refitted"], false);
  EXPECT_EQ(fitted["refitted"], true);
  EXPECT_EQ(fitted["influences"]["after"], 2);
  EXPECT_LT(fitted["errors"]["e_rms"].get<double>(), 0.7 * cut["errors"]["e_rms"].get<double>());
  EXPECT_NEAR(fitted["e_rms_cut"].get<double>(), cut["errors"]["e_rms"].get<double>(), 1e-3);
}

TEST_F(FirstSteps, CompressionThatDoesNotPayIsWrittenOnlyWhenForced) {
  ASSERT_EQ(run({"solve", "walk.pc2", "-o", "sparse.glb", "--bones", "8"}).status, 0);
  expect_refused(4, "does not pay", {"compress", "sparse.glb", "-o", "small.glb"});
  EXPECT_EQ(run({"compress", "sparse.glb", "-o", "small.glb", "--force"}).status, 0);
}

TEST_F(FirstSteps, APackedRigIsSmallerAndAsGoodAsItsTableSays) {
  ASSERT_EQ(run({"solve", "walk.pc2", "-o", "rig.glb", "--bones", "8"}).status, 0);
  const Result packed = run({"pack", "rig.glb", "--examples", "walk.pc2", "--json", "-o", "small.glb"});
  ASSERT_EQ(packed.status, 0) << packed.err;
  const auto facts = nlohmann::json::parse(packed.out);
  EXPECT_EQ(facts["bytes"]["after"], fs::file_size(folder_ / "small.glb"));
  EXPECT_LT(fs::file_size(folder_ / "small.glb"), fs::file_size(folder_ / "rig.glb") / 2);
  const Result judged = run({"evaluate", "small.glb", "walk.pc2", "--json"});
  ASSERT_EQ(judged.status, 0) << judged.err;
  const auto found = nlohmann::json::parse(judged.out);
  EXPECT_EQ(found["matched"]["vertices"], sequence_.vertex_count());
  EXPECT_EQ(found["errors"]["e_rms"], facts["after"]["e_rms"]);
  EXPECT_LE(found["errors"]["e_rms"].get<double>(), 1.02 * facts["before"]["e_rms"].get<double>());
}

TEST_F(FirstSteps, PackingKeepsToTheEngineOrSaysWhyNot) {
  ASSERT_EQ(run({"solve", "walk.pc2", "-o", "eight.glb", "--bones", "8", "--influences", "8"}).status, 0);
  const Result three = run({"pack", "eight.glb", "--target", "three", "-o", "three.glb"});
  ASSERT_EQ(three.status, 0) << three.err;
  EXPECT_NE(three.err.find("became 4"), std::string::npos) << three.err;
  EXPECT_LE(used_influences(read_rig(folder_ / "three.glb").weights), 4);
  ASSERT_EQ(run({"solve", "walk.pc2", "-o", "soft.glb", "--bones", "8", "--transforms", "affine"}).status, 0);
  expect_refused(4, "stretch unevenly", {"pack", "soft.glb", "--target", "unreal", "-o", "out.glb"});
  expect_refused(2, "--target", {"pack", "soft.glb", "--target", "flash", "-o", "out.glb"});
  expect_refused(2, ".glb", {"pack", "soft.glb", "-o", "out.fbx"});
}

TEST_F(FirstSteps, ASolveThatPacksWritesWhatPackWouldWrite) {
  ASSERT_EQ(run({"solve", "walk.pc2", "-o", "rig.glb", "--bones", "8"}).status, 0);
  ASSERT_EQ(run({"pack", "rig.glb", "--examples", "walk.pc2", "--target", "three", "-o", "after.glb"}).status, 0);
  const Result solved = run({"solve", "walk.pc2", "-o", "at_once.glb", "--bones", "8", "--target", "three", "--json"});
  ASSERT_EQ(solved.status, 0) << solved.err;
  const auto facts = nlohmann::json::parse(solved.out);
  EXPECT_EQ(facts["bytes"], fs::file_size(folder_ / "at_once.glb"));
  EXPECT_EQ(facts["pack"]["bytes"]["after"], facts["bytes"]);
  EXPECT_EQ(facts["errors"]["e_rms"], facts["pack"]["after"]["e_rms"]);
  EXPECT_NEAR(static_cast<double>(fs::file_size(folder_ / "at_once.glb")),
              static_cast<double>(fs::file_size(folder_ / "after.glb")), 64);
  expect_refused(2, ".glb", {"solve", "walk.pc2", "-o", "out.fbx", "--bones", "8", "--pack"});
  expect_refused(4, "stretch unevenly",
                 {"solve", "walk.pc2", "-o", "out.glb", "--transforms", "affine", "--target", "unreal"});
  expect_refused(2, "--pack-error", {"solve", "walk.pc2", "-o", "out.glb", "--pack-error", "0"});
}

TEST_F(FirstSteps, ATwoLayerModelAloneIsTheSmallestFileThatEvaluateReads) {
  ASSERT_EQ(
      run({"solve", "walk.pc2", "-o", "dense.glb", "--bones", "10", "--method", "kavan", "--influences", "all"}).status,
      0);
  ASSERT_EQ(run({"compress", "dense.glb", "--examples", "walk.pc2", "-o", "two.glb", "--force"}).status, 0);
  expect_refused(3, "--only-two-layer", {"pack", "two.glb", "-o", "small.glb"});
  const Result packed =
      run({"pack", "two.glb", "--only-two-layer", "--examples", "walk.pc2", "-o", "small.glb", "--json"});
  ASSERT_EQ(packed.status, 0) << packed.err;
  const Result judged = run({"evaluate", "small.glb", "walk.pc2", "--json"});
  ASSERT_EQ(judged.status, 0) << judged.err;
  EXPECT_EQ(json::parse(judged.out)["errors"]["e_rms"], json::parse(packed.out)["after"]["e_rms"]);
  EXPECT_LT(fs::file_size(folder_ / "small.glb"), fs::file_size(folder_ / "two.glb") / 4);
}

TEST_F(FirstSteps, TheAppIsWrittenOrItIsSaidHowToBuildIt) {
  const Result result = run({"app", "-o", "site/app"});
  const fs::path page = folder_ / "site/app/index.html";
  if (result.status == 0) {
    EXPECT_NE(text_of(page).find("<title>sinew"), std::string::npos);
    EXPECT_NE(result.out.find("site/app/index.html"), std::string::npos) << result.out;
  } else {
    EXPECT_EQ(result.status, 4);
    EXPECT_NE(result.err.find("script/bootstrap --wasm"), std::string::npos) << result.err;
    EXPECT_FALSE(fs::exists(folder_ / "site"));
  }
}

TEST_F(FirstSteps, APageIsMadeOnlyOfWhatItCanShowAndAsSmallAsAsked) {
  write("broken.glb", "glTF\x02");
  expect_refused(3, "broken.glb", {"view", "broken.glb", "-o", "page.html"});
  expect_refused(2, "-o page.txt: expected a name that ends in .html", {"view", "broken.glb", "-o", "page.txt"});
  if (!has_viewer()) GTEST_SKIP() << "the viewer is not built in";
  ASSERT_EQ(run({"solve", "walk.pc2", "-o", "r.glb", "--bones", "8"}).status, 0);
  const auto size_of = [&](std::vector<std::string> extra) {
    extra.insert(extra.begin(), {"view", "r.glb", "walk.pc2", "-o", "page.html"});
    const Result result = run(extra);
    EXPECT_EQ(result.status, 0) << result.err;
    return fs::file_size(folder_ / "page.html");
  };
  const std::size_t whole = size_of({});
  const std::size_t frames = 4 * sequence_.frames.data().size() * 4 / 3;
  const std::size_t half = size_of({"--max-size", std::to_string(whole - frames / 3)});
  EXPECT_NEAR(static_cast<double>(whole - half), 0.5 * static_cast<double>(frames), 1000.0);
  EXPECT_LT(size_of({"--max-size", std::to_string(whole - 3 * frames / 4)}), half);
  const Result none = run({"view", "r.glb", "walk.pc2", "-o", "page.html", "--max-size", "1K"});
  EXPECT_EQ(none.status, 2);
  // Of frames that stay in their file the page takes a few by itself.
  ASSERT_EQ(run({"view", "r.glb", "-o", "alone.html"}).status, 0);
  EXPECT_LT(size_of({"--memory-limit", "64K"}), fs::file_size(folder_ / "alone.html") + (64 << 10) / 8 + 2000);
}

TEST_F(FirstSteps, APageTakesOfTheOriginalWhatTheRigWasMadeFrom) {
  ASSERT_EQ(run({"solve", "walk.pc2", "-o", "r.glb", "--frames", "0:6", "--bones", "8"}).status, 0);
  expect_refused(3, "--clip, --frames and --fps as in the solve make them alike",
                 {"view", "r.glb", "walk.pc2", "-o", "page.html"});
  expect_refused(2, "--fps", {"view", "r.glb", "walk.pc2", "-o", "page.html", "--fps", "0"});
  if (!has_viewer()) GTEST_SKIP() << "the viewer is not built in";
  EXPECT_EQ(run({"view", "r.glb", "walk.pc2", "-o", "page.html", "--frames", "0:6"}).status, 0);
}

TEST_F(FirstSteps, APackedRigIsShownBesideTheOriginalVertexByVertex) {
  if (!has_viewer()) GTEST_SKIP() << "the viewer is not built in";
  ASSERT_EQ(run({"solve", "walk.pc2", "-o", "r.glb", "--bones", "8"}).status, 0);
  ASSERT_EQ(run({"pack", "r.glb", "-o", "packed.glb"}).status, 0);
  const std::string bytes = text_of(folder_ / "packed.glb");
  std::string packed;
  append_base64(packed, std::as_bytes(std::span(bytes)));
  ASSERT_EQ(run({"view", "packed.glb", "-o", "alone.html"}).status, 0);
  EXPECT_NE(text_of(folder_ / "alone.html").find(packed), std::string::npos);
  ASSERT_EQ(run({"view", "packed.glb", "walk.pc2", "-o", "both.html"}).status, 0);
  EXPECT_EQ(text_of(folder_ / "both.html").find(packed), std::string::npos);  // its vertices are in another order
}

}  // namespace
}  // namespace sinew
