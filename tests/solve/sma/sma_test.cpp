#include "sinew/solve/sma.h"

#include <Eigen/Geometry>
#include <cmath>

#include "sinew/core/error.h"
#include "sinew/evaluate/errors.h"
#include "sinew/io/io.h"
#include "solve/sma/bones.h"
#include "solve/sma/refit.h"
#include "support/jointed_bar.h"
#include "support/matchers.h"
#include "support/support.h"
#include "support/zoo.h"

namespace sinew {
namespace {

double distortion(const Rig& rig, const Sequence& sequence) {
  rig.check();
  return evaluate(rig, sequence, 1).distortion_percent;
}

TEST(Sma, FindsTheStiffPiecesOfAJointedBar) {
  const Sequence bar = test::jointed_bar();
  FitReport report;
  const Rig rig = solve_sma(bar, {}, report);
  EXPECT_EQ(rig.bone_count(), 3U);
  EXPECT_THAT(rig.weights, test::HasConvexRows(4));
  EXPECT_LT(distortion(rig, bar), 1.0);
  EXPECT_NE(rig.notes.find("near_rigid_fraction"), std::string::npos);
}

TEST(Sma, NotesNameTheVerticesOfTheStiffPiecesAndNotThoseOfTheJoints) {
  const Sequence bar = test::jointed_bar();
  FitReport report;
  const Rig rig = solve_sma(bar, {}, report);
  const std::string before = R"("core_vertices":")";
  const std::size_t at = rig.notes.find(before);
  ASSERT_NE(at, std::string::npos);
  const std::string digits = rig.notes.substr(at + before.size(), (bar.vertex_count() + 3) / 4);
  EXPECT_EQ(rig.notes.at(at + before.size() + digits.size()), '"');
  const float length = bar.rest.positions.row(0).maxCoeff();
  std::size_t at_joints = 0;
  std::size_t taken_for_stiff = 0;
  for (std::size_t v = 0; v < bar.vertex_count(); ++v) {
    const bool inside = ((std::stoul(digits.substr(v / 4, 1), nullptr, 16) >> v % 4) & 1) != 0;
    const float thirds = 3 * bar.rest.positions(0, static_cast<Eigen::Index>(v)) / length;
    const float from_joint = std::min(std::abs(thirds - 1), std::abs(thirds - 2));  // bends are 0.09 wide
    if (from_joint > 0.11F) {
      EXPECT_TRUE(inside) << "vertex " << v;
    } else if (from_joint < 0.01F) {
      ++at_joints;
      if (inside) ++taken_for_stiff;
    }
  }
  EXPECT_GT(at_joints, 0U);
  EXPECT_LE(3 * taken_for_stiff, at_joints);  // a triangle that bends about its long side turns as the piece does
}

TEST(Sma, RigidBonesAreRotationsAndFitWorseThanFlexibleOnes) {
  const Sequence bar = test::jointed_bar();
  SmaOptions options;
  FitReport report;
  const double flexible = distortion(solve_sma(bar, options, report), bar);
  options.transforms = Transforms::rigid;
  const double rigid = distortion(solve_sma(bar, options, report), bar);  // check() inside tests the rotations
  EXPECT_LE(flexible, rigid * 1.001);
}

TEST(Sma, MovingTheWholeSequenceRigidlyMovesOnlyTheBones) {
  const Sequence bar = test::jointed_bar();
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
  const Sequence bar = test::jointed_bar();
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
  const Sequence bar = test::jointed_bar();
  FitReport report;
  Rig given = solve_sma(bar, {}, report);
  const double before = distortion(given, bar);
  std::fill(given.weights.bones.begin(), given.weights.bones.end(), 0);
  for (std::size_t i = 0; i < given.weights.values.size(); ++i)
    given.weights.values[i] = i % static_cast<std::size_t>(given.weights.influences) == 0 ? 1.0F : 0.0F;
  const Rig fitted = fit_sma_weights(bar, given, {}, report);
  EXPECT_EQ(fitted.bone_count(), given.bone_count());
  EXPECT_NEAR(distortion(fitted, bar), before, 1e-3 + 0.05 * before);
}

TEST(Sma, SearchesEpsilonForTheNumberOfBones) {
  SmaOptions options;
  options.bones = 2;
  FitReport report;
  const Rig rig = solve_sma(test::jointed_bar(), options, report);
  EXPECT_EQ(rig.bone_count(), 2U);
  EXPECT_FALSE(report.search.empty());
}

TEST(Sma, StoppedDuringTheMeanShiftThereIsNoModelAndDuringTheRefitTheBestSoFar) {
  const Sequence bar = test::jointed_bar();
  FitReport report;
  try {
    solve_sma(bar, {}, report, [](std::string_view, double) { return false; });
    FAIL() << "not stopped";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::interrupted);
    EXPECT_STREQ(error.what(), "interrupted during the mean shift");
  }
  const Rig rig = solve_sma(bar, {}, report, [](std::string_view step, double) { return step != "refit"; });
  EXPECT_EQ(report.termination, Termination::cancelled);
  EXPECT_LT(distortion(rig, bar), 1.0);
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
  test::expect_error(ErrorKind::usage, "epsilon", [&] { solve_sma(test::jointed_bar(2), options, report); });
}

TEST(Sma, FastMeanShiftAssociatesTrianglesOfTheHorseAsTheExactOneDoes) {
  SINEW_NEEDS_DATA();
  const Sequence horse = read_sequence({test::data_folder() / "sequences/horse-gallop"});
  const sma::Triangles triangles = sma::triangle_rotations(horse, 1);
  // Every fifth triangle: the exact search takes seconds.
  PointRows points(triangles.rotations.rows() / 5, triangles.rotations.cols());
  for (Eigen::Index j = 0; j < points.rows(); ++j) points.row(j) = triangles.rotations.row(5 * j);
  MeanShiftOptions shift;
  shift.bandwidth = 0.05 * static_cast<double>(points.cols());
  shift.period = 9;
  ModeOptions options;
  options.bandwidth = shift.bandwidth;
  options.min_points = sma::significant_size(static_cast<std::size_t>(points.rows()));
  const MeanShift fast = mean_shift(points, shift);
  shift.exact = true;
  const MeanShift exact = mean_shift(points, shift);
  const Modes fast_modes = find_modes(fast, options);
  const Modes exact_modes = find_modes(exact, options);
  std::size_t other_end = 0;
  std::size_t other_mode = 0;
  for (std::size_t j = 0; j < exact.end_of.size(); ++j) {
    const auto end = fast.ends.row(static_cast<Eigen::Index>(fast.end_of[j]));
    const auto expected = exact.ends.row(static_cast<Eigen::Index>(exact.end_of[j]));
    if ((end - expected).lpNorm<1>() >= options.associate * options.bandwidth) ++other_end;
    if (fast_modes.mode_of[j] != exact_modes.mode_of[j]) ++other_mode;
  }
  EXPECT_LE(other_end, exact.end_of.size() / 1000);
  EXPECT_LE(other_mode, exact.end_of.size() / 1000);
}

}  // namespace
}  // namespace sinew
