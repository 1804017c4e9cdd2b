#include "solve/lbs/work.h"

#include <gtest/gtest.h>

#include "core/index.h"
#include "sinew/core/error.h"
#include "solve/lbs/alternation.h"
#include "support/zoo.h"

namespace sinew {
namespace {

using namespace lbs;

TEST(Budget, GivesNoMoreThanItHas) {
  Budget budget(0, 100);
  EXPECT_TRUE(budget.affords(100));
  budget.spend(60);
  EXPECT_TRUE(budget.affords(40));
  EXPECT_FALSE(budget.affords(41));
  EXPECT_EQ(budget.amount(), 100U);
  EXPECT_DOUBLE_EQ(budget.fraction(), 0.6);
}

TEST(Budget, WithoutALimitAffordsEverything) {
  Budget budget(0, 0);
  budget.spend(1000);
  EXPECT_TRUE(budget.affords(1ULL << 60));
  EXPECT_FALSE(budget.limited());
  EXPECT_EQ(budget.fraction(), -1);
}

/// Whatever the clock says, the amount that is settled in the end leads through the same decisions.
TEST(Budget, WhatSecondsCameToDecidesAlike) {
  const auto decide = [](Budget& budget) {
    std::vector<bool> decisions;
    for (const std::uint64_t work : {5000U, 900U, 20000U, 100U, 40000U, 3000U, 100U, 70000U, 10U}) {
      for (int i = 0; i < 40; ++i) {
        decisions.push_back(budget.affords(work + 500));
        if (decisions.back()) budget.spend(work / 2);
      }
    }
    return decisions;
  };
  Budget timed(2e-4, 0);
  const std::vector<bool> decisions = decide(timed);
  Budget repeated(0, timed.amount());
  EXPECT_EQ(decide(repeated), decisions);
}

TEST(Budget, GoesOnFromWhatWasSaved) {
  Budget budget(0, 100);
  budget.spend(70);
  Budget later(0, 0);
  later.take(budget.saved());
  EXPECT_TRUE(later.affords(30));
  EXPECT_FALSE(later.affords(31));
  EXPECT_THROW(later.take(Eigen::MatrixXd::Constant(4, 1, -1)), Error);
  EXPECT_THROW(later.take(Eigen::MatrixXd::Zero(3, 1)), Error);
}

TEST(ExchangeWaits, GrowWithEveryFailureAndEndWithSuccess) {
  ExchangeWaits waits;
  waits.passes = waits.left = {0};
  const auto passes_until_due = [&] {
    int passes = 1;
    while (!waits.over(0)) ++passes;
    return passes;
  };
  EXPECT_EQ(passes_until_due(), 1);
  for (const int expected : {2, 4, 8, 8}) {
    waits.tried(0, false);
    EXPECT_EQ(passes_until_due(), expected);
  }
  waits.tried(0, true);
  EXPECT_EQ(passes_until_due(), 1);
}

TEST(Alternation, ABoneThatNothingFollowsIsBegunAnewWithoutRaisingTheObjective) {
  const Sequence sequence = test::bend("grid", test::grid_mesh(17, 9), 6);
  const Problem problem(sequence, {0, 1, 1});
  FitState state;
  state.D = Eigen::MatrixXd::Zero(index(3 * problem.frame_count()), 12);
  state.D.rightCols(4).setConstant(50);  // far from everything
  for (Eigen::Index f = 0; f < state.D.rows(); ++f) state.D(f, 4) = 0.1 * static_cast<double>(f % 5);
  state.weights = SparseWeights(problem.vertex_count(), 3);
  RunOptions options;
  options.iterations = 30;
  options.tolerance = 0;
  options.influences = 2;
  FitState without = state;
  run(problem, options, without);
  options.reseed = true;
  std::vector<double> values;
  options.after = [&](const FitState& now) {
    values.push_back(now.value);
    return true;
  };
  run(problem, options, state);
  for (std::size_t i = 1; i < values.size(); ++i) EXPECT_LE(values[i], values[i - 1] * (1 + 1e-9)) << i;
  EXPECT_GT(state.sums.S(11, 11), 1) << "the bone is still without weight";
  EXPECT_LT(state.value, 0.9 * without.value);
}

}  // namespace
}  // namespace sinew
