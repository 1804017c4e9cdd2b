#include "solve/skeleton/error_curve.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sinew/make/character.h"

namespace sinew {
namespace {

using skeleton::DescriptionLength;

/// Errors of 1, 2, … bones.
DescriptionLength description(const std::vector<double>& errors, double patches, double frames) {
  DescriptionLength out;
  for (std::size_t i = 0; i < errors.size(); ++i) out.curve.points.push_back({static_cast<int>(i) + 1, errors[i]});
  out.curve.patches = patches;
  out.frames = frames;
  return out;
}

std::vector<double> power_law(double power) {
  std::vector<double> out;
  for (int b = 1; b <= 90; ++b) out.push_back(120 * std::pow(b, -power));
  return out;
}

TEST(DescriptionLength, IsShortestAtTheKneeOfTheCurve) {
  std::vector<double> errors;
  for (int b = 1; b <= 80; ++b)
    errors.push_back(200 * std::pow(std::min(b, 18), -1.4) * std::pow(std::max(b, 18), -0.2));
  const int best = description(errors, 6, 24).best();
  EXPECT_GE(best, 15);
  EXPECT_LE(best, 24);
}

TEST(DescriptionLength, HardlyDependsOnChanceInTheCurve) {
  std::vector<double> errors = power_law(1.1);
  const int smooth = description(errors, 6, 24).best();
  for (std::size_t i = 0; i < errors.size(); ++i) errors[i] *= 1 + (i % 7 < 3 ? 0.04 : -0.04);
  EXPECT_NEAR(description(errors, 6, 24).best(), smooth, 1.5);
}

TEST(DescriptionLength, AsksForNoMoreBonesThanThereIsToExplain) {
  EXPECT_EQ(description({0.15, 0.1, 0.05, 0.02}, 6, 24).best(), 1) << "nobody sees a seventh of a unit";
  EXPECT_EQ(description({80, 79.9, 79.8, 79.7}, 6, 24).best(), 1) << "noise: more bones explain nothing";
}

TEST(DescriptionLength, AsksForMoreBonesWithMoreDetailAndForFewerWhereResidualsAreSmooth) {
  DescriptionLength length = description(power_law(1.1), 6, 24);
  const int medium = length.best();
  EXPECT_GT(medium, 5);
  EXPECT_LT(medium, 60);
  length.precision = 0.25;
  length.bone = 0.7;
  EXPECT_GT(length.best(), medium);
  length.precision = 2;
  length.bone = 1.5;
  EXPECT_LT(length.best(), medium);
  EXPECT_LT(description(power_law(1.1), 2, 24).best(), medium);
}

TEST(ErrorCurve, OfAGeneratedCharacterFallsToNothingAndNeverRises) {
  CharacterOptions options;
  options.vertices = 700;
  options.walk_frames = 12;
  options.wave_frames = 0;
  options.threads = 1;
  const Character character = make_character(options);
  const lbs::Problem problem(character.sequence, {0.01, 1, 1});
  const std::vector<Index> chosen = lbs::spread_vertices(problem.vertex_count(), 400);
  const lbs::Problem part = problem.sample(chosen, 0.1, 1);
  const EdgeWeights edges;
  const skeleton::SkeletonFit empty{&part, nullptr, {}, {}, 4, 0, 4, 0};
  const skeleton::ErrorCurve curve = skeleton::error_curve({problem, edges, chosen}, 40, empty);
  ASSERT_GE(curve.points.size(), 40U);
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    EXPECT_EQ(curve.points[i].bones, static_cast<int>(i) + 1);
    EXPECT_LE(curve.points[i].e_rms, curve.points[i > 0 ? i - 1 : 0].e_rms);
  }
  EXPECT_GT(curve.points.front().e_rms, 20);
  EXPECT_LT(curve.points.back().e_rms, 0.02 * curve.points.front().e_rms);
  EXPECT_GT(curve.patches, 1);
  EXPECT_LT(curve.patches, 100);
}

}  // namespace
}  // namespace sinew
