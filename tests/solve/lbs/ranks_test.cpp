#include "sinew/core/ranks.h"

#include <gtest/gtest.h>

#include <functional>
#include <span>
#include <string>

#include "sinew/core/error.h"
#include "sinew/make/character.h"
#include "sinew/solve/request.h"
#include "solve/lbs/alternation.h"
#include "solve/lbs/motion_clusters.h"
#include "support/support.h"
#include "support/thread_ranks.h"

/// Solves that ranks share are those of one process.
namespace sinew {
namespace {

using namespace lbs;

Sequence creature(int vertices, int frames) {
  CharacterOptions options;
  options.vertices = vertices;
  options.walk_frames = frames / 2;
  options.wave_frames = frames - frames / 2;
  options.bulge = 0.2;
  options.noise = 0.0005;
  return make_character(options).sequence;
}

/// The same frames in a file that ranks share.
Sequence shared(const Sequence& sequence, Ranks& ranks, std::size_t memory = std::size_t{1} << 28) {
  Sequence out = sequence;
  Paging paging;
  paging.most = 0;
  paging.memory = memory;
  paging.ranks = &ranks;
  out.frames = Frames(sequence.frame_count(), sequence.vertex_count(), paging);
  for (std::size_t f = 0; f < sequence.frame_count(); ++f) out.frames[f] = std::as_const(sequence.frames)[f];
  return out;
}

SolveRequest request_of(const std::string& method, int bones) {
  SolveRequest request;
  request.method = method;
  request.bones = bones;
  request.quality = Quality::fast;
  request.threads = 1;
  return request;
}

void expect_same(const Rig& rig, const Rig& expected) {
  EXPECT_EQ(rig.rest.positions, expected.rest.positions);
  EXPECT_EQ(rig.weights.bones, expected.weights.bones);
  EXPECT_EQ(rig.weights.values, expected.weights.values);
  ASSERT_EQ(rig.bone_count(), expected.bone_count());
  for (std::size_t f = 0; f < rig.frame_count(); ++f)
    for (std::size_t b = 0; b < rig.bone_count(); ++b) EXPECT_EQ(rig.motion(f, b), expected.motion(f, b)) << f;
}

void expect_bits_of_one(const Sequence& sequence, const SolveRequest& request, std::initializer_list<int> counts,
                        std::size_t memory = std::size_t{1} << 28) {
  FitReport report;
  const Rig expected = solve(sequence, request, report, {});
  for (const int count : counts) {
    SCOPED_TRACE(testing::Message() << request.method << " by " << count << " ranks");
    test::as_ranks(count, [&](Ranks& ranks) {
      const Sequence own = shared(sequence, ranks, memory);
      FitReport of_rank;
      expect_same(solve(own, request, of_rank, {}), expected);
    });
  }
}

TEST(SharedSolve, HasTheBitsOfOneProcessForSsdr) {
  const Sequence sequence = creature(2500, 40);
  expect_bits_of_one(sequence, request_of("ssdr", 12), {2, 3, 5});
  SolveRequest smooth = request_of("ssdr", 9);
  smooth.smoothness = 0.01;
  expect_bits_of_one(sequence, smooth, {3});
}

TEST(SharedSolve, HasThemWithASearchOnASampleAndTrajectoriesInAFile) {
  const Sequence sequence = creature(1500, 24);
  SolveRequest request = request_of("ssdr", 6);
  request.quality = Quality::balanced;
  request.work = 400;
  expect_bits_of_one(sequence, request, {3}, 20000);
}

TEST(SharedSolve, HasThemForTheOtherMethodsThatPassOverFrames) {
  const Sequence sequence = creature(1500, 24);
  for (const char* const method : {"kavan", "clusters", "skeleton"})
    expect_bits_of_one(sequence, request_of(method, 7), {3});
}

TEST(SharedSolve, HasThemForFlatsWithPassesOverAFewVerticesAtATime) {
  const Sequence sequence = creature(1500, 24);  // 12 parts of 128 vertices, 3 blocks of 512
  expect_bits_of_one(sequence, request_of("flats", 5), {1, 2, 5}, 4 * 12 * 24 * 300);
  SolveRequest start = request_of("ssdr", 6);
  start.start = Start::flats;
  expect_bits_of_one(sequence, start, {3});
}

TEST(SharedSolve, HasThemWhereSomeRanksHaveNoVertices) {
  expect_bits_of_one(creature(500, 12), request_of("ssdr", 5), {6});
}

TEST(SharedSolve, SendsSumsWhoseSizeDoesNotDependOnTheVerticesInEveryIteration) {
  constexpr int kIterations = 5;
  for (const int vertices : {800, 2400}) {
    const Sequence sequence = creature(vertices, 12);
    test::as_ranks(3, [&](Ranks& ranks) {
      const Sequence own = shared(sequence, ranks);
      const Problem problem(own);
      FitState state;
      const MotionClusters clusters = cluster_by_motion(problem, 7);
      state.D = clusters.D;
      state.weights = weights_of(clusters, 4);
      RunOptions options;
      options.iterations = kIterations;
      options.tolerance = 0;
      const Ranks::Traffic before = ranks.traffic();
      run(problem, options, state);
      const std::size_t bones = 7, rows = problem.row_count();
      const std::size_t once = 8 * (5 * bones * (bones + 1) + 4 * bones * rows + 2);
      EXPECT_LE(2 * once, 8 * (16 * bones * rows + 16 * bones * bones));
      const std::size_t times = ranks.rank() == 1 ? 2 : 1;  // from the one before, and from the last
      EXPECT_EQ(ranks.traffic().sums - before.sums, kIterations * times * once);
      // Weights of others, at the end: their number, bones and values in each slot, and the residual.
      const std::size_t others = problem.vertex_count() - problem.own().count();
      EXPECT_EQ(ranks.traffic().vertices - before.vertices, others * (2 + 4 * 6 + 4));
    });
  }
}

TEST(SharedSolve, StopsAtTheSameIterationWhoeverAsks) {
  const Sequence sequence = creature(900, 12);
  std::vector<std::size_t> iterations(3);
  test::as_ranks(3, [&](Ranks& ranks) {
    const Sequence own = shared(sequence, ranks);
    FitReport report;
    int told = 0;
    const Progress progress = [&](std::string_view step, double) {
      if (step == "iterate") ++told;
      return !ranks.any(ranks.rank() == 2 && told == 4);
    };
    solve(own, request_of("ssdr", 8), report, progress);
    EXPECT_EQ(report.termination, Termination::cancelled);
    iterations[static_cast<std::size_t>(ranks.rank())] = report.iterations.size();
  });
  EXPECT_EQ(iterations, (std::vector<std::size_t>{4, 4, 4}));
}

TEST(SharedSolve, FindsNumbersThatAreNotFiniteWhereTheyAre) {
  Sequence sequence = creature(900, 12);
  sequence.frames[3](1, 850) = std::numeric_limits<float>::quiet_NaN();
  test::as_ranks(2, [&](Ranks& ranks) {
    const Sequence own = shared(sequence, ranks);
    if (ranks.rank() == 0) return own.frames.check_finite("creature");
    test::expect_error(ErrorKind::input, "frame 3, vertex 850", [&] { own.frames.check_finite("creature"); });
  });
}

TEST(SharedSolve, OfASurfaceIsRefused) {
  const Sequence sequence = creature(900, 12);
  SolveRequest request = request_of("ssdr", 5);
  request.surface = 1;
  test::as_ranks(2, [&](Ranks& ranks) {
    const Sequence own = shared(sequence, ranks);
    FitReport report;
    test::expect_error(ErrorKind::usage, "one process", [&] { solve(own, request, report, {}); });
  });
}

}  // namespace
}  // namespace sinew
