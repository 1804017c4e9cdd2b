#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/small_sequence.h"
#include "sinew/io/io.h"
#include "sinew/io/obj.h"
#include "sinew/io/pc2.h"
#include "support/support.h"

namespace sinew {
namespace {

namespace fs = std::filesystem;
using test::expect_error;
using test::small_sequence;
using test::TemporaryFolder;
using test::write_text;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

void expect_refused(const std::vector<fs::path>& paths, const std::string& sentence, const ReadOptions& options = {}) {
  expect_error(ErrorKind::input, sentence, [&] { read_sequence(paths, options); });
}

ReadOptions with_rest(const std::string& rest) {
  ReadOptions options;
  options.rest = rest;
  return options;
}

/// A triangle with its last corner at height z.
std::string triangle(double z) {
  return fmt::format("v 0 0 0\nv 1 0 0.5\nv 0 2 {}\nf 1 2 3\n", z);
}

struct Facts {
  const char* name;
  std::size_t vertices;
  std::size_t frames;
};

TEST(ReadSequence, ReadsEveryRealSequenceWithTheCountsThatItsSourceStates) {
  SINEW_NEEDS_DATA();
  for (const Facts& facts :
       {Facts{"horse-gallop", 8431, 48}, Facts{"elephant-poses", 42321, 10}, Facts{"pcow", 2904, 204},
        Facts{"chickenCrossing", 3030, 400}, Facts{"cylinder", 420, 4}, Facts{"face-shapes", 11248, 57}}) {
    const Sequence sequence = read_sequence({test::data_folder() / "sequences" / facts.name});
    EXPECT_EQ(sequence.name, facts.name);
    EXPECT_EQ(sequence.vertex_count(), facts.vertices);
    EXPECT_EQ(sequence.frame_count(), facts.frames);
    EXPECT_GT(sequence.rest.face_count(), 0U);
  }
}

TEST(ReadSequence, FramesOfEveryFormatMayStayInAFile) {
  const TemporaryFolder folder;
  const TemporaryFolder scratch;
  const Sequence sequence = small_sequence(5);
  std::vector<std::string> names = extensions_for(FileUse::write_sequence);
  std::erase(names, ".obj");  // a single frame
  names.emplace_back("");     // a folder of them
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const fs::path file = folder / ("cache" + name);
    write_sequence(file, sequence);
    ReadOptions options;
    options.paging = {0, 1024, scratch.path()};
    for (const std::size_t first : {std::size_t{0}, std::size_t{2}}) {
      ReadOptions plain;
      options.first_frame = plain.first_frame = first;
      const Sequence in_memory = read_sequence({file}, plain);
      const Sequence in_file = read_sequence({file}, options);
      EXPECT_EQ(in_memory.frames.paging(), nullptr);
      ASSERT_NE(in_file.frames.paging(), nullptr);
      EXPECT_TRUE(in_file.frames == in_memory.frames);
      EXPECT_EQ(in_file.times, in_memory.times);
    }
  }
  EXPECT_TRUE(fs::is_empty(scratch.path()));
}

TEST(ReadSequence, ACacheThatStaysInItsFileIsLookedAtAsClosely) {
  const TemporaryFolder folder;
  Sequence sequence = small_sequence(5);
  sequence.frames[3](1, 2) = std::numeric_limits<float>::quiet_NaN();
  write_sequence(folder / "bad.pc2", sequence);
  ReadOptions options;
  options.paging.most = 0;
  expect_refused({folder / "bad.pc2"}, "frame 3, vertex 2", options);
}

TEST(WriteSequence, OneThatIsAskedToStopHalfwayLeavesTheOldFile) {
  for (const char* name : {"walk.pc2", "walk.mdd", "walk.npz", "walk.abc", "walk.usda", "walk.usdz", "walk"}) {
    SCOPED_TRACE(name);
    const TemporaryFolder folder;
    write_sequence(folder / name, small_sequence(3));
    const auto files = [&] {
      std::vector<fs::path> out;
      for (const auto& entry : fs::recursive_directory_iterator(folder.path())) out.push_back(entry.path());
      std::sort(out.begin(), out.end());
      return out;
    };
    const std::vector<fs::path> before = files();
    const int most =
        std::string_view(name).find(".usd") != std::string_view::npos ? 1 : 3;  // text comes in large pieces
    int told = 0;
    const auto stop_early = [&](std::string_view, double fraction) {
      EXPECT_LT(fraction, 1);
      return ++told < most;
    };
    expect_error(ErrorKind::interrupted, "nothing was written",
                 [&] { write_sequence(folder / name, small_sequence(12), stop_early); });
    EXPECT_EQ(files(), before);
    EXPECT_EQ(read_sequence({folder / name}).frame_count(), 3U);
  }
}

TEST(WriteSequence, EveryFormatReadsBackWithTheSameFrames) {
  const TemporaryFolder folder;
  const Sequence sequence = small_sequence(12);
  for (const char* name : {"walk.pc2", "walk.mdd", "walk.npz", "walk"}) {
    write_sequence(folder / name, sequence);
    const Sequence back = read_sequence({folder / name});
    EXPECT_EQ(back.name, "walk") << name;
    EXPECT_EQ(back.frames, sequence.frames) << name;
    EXPECT_EQ(back.rest.positions, sequence.rest.positions) << name;
    EXPECT_EQ(back.rest.corners, sequence.rest.corners) << name;
    const bool has_times = std::string(name) != "walk";  // OBJ files have none
    EXPECT_THAT(back.times, Pointwise(DoubleNear(1e-7), has_times ? sequence.times : uniform_times(12))) << name;
  }
  EXPECT_EQ(read_sequence({folder / "walk.pc2"}).rest.uv_sets.at(0).indices, sequence.rest.uv_sets[0].indices);
  EXPECT_EQ(read_sequence({folder / "walk"}).rest.pieces.at(1).name, "left arm");
  EXPECT_EQ(read_sequence({folder / "walk.obj", folder / "walk.mdd"}).frame_count(), 12U);
}

TEST(WriteSequence, OneFrameCanBeAnObjFile) {
  const TemporaryFolder folder;
  Sequence sequence = small_sequence(1);
  write_sequence(folder / "pose.obj", sequence);
  EXPECT_EQ(read_sequence({folder / "pose.obj"}).frames, sequence.frames);
  expect_error(ErrorKind::usage, "pose.obj: an OBJ file holds one frame, there are 3",
               [&] { write_sequence(folder / "pose.obj", small_sequence(3)); });
}

TEST(ReadSequence, OrdersObjFramesByTheirNumbers) {
  const TemporaryFolder folder;
  for (const int f : {1, 2, 9, 10, 11, 100}) write_text(folder / fmt::format("f{}.obj", f), triangle(f));
  write_text(folder / "notes.txt", "not a frame");
  const Sequence sequence = read_sequence({folder.path()});
  ASSERT_EQ(sequence.frame_count(), 6U);
  std::vector<float> heights;
  for (std::size_t f = 0; f < 6; ++f) heights.push_back(sequence.frames[f](2, 2));
  EXPECT_THAT(heights, ElementsAre(1, 2, 9, 10, 11, 100));
  EXPECT_EQ(sequence.rest.positions(2, 2), 1) << "the first frame is the rest pose";
}

TEST(ReadSequence, RestObjBesideObjFramesIsTheRestPoseAndNotAFrame) {
  const TemporaryFolder folder;
  write_text(folder / "rest.obj", triangle(-5));
  write_text(folder / "a1.obj", triangle(1));
  const Sequence sequence = read_sequence({folder.path()});
  EXPECT_EQ(sequence.frame_count(), 1U);
  EXPECT_EQ(sequence.rest.positions(2, 2), -5);
}

TEST(ReadSequence, TakesTheRestPoseFromAFrameOrAFile) {
  const TemporaryFolder folder;
  for (const int f : {0, 1, 2, 3}) write_text(folder / fmt::format("f{}.obj", f), triangle(f));
  EXPECT_EQ(read_sequence({folder.path()}, with_rest("2")).rest.positions(2, 2), 2);
  const TemporaryFolder other;
  write_text(other / "tpose.obj", triangle(-7));
  const Sequence sequence = read_sequence({folder.path()}, with_rest((other / "tpose.obj").string()));
  EXPECT_EQ(sequence.rest.positions(2, 2), -7);
  EXPECT_EQ(sequence.frame_count(), 4U);

  expect_error(ErrorKind::usage, "rest frame 4: ", [&] { read_sequence({folder.path()}, with_rest("4")); });
  write_text(other / "big.obj", "v 1 1 1\n" + triangle(0));
  expect_refused({folder.path()}, "big.obj: 4 vertices, ", with_rest((other / "big.obj").string()));
  write_text(other / "turned.obj", "v 0 0 0\nv 1 0 0.5\nv 0 2 3\nf 1 3 2\n");
  expect_refused({folder.path()}, "turned.obj: its faces are not those of ",
                 with_rest((other / "turned.obj").string()));
  expect_refused({folder.path()}, "no such file or folder", with_rest((other / "absent.obj").string()));
}

TEST(ReadSequence, LeavesOutFramesThatAreNotAskedForInEveryFormat) {
  const TemporaryFolder folder;
  const Sequence sequence = small_sequence(11);
  const Sequence expected = select_frames(sequence, 2, 9, 3);
  for (const char* name : {"walk.pc2", "walk.npz", "walk"}) {
    write_sequence(folder / name, sequence);
    for (const std::string& rest : {std::string(), std::string("1")}) {
      ReadOptions options;
      options.first_frame = 2;
      options.last_frame = 9;
      options.frame_step = 3;
      options.rest = rest;
      const Sequence back = read_sequence({folder / name}, options);
      EXPECT_EQ(back.frames, expected.frames) << name;
      EXPECT_EQ(back.rest.positions, rest.empty() ? sequence.rest.positions : Points(sequence.frames[1])) << name;
    }
    ReadOptions none;
    none.first_frame = 11;
    expect_error(ErrorKind::usage, "select nothing", [&] { read_sequence({folder / name}, none); });
  }
}

TEST(ReadSequence, RefusesWhatIsNotThere) {
  const TemporaryFolder folder;
  expect_refused({folder / "absent.pc2"}, "absent.pc2: no such file or folder");
  expect_refused({folder / "absent.obj", folder / "absent.pc2"}, "absent.obj: cannot be read: No such file");
  expect_refused({folder.path()}, "the folder has no frames (.obj, .ply), nor rest.obj with frames.pc2");
  write_text(folder / "rest.obj", triangle(1));
  expect_refused({folder.path()}, "the folder has no frames");
  expect_refused({folder / "rest.obj", folder / "absent.pc2"}, "absent.pc2: cannot be read: No such file");
  write_text(folder / "a.txt", "hello");
  expect_refused({folder / "a.txt"}, "a.txt: not a format that can be read; expected .obj");
  write_text(folder / "a.pc2", "hello");
  expect_refused({folder / "a.pc2"}, "holds positions only; name its mesh before it, or put that beside it as a.obj");
  expect_error(ErrorKind::usage, "a sequence is one file or folder", [] { read_sequence({}); });
  expect_error(ErrorKind::usage, "a sequence is one file or folder", [&] {
    read_sequence({folder / "rest.obj", folder / "rest.obj"});
  });
  expect_error(ErrorKind::input, "rest.obj: not a format that a rig can be read from",
               [&] { read_rig(folder / "rest.obj"); });
  expect_error(ErrorKind::input, "absent.glb: no such file", [&] { read_rig(folder / "absent.glb"); });
}

TEST(ReadSequence, NamesTheFirstFrameWhoseVertexCountDiffersAndBothCounts) {
  const TemporaryFolder folder;
  for (int f = 1; f <= 12; ++f) write_text(folder / fmt::format("f{}.obj", f), triangle(f));
  write_text(folder / "f10.obj", "v 1 1 1\n" + triangle(1));
  write_text(folder / "f11.obj", "v 1 1 1\n");
  expect_refused({folder.path()}, "frame 9 (");
  expect_refused({folder.path()}, "f10.obj): 4 vertices, the rest mesh has 3");
}

TEST(ReadSequence, NamesTheFirstFrameWhoseFacesDiffer) {
  const TemporaryFolder folder;
  write_text(folder / "f1.obj", triangle(1));
  write_text(folder / "f2.obj", triangle(2));
  write_text(folder / "f3.obj", "v 0 0 0\nv 1 0 0.5\nv 0 2 3\nf 2 1 3\n");
  expect_refused({folder.path()}, "f3.obj): face 0 is not that of the rest mesh");
}

TEST(ReadSequence, ManyFramesTooShortForTheirVerticesAreRefusedBeforeMemoryIsTaken) {
  const TemporaryFolder folder;
  std::string large;
  for (int v = 0; v < 100000; ++v) large += "v 0 0 0\n";
  write_text(folder / "f0.obj", large);
  for (int f = 1; f < 200; ++f) write_text(folder / fmt::format("f{}.obj", f), "v 0 0 0\n");
  expect_refused({folder.path()}, "f1.obj): 1 vertices, the rest mesh has 100000");
}

TEST(ReadSequence, NamesFrameAndVertexOfNumbersThatAreNotFinite) {
  const TemporaryFolder folder;
  write_text(folder / "f1.obj", triangle(1));
  write_text(folder / "f2.obj", "v 0 0 0\nv 1 nan 0.5\nv 0 2 3\nf 1 2 3\n");
  expect_refused({folder.path()}, "frame 1 (");
  expect_refused({folder.path()}, "f2.obj): line 2: position of vertex 1 is not finite");
}

TEST(ReadSequence, NamesBothCountsOfAMeshAndACacheThatDisagree) {
  const TemporaryFolder folder;
  write_text(folder / "rest.obj", triangle(1));
  write_pc2(folder / "frames.pc2", small_sequence().frames, small_sequence().times);
  expect_refused({folder.path()}, "frames.pc2: 9 points, ");
  expect_refused({folder / "rest.obj", folder / "frames.pc2"}, "rest.obj has 3 vertices");
}

TEST(WriteSequence, MissingFoldersAreOutputErrorsThatLeaveNothing) {
  const TemporaryFolder folder;
  for (const char* name : {"absent/a.pc2", "absent/a.mdd", "absent/a.npz", "absent/a"})
    expect_error(ErrorKind::output, "cannot be written: No such file",
                 [&] { write_sequence(folder / name, small_sequence()); });
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

/// Acts on files as a user who may not do everything, where the tests run as root.
class PlainUser {
 public:
  PlainUser() { setfsuid(geteuid() == 0 ? 65534 : geteuid()); }
  ~PlainUser() { setfsuid(geteuid()); }
  PlainUser(const PlainUser&) = delete;
  PlainUser& operator=(const PlainUser&) = delete;
};

TEST(WriteSequence, FoldersThatMayNotBeWrittenAreOutputErrorsThatLeaveNothing) {
  const TemporaryFolder folder;
  chmod(folder.path().c_str(), 0555);
  for (const char* name : {"a.pc2", "a.mdd", "a.npz", "a"}) {
    const PlainUser user;
    expect_error(ErrorKind::output, "cannot be written: Permission denied",
                 [&] { write_sequence(folder / name, small_sequence()); });
  }
  EXPECT_TRUE(fs::is_empty(folder.path()));
  chmod(folder.path().c_str(), 0700);
}

TEST(WriteSequence, UnknownExtensionsAreRefusedWithWhatIsExpected) {
  expect_error(ErrorKind::usage, "a.fbx: not a format that frames can be written to; expected .obj, .pc2, .mdd, ",
               [] { write_sequence("a.fbx", small_sequence()); });
  expect_error(ErrorKind::usage, "a.pc2: not a format that a rig can be written to", [] { write_rig("a.pc2", Rig{}); });
}

TEST(WriteObjFolder, ReplacesItsOwnFramesButNoOtherFolder) {
  const TemporaryFolder folder;
  write_obj_folder(folder / "out", small_sequence(5));
  write_obj_folder(folder / "out", small_sequence(2));
  EXPECT_EQ(read_sequence({folder / "out"}).frame_count(), 2U) << "no frames of the longer sequence remain";
  write_text(folder / "out/thesis.txt", "mine");
  expect_error(ErrorKind::output, "the folder holds thesis.txt",
               [&] { write_obj_folder(folder / "out", small_sequence(3)); });
  EXPECT_EQ(read_sequence({folder / "out"}).frame_count(), 2U);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1) << "nothing temporary remains";
  write_text(folder / "file", "mine");
  expect_error(ErrorKind::output, "a file of that name exists",
               [&] { write_obj_folder(folder / "file", small_sequence(3)); });
  fs::create_directory(folder / "empty");
  write_obj_folder(folder / "empty/", small_sequence(3));
  EXPECT_EQ(read_sequence({folder / "empty"}).frame_count(), 3U);
}

TEST(SameFile, SeesThroughLinksAndDotsAlsoOfFilesThatAreNotThere) {
  const TemporaryFolder folder;
  write_text(folder / "a.glb", "x");
  fs::create_symlink(folder / "a.glb", folder / "link.glb");
  fs::create_directory(folder / "sub");
  EXPECT_TRUE(same_file(folder / "a.glb", folder / "link.glb"));
  EXPECT_TRUE(same_file(folder / "sub/../a.glb", folder / "a.glb"));
  EXPECT_TRUE(same_file(folder / "sub/../new.glb", folder / "new.glb"));
  EXPECT_TRUE(same_file("not there", fs::current_path() / "not there"));
  EXPECT_FALSE(same_file(folder / "a.glb", folder / "new.glb"));
  EXPECT_FALSE(same_file(folder / "new.glb", folder / "newer.glb"));
  EXPECT_THAT(files_written("x/a.pc2"), ElementsAre("x/a.pc2", "x/a.obj"));
  EXPECT_THAT(files_written("x/a.glb"), ElementsAre("x/a.glb"));
}

TEST(FilesRead, AreTheFileWhatLiesBesideItAndWhatAFolderHolds) {
  const TemporaryFolder folder;
  EXPECT_THAT(files_read("x/a.MDD"), ElementsAre("x/a.MDD", "x/a.obj"));
  EXPECT_THAT(files_read("x/a.glb"), ElementsAre("x/a.glb"));
  for (const char* name : {"rest.obj", "f1.OBJ", "frames.pc2", "other.pc2", "notes.txt"})
    write_text(folder / name, "x");
  EXPECT_THAT(files_read(folder.path()), testing::UnorderedElementsAre(folder.path(), folder / "rest.obj",
                                                                       folder / "f1.OBJ", folder / "frames.pc2"));
}

TEST(ExtensionsFor, AreThoseOfTheFormatsThatCanDoIt) {
  EXPECT_THAT(extensions_for(FileUse::read_positions), ElementsAre(".pc2", ".mdd"));
  EXPECT_THAT(extensions_for(FileUse::write_rig), ElementsAre(".fbx", ".glb", ".usda", ".usdz", ".bvh"));
  EXPECT_THAT(extensions_for(FileUse::write_and_read_rig), ElementsAre(".fbx", ".glb", ".usda", ".usdz"));
  EXPECT_TRUE(usable_for(FileUse::write_rig, "a/B.GLB"));
  EXPECT_FALSE(usable_for(FileUse::write_rig, "a.gltf"));
  EXPECT_FALSE(usable_for(FileUse::read_sequence, "folder"));
  EXPECT_EQ(lower_extension("x/Y.Pc2"), ".pc2");
}

}  // namespace
}  // namespace sinew
