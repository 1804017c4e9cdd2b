#include "sinew/solve/estimate.h"

#include <cmath>

#include "support/support.h"

namespace sinew {
namespace {

constexpr const char* kMethods[] = {"ssdr", "kavan", "flats", "skeleton", "sma", "clusters"};

SolveSize usual() {
  SolveSize size;
  size.vertices = 8000;
  size.triangles = 16000;
  size.frames = 50;
  size.bones = 20;
  return size;
}

TEST(Estimate, GrowsWithEverythingThatCosts) {
  const auto larger = [](const char* method, auto change) {
    SolveSize size = usual();
    const SolveEstimate before = estimate_solve(method, size);
    change(size);
    const SolveEstimate after = estimate_solve(method, size);
    EXPECT_GT(after.bytes, before.bytes) << method;
    EXPECT_GT(after.seconds, before.seconds) << method;
  };
  for (const char* method : kMethods) {
    larger(method, [](SolveSize& size) { size.vertices *= 2, size.triangles *= 2; });
    larger(method, [](SolveSize& size) { size.frames *= 2; });
    larger(method, [](SolveSize& size) { size.bones *= 2; });
  }
}

TEST(Estimate, AsksForTheFramesAtLeast) {
  for (const char* method : kMethods) EXPECT_GT(estimate_solve(method, usual()).bytes, 12.0 * 8000 * 50) << method;
}

TEST(Estimate, QualityCostsTimeWhereTheMethodKnowsIt) {
  for (const char* method : {"ssdr", "kavan", "flats", "skeleton"}) {
    SolveSize size = usual();
    size.quality = Quality::fast;
    const double fast = estimate_solve(method, size).seconds;
    size.quality = Quality::balanced;
    const double balanced = estimate_solve(method, size).seconds;
    size.quality = Quality::best;
    EXPECT_LT(fast, balanced) << method;
    EXPECT_LT(balanced, estimate_solve(method, size).seconds) << method;
  }
}

TEST(Estimate, ThreadsSaveWaitingNotWorkAndTakeMemory) {
  for (const char* method : kMethods) {
    SolveSize size = usual();
    const SolveEstimate one = estimate_solve(method, size);
    size.threads = 8;
    const SolveEstimate eight = estimate_solve(method, size);
    EXPECT_LT(eight.seconds, one.seconds) << method;
    EXPECT_DOUBLE_EQ(eight.cpu_seconds, one.cpu_seconds) << method;
    EXPECT_DOUBLE_EQ(one.seconds, one.cpu_seconds) << method;
    EXPECT_GT(eight.bytes, one.bytes) << method;
  }
}

TEST(Estimate, MirroredFramesOfASkeletonCostTwice) {
  SolveSize size = usual();
  const SolveEstimate plain = estimate_solve("skeleton", size);
  size.symmetric = true;
  const SolveEstimate symmetric = estimate_solve("skeleton", size);
  EXPECT_GT(symmetric.seconds, plain.seconds);
  EXPECT_GT(symmetric.bytes, plain.bytes + 4 * 12.0 * 8000 * 50);
}

TEST(Estimate, NoMoreBonesThanVerticesAreCounted) {
  SolveSize size = usual();
  size.vertices = 10;
  size.triangles = 5;
  size.bones = 10;
  const SolveEstimate ten = estimate_solve("ssdr", size);
  size.bones = 1000;
  EXPECT_DOUBLE_EQ(estimate_solve("ssdr", size).seconds, ten.seconds);
  size.vertices = 0;
  EXPECT_TRUE(std::isfinite(estimate_solve("ssdr", size).seconds));
}

TEST(Estimate, AnotherMethodIsRefused) {
  test::expect_error(ErrorKind::usage, "there is no method 'magic'", [] { estimate_solve("magic", usual()); });
}

}  // namespace
}  // namespace sinew
