#include "sinew/evaluate/sted.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sinew/core/error.h"

namespace sinew {
namespace {

/// A strip of triangles that bends and drifts, unevenly.
Sequence strip(std::size_t frames) {
  constexpr Eigen::Index kColumns = 9;
  Sequence sequence;
  sequence.name = "strip";
  sequence.rest.positions.resize(3, 2 * kColumns);
  for (Eigen::Index c = 0; c < kColumns; ++c) {
    const auto x = static_cast<float>(c) + 0.1F * static_cast<float>(c * c);
    sequence.rest.positions.col(2 * c) << x, 0, 0;
    sequence.rest.positions.col(2 * c + 1) << x + 0.3F, 1.5F, 0.2F;
  }
  for (Index c = 0; c + 1 < kColumns; ++c) {
    const Index a = 2 * c;
    sequence.rest.face_sizes.insert(sequence.rest.face_sizes.end(), {3, 3});
    sequence.rest.corners.insert(sequence.rest.corners.end(), {a, a + 2, a + 1, a + 1, a + 2, a + 3});
  }
  sequence.frames = Frames(frames, 2 * kColumns);
  for (std::size_t f = 0; f < frames; ++f) {
    const auto t = static_cast<float>(f);
    sequence.frames[f] = sequence.rest.positions;
    sequence.frames[f].row(1) += 0.05F * t * sequence.rest.positions.row(0);
    sequence.frames[f].row(2).array() += 0.02F * t * t;
  }
  sequence.times = uniform_times(frames);
  return sequence;
}

TEST(EdgeErrors, AreNoneForTheSequenceItselfOrWhereItIsElsewhere) {
  const Sequence sequence = strip(8);
  Frames posed = sequence.frames;
  EXPECT_EQ(evaluate_edges(posed, sequence).spatial_percent, 0);
  EXPECT_EQ(evaluate_edges(posed, sequence).temporal_percent, 0);
  for (std::size_t f = 0; f < posed.count(); ++f) posed[f].row(0).array() += 40;
  EXPECT_NEAR(evaluate_edges(posed, sequence).spatial_percent, 0, 1e-3);
  EXPECT_NEAR(evaluate_edges(posed, sequence).temporal_percent, 0, 1e-3);
}

TEST(EdgeErrors, GrowingEvenlyIsNoErrorAndOneVertexOutOfPlaceIs) {
  const Sequence sequence = strip(8);
  Frames grown = sequence.frames;
  for (std::size_t f = 0; f < grown.count(); ++f) grown[f] *= 1.25F;
  EXPECT_NEAR(evaluate_edges(grown, sequence).spatial_percent, 0, 1e-3);
  Frames spiked = sequence.frames;
  for (std::size_t f = 0; f < spiked.count(); ++f) spiked[f](2, 7) += 0.5F;
  EXPECT_GT(evaluate_edges(spiked, sequence).spatial_percent, 0.2);
  EXPECT_NEAR(evaluate_edges(spiked, sequence).temporal_percent, 0, 1e-3);
}

TEST(EdgeErrors, TremblingIsSeenInTimeAndNotInSpace) {
  const Sequence sequence = strip(8);
  Frames posed = sequence.frames;
  for (std::size_t f = 0; f < posed.count(); f += 2) posed[f].row(0).array() += 0.5F;
  EXPECT_NEAR(evaluate_edges(posed, sequence).spatial_percent, 0, 1e-3);
  EXPECT_GT(evaluate_edges(posed, sequence).temporal_percent, 0.2);
}

TEST(EdgeErrors, ASpatialDeviationIsThatOfItsDefinition) {
  Sequence triangle;
  triangle.name = "triangle";
  triangle.rest.positions.resize(3, 3);
  triangle.rest.positions << 0, 2, 0, 0, 0, 1, 0, 0, 0;
  triangle.rest.face_sizes = {3};
  triangle.rest.corners = {0, 1, 2};
  triangle.frames = Frames(1, 3);
  triangle.frames[0] = triangle.rest.positions;
  triangle.times = {0};
  Frames posed = triangle.frames;
  posed[0](0, 1) = 3;  // edges 2 -> 3, 1 -> 1, sqrt(5) -> sqrt(10)
  const auto deviation = [](double d1, double w1, double d2, double w2) {
    const double mean = (w1 * d1 + w2 * d2) / (w1 + w2);
    return std::sqrt((w1 * std::pow(d1 - mean, 2) + w2 * std::pow(d2 - mean, 2)) / (w1 + w2));
  };
  const double root5 = std::sqrt(5.0);
  const double diagonal = (std::sqrt(10.0) - root5) / root5;
  const double expected =
      (deviation(0.5, 2, 0, 1) + deviation(0.5, 2, diagonal, root5) + deviation(0, 1, diagonal, root5)) / 3;
  EXPECT_NEAR(evaluate_edges(posed, triangle).spatial_percent, 100 * expected, 1e-4);
}

TEST(EdgeErrors, StepsDoNotReachFromOneClipIntoTheNext) {
  Sequence sequence = strip(8);
  Frames posed = sequence.frames;
  for (std::size_t f = 4; f < 8; ++f) posed[f].row(0).array() += 3;  // all of the second clip
  EXPECT_GT(evaluate_edges(posed, sequence).temporal_percent, 1);
  sequence.clips = {{"a", 0, 4}, {"b", 4, 4}};
  EXPECT_NEAR(evaluate_edges(posed, sequence).temporal_percent, 0, 1e-3);
}

TEST(EdgeErrors, RefuseAnotherNumberOfFrames) {
  const Sequence sequence = strip(8);
  EXPECT_THROW(evaluate_edges(Frames(7, sequence.vertex_count()), sequence), Error);
}

}  // namespace
}  // namespace sinew
