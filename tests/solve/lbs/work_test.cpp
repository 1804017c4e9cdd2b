#include "solve/lbs/work.h"

#include <gtest/gtest.h>

#include "sinew/core/error.h"
#include "solve/lbs/weights_pass.h"

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

}  // namespace
}  // namespace sinew
