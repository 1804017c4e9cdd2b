#include <sched.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/program.h"
#include "sinew/io/output_file.h"

/// The contract of the command line: exit status, what goes where, and nothing written on error.
namespace sinew {
namespace {

/// The commands that `sinew --help` lists: the first words of the indented lines below "Subcommands:".
std::set<std::string> commands_in(const std::string& help) {
  std::set<std::string> out;
  std::istringstream lines(help.substr(std::min(help.size(), help.find("Subcommands:"))));
  for (std::string line; std::getline(lines, line) && !(out.size() > 0 && line.rfind("  ", 0) != 0);)
    if (line.size() > 2 && line.rfind("  ", 0) == 0 && line[2] != ' ')
      out.insert(line.substr(2, line.find(' ', 2) - 2));
  return out;
}

TEST_F(Program, SaysItsVersionAndExplainsEveryCommand) {
  const Result version = run({"--version"});
  EXPECT_EQ(version.status, 0);
  EXPECT_EQ(version.out.rfind("sinew ", 0), 0U);
  const Result help = run({"--help"});
  EXPECT_EQ(help.status, 0);
  const std::set<std::string> commands = commands_in(help.out);
  EXPECT_GE(commands.size(), 9U) << help.out;
  for (const std::string& command : commands) {
    EXPECT_TRUE(fs::exists(fs::path(SINEW_SOURCE_DIR) / "tools/sinew" / (command + ".cpp"))) << command;
    const Result own = run({command, "--help"});
    EXPECT_EQ(own.status, 0);
    EXPECT_NE(own.out.find("Examples:\n  sinew " + command), std::string::npos) << own.out;
  }
}

TEST_F(Program, WrongUsageIsStatusTwo) {
  expect_refused(2, "", {});
  expect_refused(2, "dance is not known", {"dance"});
  expect_refused(2, "did you mean solve?", {"slove"});
  expect_refused(2, "did you mean --bones?", {"solve", "walk.pc2", "--bonez", "3"});
  expect_refused(2, "--output", {"solve", "walk.pc2"});
  expect_refused(2, "--method", {"solve", "walk.pc2", "-o", "r.glb", "--method", "magic"});
  expect_refused(2, "--bones", {"solve", "walk.pc2", "-o", "r.glb", "--bones", "0"});
  expect_refused(2, "--influences", {"solve", "walk.pc2", "-o", "r.glb", "--influences", "many"});
  expect_refused(2, "--frames", {"solve", "walk.pc2", "-o", "r.glb", "--frames", "3"});
  expect_refused(2, "select nothing", {"solve", "walk.pc2", "-o", "r.glb", "--frames", "90:95"});
  expect_refused(2, "--max-error", {"solve", "walk.pc2", "-o", "r.glb", "--method", "clusters", "--max-error", "1"});
  expect_refused(2, ".glb", {"solve", "walk.pc2", "-o", "r.obj"});
  expect_refused(2, "--fit", {"solve", "walk.pc2", "-o", "r.glb", "--fit", "weights"});
  expect_refused(2, "same file", {"solve", "walk.pc2", "-o", "r.glb", "--report", "./r.glb"});
}

TEST_F(Program, UnusableInputIsStatusThreeAndNothingIsWritten) {
  expect_refused(3, "nowhere", {"solve", "nowhere", "-o", "r.glb"});
  expect_refused(3, "nowhere.glb", {"evaluate", "nowhere.glb", "walk.pc2"});
  fs::create_directory(folder_ / "empty");
  expect_refused(3, "empty", {"solve", "empty", "-o", "r.glb"});
  write("a/f1.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
  write("a/f2.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 1\nf 1 2 3\n");
  expect_refused(3, "f2.obj", {"solve", "a", "-o", "r.glb"});
  write("b/f1.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
  write("b/f2.obj", "v 0 0 0\nv nan 0 0\nv 0 1 0\nf 1 2 3\n");
  expect_refused(3, "finite", {"solve", "b", "-o", "r.glb"});
  const std::string cache = text_of(folder_ / "walk.pc2");
  write("walk_cut.pc2", cache.substr(0, cache.size() / 2));
  expect_refused(3, "walk_cut.pc2", {"solve", "walk.obj", "walk_cut.pc2", "-o", "r.glb"});
  write("broken.glb", "glTF\x02");
  expect_refused(3, "broken.glb", {"info", "broken.glb"});
  expect_refused(3, "vertices", {"solve", "walk.pc2", "b/f1.obj", "-o", "r.glb"});
}

TEST_F(Program, OutputsThatCannotBeWrittenAreRefusedBeforeTheWork) {
  expect_refused(3, "no folder", {"solve", "walk.pc2", "-o", "missing/r.glb"});
  expect_refused(3, "no folder", {"solve", "walk.pc2", "-o", "r.glb", "--report", "missing/r.json"});
  ASSERT_EQ(run({"convert", "walk.pc2", "-o", "morphs.glb"}).status, 0);
  expect_refused(3, "which is an input", {"solve", "morphs.glb", "-o", "./morphs.glb"});
  expect_refused(3, "which is an input",
                 {"convert", "walk.obj", "walk.pc2", "-o", "../" + folder_.path().filename().string() + "/walk.pc2"});
  expect_refused(3, "which is an input",
                 {"convert", "walk.obj", "walk.pc2", "-o", "walk.mdd"});  // would write walk.obj
  fs::create_directory(folder_ / "r.glb");
  expect_refused(3, "is a folder", {"solve", "walk.pc2", "-o", "r.glb"});
}

TEST_F(Program, SolvesWritesReportsAndEvaluatesTheSameFigures) {
  const Result solved = run({"solve", "walk.obj", "walk.pc2", "-o", "r.glb", "--method", "clusters", "--bones", "9",
                             "--report", "r.json", "--json"});
  ASSERT_EQ(solved.status, 0) << solved.err;
  EXPECT_EQ(solved.err, "");  // no progress where there is no terminal
  const auto report = nlohmann::json::parse(solved.out);
  EXPECT_EQ(nlohmann::json::parse(text_of(folder_ / "r.json")), report);
  EXPECT_EQ(report["rig"]["bones"], 9);
  EXPECT_EQ(report["input"]["vertices"], sequence_.vertex_count());
  EXPECT_EQ(report["bytes"], fs::file_size(folder_ / "r.glb"));

  const Result evaluated = run({"evaluate", "r.glb", "walk.pc2", "--json", "--per-vertex"});
  ASSERT_EQ(evaluated.status, 0) << evaluated.err;
  const auto errors = nlohmann::json::parse(evaluated.out)["errors"];
  EXPECT_EQ(errors["e_rms"], report["errors"]["e_rms"]);
  EXPECT_EQ(errors["per_vertex_percent"].size(), sequence_.vertex_count());
  EXPECT_EQ(errors["per_frame_percent"].size(), sequence_.frame_count());

  const Result table = run({"evaluate", "r.glb", "walk.pc2"});
  EXPECT_NE(table.out.find("E_RMS"), std::string::npos);
  const auto facts = nlohmann::json::parse(run({"info", "r.glb", "--json"}).out);
  EXPECT_EQ(facts["kind"], "rig");
  EXPECT_EQ(facts["frames"], sequence_.frame_count());
  std::set<std::string> expected = files_;
  expected.insert({"r.glb", "r.json"});
  EXPECT_EQ(files(), expected);
}

TEST_F(Program, InfoTellsWhatTheSmaSolverFound) {
  ASSERT_EQ(run({"solve", "walk.pc2", "-o", "r.glb", "--method", "sma", "--epsilon", "0.2"}).status, 0);
  const auto facts = nlohmann::json::parse(run({"info", "r.glb", "--json"}).out);
  const double fraction = facts["notes"]["near_rigid_fraction"];
  EXPECT_TRUE(fraction > 0 && fraction <= 1) << fraction;
  EXPECT_EQ(facts["notes"]["core_share"].size(), facts["bones"]);
  // 3VF / (3V + KV + 12BF)
  const double V = facts["vertices"];
  const double F = facts["frames"];
  const double B = facts["bones"];
  const double K = facts["influences"];
  EXPECT_NEAR(facts["compression_ratio"], 3 * V * F / (3 * V + K * V + 12 * B * F), 1e-9);
  const std::string text = run({"info", "r.glb"}).out;
  for (const std::string word : {"near-rigid", "cores", "compression"}) EXPECT_NE(text.find(word), std::string::npos);
}

TEST_F(Program, TheSameSeedGivesTheSameFileForAnyThreadCount) {
  ASSERT_EQ(run({"solve", "walk.pc2", "-o", "one.glb", "--bones", "9", "--threads", "1"}).status, 0);
  ASSERT_EQ(run({"solve", "walk.pc2", "-o", "two.glb", "--bones", "9", "--threads", "2"}).status, 0);
  EXPECT_EQ(text_of(folder_ / "one.glb"), text_of(folder_ / "two.glb"));
}

TEST_F(Program, MoreThreadsThanCoresAreNoReasonToComplain) {
  const auto on_one_core = [] {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(sched_getcpu(), &cores);
    sched_setaffinity(0, sizeof cores, &cores);
  };
  for (const char* threads : {"0", "2", "7"}) {
    const Result result = run({"solve", "walk.pc2", "-o", "r.glb", "--bones", "6", "--threads", threads}, on_one_core);
    EXPECT_EQ(result.status, 0);
    EXPECT_EQ(result.err, "") << threads;
  }
}

TEST_F(Program, TheWorkThatSecondsCameToGivesTheSameFileAgain) {
  const Result timed = run({"solve", "walk.pc2", "-o", "timed.glb", "--bones", "6", "--time", "0.4", "--json"});
  ASSERT_EQ(timed.status, 0) << timed.err;
  const auto remark = nlohmann::json::parse(timed.out)["solve"]["remark"].get<std::string>();
  const std::size_t from = remark.find("--work ");
  ASSERT_NE(from, std::string::npos) << remark;
  const std::string amount = remark.substr(from + 7, remark.find(',', from) - from - 7);
  for (const char* threads : {"1", "2"})
    ASSERT_EQ(run({"solve", "walk.pc2", "-o", std::string(threads) + ".glb", "--bones", "6", "--work", amount,
                   "--threads", threads})
                  .status,
              0);
  EXPECT_EQ(text_of(folder_ / "1.glb"), text_of(folder_ / "timed.glb"));
  EXPECT_EQ(text_of(folder_ / "2.glb"), text_of(folder_ / "timed.glb"));
}

TEST_F(Program, TimeWorkAndQualityExcludeEachOther) {
  EXPECT_EQ(run({"solve", "walk.pc2", "-o", "r.glb", "--time", "1", "--quality", "fast"}).status, 2);
  EXPECT_EQ(run({"solve", "walk.pc2", "-o", "r.glb", "--time", "1", "--work", "5"}).status, 2);
  EXPECT_EQ(run({"solve", "walk.pc2", "-o", "r.glb", "--time", "0"}).status, 2);
  EXPECT_EQ(run({"solve", "walk.pc2", "-o", "r.glb", "--method", "sma", "--time", "1"}).status, 2);
}

TEST_F(Program, NoMatrixKernelsOfALibraryChangeTheFile) {
  for (const char* processor : {"Haswell", "Prescott"})
    ASSERT_EQ(
        run({"solve", "walk.pc2", "-o", std::string(processor) + ".glb", "--bones", "6", "--transforms", "affine"},
            [processor] { setenv("OPENBLAS_CORETYPE", processor, 1); })
            .status,
        0);
  EXPECT_EQ(text_of(folder_ / "Haswell.glb"), text_of(folder_ / "Prescott.glb"));
}

TEST_F(Program, SeveralSequencesAreClipsOfOneRig) {
  const Result solved = run({"solve", "walk.obj", "walk.pc2", "walk.pc2", "-o", "r.glb", "--method", "clusters",
                             "--bones", "5", "--frames", "2:"});
  ASSERT_EQ(solved.status, 0) << solved.err;
  const auto facts = nlohmann::json::parse(run({"info", "r.glb", "--json"}).out);
  EXPECT_EQ(facts["frames"], 2 * sequence_.frame_count() - 2);
  EXPECT_EQ(facts["clips"].size(), 2U);
}

TEST_F(Program, DescribesTheObjectsOfAnAlembicArchive) {
  ASSERT_EQ(run({"convert", "walk.pc2", "-o", "a.abc"}).status, 0);
  ASSERT_EQ(run({"convert", "walk.pc2", "-o", "b.abc"}).status, 0);
  EXPECT_TRUE(text_of(folder_ / "a.abc") == text_of(folder_ / "b.abc"));
  const Result tree = run({"info", "a.abc"});
  EXPECT_NE(tree.out.find("Alembic archive"), std::string::npos) << tree.out;
  EXPECT_NE(tree.out.find("PolyMesh"), std::string::npos) << tree.out;
  const auto objects = nlohmann::json::parse(run({"info", "a.abc", "--json"}).out)["objects"];
  ASSERT_EQ(objects.size(), 3U);
  EXPECT_EQ(objects[0]["type"], "Xform");
  EXPECT_EQ(objects[2]["type"], "FaceSet");  // the material
  EXPECT_EQ(objects[1]["type"], "PolyMesh");
  EXPECT_EQ(objects[1]["vertices"], sequence_.vertex_count());
  EXPECT_EQ(objects[1]["samples"], sequence_.frame_count());
  EXPECT_EQ(objects[1]["visible"], true);
  const auto part = nlohmann::json::parse(run({"info", "a.abc", "--frames", "1:5:2", "--json"}).out);
  EXPECT_EQ(part["frames"], 2);
  write("false.abc", "Ogama and more than sixteen bytes");
  expect_refused(3, "not an Alembic archive", {"info", "false.abc"});
}

TEST_F(Program, ConvertsARigToFramesAndFramesToMorphs) {
  ASSERT_EQ(run({"solve", "walk.pc2", "-o", "r.glb", "--method", "clusters", "--bones", "5"}).status, 0);
  for (const std::string output : {"posed.pc2", "posed.mdd", "posed.npz", "posed.abc", "posed", "posed.glb"}) {
    const Result converted = run({"convert", "r.glb", "-o", output});
    EXPECT_EQ(converted.status, 0) << output << ": " << converted.err;
    EXPECT_NE(converted.out.find(output), std::string::npos);
    const Result evaluated = run({"evaluate", "r.glb", output, "--json"});
    ASSERT_EQ(evaluated.status, 0) << output << ": " << evaluated.err;
    EXPECT_LT(nlohmann::json::parse(evaluated.out)["errors"]["e_rms"].get<double>(), 1e-3) << output;
  }
  ASSERT_EQ(run({"convert", "walk.obj", "walk.pc2", "-o", "morphs.glb"}).status, 0);
  const Result evaluated = run({"evaluate", "morphs.glb", "walk.pc2", "--json"});
  ASSERT_EQ(evaluated.status, 0) << evaluated.err;
  EXPECT_LT(nlohmann::json::parse(evaluated.out)["errors"]["e_rms"].get<double>(), 1e-3);
}

TEST_F(Program, TheDemoWritesItsFilesAndATable) {
  const Result demo = run({"demo", "-o", "demo", "--vertices", "800", "--bones", "12"});
  ASSERT_EQ(demo.status, 0) << demo.err;
  EXPECT_NE(demo.out.find("E_RMS"), std::string::npos);
  EXPECT_TRUE(fs::exists(folder_ / "demo/rig.glb"));
  EXPECT_LT(nlohmann::json::parse(text_of(folder_ / "demo/report.json"))["errors"]["e_rms"].get<double>(), 40);
  expect_refused(3, "no folder", {"demo", "-o", "not/there"});
}

class Interrupted : public Program {
 protected:
  /// A sequence that keeps the solver busy for seconds; the signal comes while it works.
  Result interrupt(std::vector<std::string> extra, int signal) {
    CharacterOptions options;
    options.vertices = 4000;
    options.walk_frames = 40;
    options.wave_frames = 40;
    options.noise = 0.01;
    write_sequence(folder_ / "long.pc2", make_character(options).sequence);
    files_ = files();
    extra.insert(extra.begin(), {"solve", "long.pc2", "-o", "r.glb", "--method", "clusters", "--bones", "300"});
    // A loaded machine may need longer to read: wait longer until the signal meets the solve.
    for (int wait = 500;; wait *= 2) {
      const pid_t child = start(extra);
      std::this_thread::sleep_for(std::chrono::milliseconds(wait));
      kill(child, signal);
      const Result result = finish(child);
      if (wait > 60000 || result.err.find("while reading") == std::string::npos) return result;
    }
  }
};

TEST_F(Interrupted, WritesNothingAndIsStatus130) {
  const Result result = interrupt({"--report", "r.json"}, SIGINT);
  EXPECT_EQ(result.status, 130) << result.err;
  EXPECT_NE(result.err.find("interrupted"), std::string::npos);
  EXPECT_EQ(files(), files_);
}

TEST_F(Interrupted, KeepPartialWritesTheBestModelSoFar) {
  const Result result = interrupt({"--keep-partial"}, SIGTERM);
  EXPECT_EQ(result.status, 130) << result.err;
  EXPECT_NE(result.err.find("best model so far"), std::string::npos) << result.err;
  ASSERT_TRUE(fs::exists(folder_ / "r.glb"));
  EXPECT_EQ(run({"evaluate", "r.glb", "long.pc2"}).status, 0);
}

TEST_F(Program, EvaluatesRigsWhoseClipsAnotherToolHasEndedAFrameLater) {
  ASSERT_EQ(run({"solve", "walk.pc2", "--bones", "4", "--quality", "fast", "-o", "r.glb"}).status, 0);
  const Rig rig = read_rig(folder_ / "r.glb");
  Rig longer = rig;
  longer.clips.clear();
  longer.motion = Motion(rig.frame_count() + 1, rig.bone_count());
  longer.times = uniform_times(rig.frame_count() + 1);
  for (std::size_t f = 0; f <= rig.frame_count(); ++f)
    for (std::size_t b = 0; b < rig.bone_count(); ++b)
      longer.motion(f, b) = rig.motion(std::min(f, rig.frame_count() - 1), b);
  write_rig(folder_ / "longer.glb", longer);
  expect_refused(3, "frames", {"evaluate", "longer.glb", "r.glb"});
  const Result evaluated = run({"evaluate", "longer.glb", "r.glb", "--fps", "30", "--json"});
  ASSERT_EQ(evaluated.status, 0) << evaluated.err;
  EXPECT_NE(evaluated.err.find("1 of the rig's frames"), std::string::npos) << evaluated.err;
  EXPECT_LT(nlohmann::json::parse(evaluated.out)["errors"]["e_rms"].get<double>(), 0.1);
}

}  // namespace
}  // namespace sinew
