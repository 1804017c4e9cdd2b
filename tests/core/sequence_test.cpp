#include "sinew/core/sequence.h"

#include <limits>
#include <memory>
#include <vector>

#include "support/support.h"

namespace sinew {
namespace {

Sequence line(std::size_t frames) {
  Sequence s;
  s.name = "line";
  s.rest.positions = Points::Random(3, 4);
  s.frames = Frames(frames, 4);
  for (std::size_t f = 0; f < frames; ++f) s.frames[f].setConstant(static_cast<float>(f));
  s.times = uniform_times(frames, 0.5);
  return s;
}

TEST(Sequence, NamesFrameAndVertexOfTheFirstNumberThatIsNotFinite) {
  Sequence s = line(5);
  s.check();
  s.frames[3](2, 1) = std::numeric_limits<float>::infinity();
  test::expect_error(ErrorKind::input, "frame 3, vertex 1", [&] { s.check(); });
}

TEST(Sequence, RefusesNoFramesNoVerticesAndCountsThatDiffer) {
  Sequence s = line(2);
  s.frames = Frames(2, 3);
  test::expect_error(ErrorKind::input, "3 points per frame, the rest mesh has 4", [&] { s.check(); });
  s.frames = Frames(0, 4);
  test::expect_error(ErrorKind::input, "no frames", [&] { s.check(); });
  s.rest.positions.resize(3, 0);
  test::expect_error(ErrorKind::input, "no vertices", [&] { s.check(); });
}

TEST(Frames, AreReadWhereTheyLieAndCopiedBeforeAChange) {
  auto values = std::make_shared<std::vector<float>>(2 * 4 * 3, 1.5F);
  Frames borrowed(2, 4, values->data(), values);
  const Frames& read = borrowed;
  EXPECT_EQ(read.data().data(), values->data());
  EXPECT_EQ(read[1].data(), values->data() + 12);
  EXPECT_EQ(values.use_count(), 2);
  const Frames copy = borrowed;  // reads the same memory
  EXPECT_EQ(copy.data().data(), values->data());
  EXPECT_EQ(copy, borrowed);
  borrowed[1](2, 3) = 7;
  EXPECT_EQ(values->back(), 1.5F);
  EXPECT_EQ(read.data().back(), 7.0F);
  EXPECT_NE(copy, borrowed);
  EXPECT_EQ(values.use_count(), 2);  // that of the copy and our own
}

TEST(Frames, DifferWhereTheirShapesDo) {
  EXPECT_EQ(Frames(2, 3), Frames(2, 3));
  EXPECT_NE(Frames(2, 3), Frames(3, 2));
  EXPECT_NE(Frames(2, 3), Frames(2, 2));
}

TEST(Sequence, TimesRestartOnlyAtClips) {
  Sequence s = line(4);
  s.times = {0, 1, 0, 1};
  test::expect_error(ErrorKind::input, "time of frame 2", [&] { s.check(); });
  s.clips = {{"a", 0, 2}, {"b", 2, 2}};
  s.check();
}

TEST(Sequence, SelectedFramesKeepTheirTimesAndClips) {
  Sequence s = line(10);
  s.clips = {{"a", 0, 3}, {"b", 3, 1}, {"c", 4, 6}};
  const Sequence out = select_frames(s, 1, 9, 3);  // frames 1, 4, 7
  ASSERT_EQ(out.frame_count(), 3U);
  EXPECT_EQ(out.frames[1](0, 0), 4.0F);
  EXPECT_EQ(out.times[2], 3.5);
  ASSERT_EQ(out.clips.size(), 2U);
  EXPECT_EQ(out.clips[0].name, "a");
  EXPECT_EQ(out.clips[0].frames, 1U);
  EXPECT_EQ(out.clips[1].name, "c");
  EXPECT_EQ(out.clips[1].first_frame, 1U);
  EXPECT_EQ(out.clips[1].frames, 2U);
  out.check();
  test::expect_error(ErrorKind::usage, "select nothing", [&] { select_frames(s, 5, 5, 1); });
  test::expect_error(ErrorKind::usage, "select nothing", [&] { select_frames(s, 0, 5, 0); });
}

TEST(Sequence, SeveralAnimationsOfOneCharacterBecomeItsClips) {
  Sequence walk = line(3);
  Sequence wave = line(2);
  wave.clips = {{"wave", 0, 1}, {"line", 1, 1}};
  const Sequence out = concatenate({walk, wave});
  out.check();
  ASSERT_EQ(out.frame_count(), 5U);
  EXPECT_EQ(out.frames[4](1, 2), 1.0F);
  ASSERT_EQ(out.clips.size(), 3U);
  EXPECT_EQ(out.clips[1].name, "wave");
  EXPECT_EQ(out.clips[1].first_frame, 3U);
  EXPECT_EQ(out.clips[2].name, "line 2");
  wave.rest.face_sizes = {3};
  wave.rest.corners = {0, 1, 2};
  test::expect_error(ErrorKind::input, "its faces are not those of", [&] { concatenate({walk, wave}); });
  wave.rest.positions.resize(3, 7);
  test::expect_error(ErrorKind::input, "7 vertices, line has 4", [&] { concatenate({walk, wave}); });
}

TEST(SequenceCheck, AnUnnamedSequenceIsCalledSequence) {
  test::expect_error(ErrorKind::input, "sequence: no vertices", [] { Sequence().check(); });
}

TEST(Resample, VerticesMoveStraightBetweenFramesOfAClip) {
  Sequence s;
  s.rest.positions = Points::Zero(3, 1);
  s.frames = Frames(4, 1, {0, 0, 0, 2, 4, 0, 100, 0, 0, 104, 0, 8});
  s.times = {0, 1, 0, 0.5};
  s.clips = {{"a", 0, 2}, {"b", 2, 2}};
  const Sequence out = resample(s, 4);
  ASSERT_EQ(out.frame_count(), 8U);
  EXPECT_EQ(out.frames[1], Vector3(0.5F, 1, 0));
  EXPECT_EQ(out.frames[4], Vector3(2, 4, 0));
  EXPECT_EQ(out.frames[6], Vector3(102, 0, 4));
  EXPECT_EQ(out.clips[1].first_frame, 5U);
  EXPECT_EQ(out.clips[1].frames, 3U);
  out.check();
}

}  // namespace
}  // namespace sinew
