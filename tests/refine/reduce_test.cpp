#include "sinew/refine/reduce.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "planted.h"
#include "sinew/evaluate/errors.h"
#include "support/support.h"

namespace sinew {
namespace {

using test::dense_tube;

ReduceOptions two_largest() {
  ReduceOptions options;
  options.method = ReduceMethod::largest;
  options.influences = 2;
  options.threads = 1;
  return options;
}

TEST(Reduce, FitsWeightsAndFreeBonesAnewWhereThatLowersTheError) {
  const Rig rig = dense_tube(16, 5, 8);
  const Sequence examples = pose_all(rig);
  ReduceReport report;
  const Rig cut = reduce(rig, &examples, two_largest(), Refit::never, report);
  EXPECT_FALSE(report.refitted);
  EXPECT_EQ(cut.weights.values, reduce_weights(rig, &examples, two_largest()).values);
  EXPECT_EQ(evaluate(cut, examples, 1).e_rms, report.e_rms_cut);
  const Rig fitted = reduce(rig, &examples, two_largest(), Refit::automatic, report);
  fitted.check();
  EXPECT_TRUE(report.refitted);
  EXPECT_LE(used_influences(fitted.weights), 2);
  EXPECT_LT(evaluate(fitted, examples, 1).e_rms, 0.7 * report.e_rms_cut);
  EXPECT_NE(fitted.motion(3, 1), rig.motion(3, 1));
}

TEST(Reduce, WithoutExamplesTakesWhatTheRigPoses) {
  const Rig rig = dense_tube(12, 4, 5);
  const Sequence examples = pose_all(rig);
  ReduceReport by_itself;
  ReduceReport by_examples;
  const Rig a = reduce(rig, nullptr, two_largest(), Refit::automatic, by_itself);
  const Rig b = reduce(rig, &examples, two_largest(), Refit::automatic, by_examples);
  EXPECT_EQ(a.weights.values, b.weights.values);
  EXPECT_EQ(by_itself.e_rms_cut, by_examples.e_rms_cut);
}

TEST(Reduce, LeavesTheMotionOfJointsAlone) {
  Rig rig = dense_tube(16, 5, 8);
  rig.jointed = true;
  const Sequence examples = pose_all(rig);
  ReduceReport report;
  const Rig fitted = reduce(rig, &examples, two_largest(), Refit::always, report);
  EXPECT_TRUE(report.refitted);
  EXPECT_TRUE(fitted.jointed);
  for (std::size_t f = 0; f < rig.frame_count(); ++f)
    for (std::size_t b = 0; b < rig.bone_count(); ++b) EXPECT_EQ(fitted.motion(f, b), rig.motion(f, b));
}

TEST(Reduce, DoesNotFitAnewWhereNothingIsLost) {
  const Rig rig = dense_tube(12, 3, 5);
  ReduceOptions options = two_largest();
  options.influences = 3;
  ReduceReport report;
  reduce(rig, nullptr, options, Refit::automatic, report);
  EXPECT_FALSE(report.refitted);
  EXPECT_LT(report.e_rms_cut, 0.01);
}

TEST(Reduce, RefusesToFitAnewWhatCannotBe) {
  const Rig rig = dense_tube(12, 10, 5);
  ReduceReport report;
  ReduceOptions nine = two_largest();
  nine.influences = 9;
  test::expect_error(ErrorKind::usage, "at most 8 influences",
                     [&] { reduce(rig, nullptr, nine, Refit::always, report); });
  reduce(rig, nullptr, nine, Refit::automatic, report);
  EXPECT_FALSE(report.refitted);
  const Rig still = dense_tube(12, 4, 1);
  test::expect_error(ErrorKind::usage, "1 frames",
                     [&] { reduce(still, nullptr, two_largest(), Refit::always, report); });
  test::expect_error(ErrorKind::usage, "refit: 'maybe' given", [] { refit_called("maybe"); });
}

TEST(Reduce, IsInterruptedInEitherPart) {
  const Rig rig = dense_tube(16, 5, 8);
  ReduceReport report;
  for (const bool while_fitting : {false, true}) {
    const auto stop = [&](std::string_view step, double) { return while_fitting && step == "reduce"; };
    test::expect_error(ErrorKind::interrupted, while_fitting ? "fitted anew" : "reduced",
                       [&] { reduce(rig, nullptr, two_largest(), Refit::automatic, report, stop); });
  }
}

}  // namespace
}  // namespace sinew
