#include "sinew/solve/sma.h"

#include <Eigen/Geometry>
#include <cmath>

#include "sinew/evaluate/errors.h"
#include "support/matchers.h"
#include "support/support.h"
#include "support/zoo.h"

namespace sinew {
namespace {

/// A bar of three stiff pieces with short bends between, each piece on its own path.
Sequence jointed_bar(std::size_t frames = 7) {
  Sequence out;
  out.name = "bar";
  out.rest = test::grid_mesh(61, 9);
  const Eigen::Index V = out.rest.positions.cols();
  const float length = out.rest.positions.row(0).maxCoeff();
  // Off the plane, so that flexible bones are determined in all directions.
  for (Eigen::Index v = 0; v < V; ++v)
    out.rest.positions(2, v) = 0.3F * std::sin(1.7F * out.rest.positions(0, v) + 2.1F * out.rest.positions(1, v));
  out.frames = Frames(frames, static_cast<std::size_t>(V));
  out.times = uniform_times(frames);
  for (std::size_t f = 0; f < frames; ++f) {
    for (Eigen::Index v = 0; v < V; ++v) {
      Vector3 p = out.rest.positions.col(v);
      // Bend at one third, then at two thirds of the length.
      for (const float at : {2.0F / 3, 1.0F / 3}) {
        const float x = at * length;
        const float share = std::clamp((p.x() - x) / (0.03F * length) + 0.5F, 0.0F, 1.0F);
        const float angle = share * (at > 0.5F ? 0.9F : -0.7F) * std::sin(0.8F * static_cast<float>(f) + at);
        const Vector3 pivot(x, 0, 0);
        p = pivot + Eigen::AngleAxisf(angle, Vector3(0.1F, 0.3F, 1).normalized()) * (p - pivot);
      }
      out.frames[f].col(v) = p + Vector3(0.2F * static_cast<float>(f), 0, 0);
    }
  }
  return out;
}

double distortion(const Rig& rig, const Sequence& sequence) {
  rig.check();
  return evaluate(rig, sequence, 1).distortion_percent;
}

TEST(Sma, FindsTheStiffPiecesOfAJointedBar) {
  const Sequence bar = jointed_bar();
  FitReport report;
  const Rig rig = solve_sma(bar, {}, report);
  EXPECT_EQ(rig.bone_count(), 3U);
  EXPECT_THAT(rig.weights, test::HasConvexRows(4));
  EXPECT_LT(distortion(rig, bar), 1.0);
  EXPECT_NE(rig.notes.find("near_rigid_fraction"), std::string::npos);
}

TEST(Sma, RigidBonesAreRotationsAndFitWorseThanFlexibleOnes) {
  const Sequence bar = jointed_bar();
  SmaOptions options;
  FitReport report;
  const double flexible = distortion(solve_sma(bar, options, report), bar);
  options.transforms = Transforms::rigid;
  const double rigid = distortion(solve_sma(bar, options, report), bar);  // check() inside tests the rotations
  EXPECT_LE(flexible, rigid * 1.001);
}

TEST(Sma, MovingTheWholeSequenceRigidlyMovesOnlyTheBones) {
  const Sequence bar = jointed_bar();
  Sequence moved = bar;
  const Eigen::AngleAxisf turn(1.1F, Vector3(0.2F, 1, -0.4F).normalized());
  for (std::size_t f = 0; f < moved.frame_count(); ++f)
    moved.frames[f] = (turn.toRotationMatrix() * moved.frames[f]).colwise() + Vector3(3, -2, 5);
  FitReport report;
  SmaOptions options;
  options.iterations = 0;
  const Rig a = solve_sma(bar, options, report);
  const Rig b = solve_sma(moved, options, report);
  ASSERT_EQ(a.bone_count(), b.bone_count());
  EXPECT_NEAR(evaluate(a, bar, 1).e_rms, evaluate(b, moved, 1).e_rms, 0.02 * evaluate(a, bar, 1).e_rms + 1e-3);
}

TEST(Sma, NegativeWeightsAreWrittenAsAConvexRigThatPosesTheSame) {
  const Sequence bar = jointed_bar();
  SmaOptions options;
  options.iterations = 0;
  FitReport report;
  const double nnls = distortion(solve_sma(bar, options, report), bar);
  options.weights = SmaWeights::tsvd;
  const Rig rig = solve_sma(bar, options, report);
  EXPECT_GT(rig.bone_count(), 3U) << "helpers expected";
  EXPECT_THAT(rig.weights, test::HasConvexRows(rig.weights.influences));
  EXPECT_LE(distortion(rig, bar), nnls * 1.0001);
  options.weights = SmaWeights::bounded;
  options.negative_bound = 0.1;
  const double bounded = distortion(solve_sma(bar, options, report), bar);
  EXPECT_LE(bounded, nnls * 1.0001);
}

TEST(Sma, FitsWeightsToGivenBones) {
  const Sequence bar = jointed_bar();
  FitReport report;
  Rig given = solve_sma(bar, {}, report);
  const double before = distortion(given, bar);
  std::fill(given.weights.bones.begin(), given.weights.bones.end(), 0);
  for (std::size_t i = 0; i < given.weights.values.size(); ++i)
    given.weights.values[i] = i % static_cast<std::size_t>(given.weights.influences) == 0 ? 1.0F : 0.0F;
  const Rig fitted = fit_sma_weights(given, bar, {}, report);
  EXPECT_EQ(fitted.bone_count(), given.bone_count());
  EXPECT_NEAR(distortion(fitted, bar), before, 1e-3 + 0.05 * before);
}

TEST(Sma, SearchesEpsilonForTheNumberOfBones) {
  SmaOptions options;
  options.bones = 2;
  FitReport report;
  const Rig rig = solve_sma(jointed_bar(), options, report);
  EXPECT_EQ(rig.bone_count(), 2U);
  EXPECT_FALSE(report.search.empty());
}

TEST(Sma, EveryZooSequenceWithAnAreaGetsAUsableRig) {
  for (const Sequence& sequence : test::zoo()) {
    SCOPED_TRACE(sequence.name);
    FitReport report;
    try {
      const Rig rig = solve_sma(sequence, {}, report);
      rig.check();
      EXPECT_GE(rig.bone_count(), 1U);
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("no triangle keeps an area"), std::string::npos) << error.what();
    }
  }
}

TEST(Sma, RefusesOptionsOutOfRange) {
  FitReport report;
  SmaOptions options;
  options.epsilon = 0;
  test::expect_error(ErrorKind::usage, "epsilon", [&] { solve_sma(jointed_bar(2), options, report); });
}

}  // namespace
}  // namespace sinew
