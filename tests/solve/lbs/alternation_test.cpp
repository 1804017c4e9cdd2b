#include "solve/lbs/alternation.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "core/index.h"
#include "support/zoo.h"

namespace sinew {
namespace {

using namespace lbs;

/// Three parts of a grid that turn each its own way.
Sequence three_parts() {
  Sequence sequence = test::bend("parts", test::grid_mesh(18, 9), 6);
  for (std::size_t f = 0; f < sequence.frame_count(); ++f) {
    for (Index v = 0; v < sequence.vertex_count(); ++v) {
      const auto part = static_cast<float>(v % 18 / 6);
      const Eigen::AngleAxisf turn(0.2F * static_cast<float>(f + 1) * (part - 0.7F), Vector3(0.48F, 0.6F, 0.64F));
      sequence.frames[f].col(v) = turn * sequence.rest.positions.col(v);
    }
  }
  return sequence;
}

/// Three bones of which the last is far from everything.
FitState with_an_idle_bone(const Problem& problem) {
  FitState state;
  state.D = Eigen::MatrixXd::Zero(index(3 * problem.frame_count()), 12);
  for (Eigen::Index row = 0; row < state.D.rows(); ++row) state.D(row, 4) = 0.1 * static_cast<double>(row % 5);
  state.D.rightCols(4).setConstant(50);
  state.weights = SparseWeights(problem.vertex_count(), 1);
  return state;
}

TEST(Alternation, ABoneThatNothingFollowsBeginsAnewWithoutRaisingTheObjective) {
  const Sequence sequence = three_parts();
  const Problem problem(sequence, {0, 1, 1});
  RunOptions options;
  options.iterations = 30;
  options.tolerance = 0;
  options.influences = 1;
  FitState without = with_an_idle_bone(problem);
  run(problem, options, without);
  ASSERT_EQ(without.sums.S(11, 11), 0);
  options.reseed = true;
  std::vector<double> values;
  options.after = [&](const FitState& now) {
    values.push_back(now.value);
    return true;
  };
  FitState state = with_an_idle_bone(problem);
  run(problem, options, state);
  for (std::size_t i = 1; i < values.size(); ++i) EXPECT_LE(values[i], values[i - 1] * (1 + 1e-9)) << i;
  EXPECT_GT(state.sums.S(11, 11), 20) << "the bone is still without weight";
  EXPECT_LT(state.value, 0.2 * without.value);
}

TEST(Alternation, ABoneThatIsLockedStaysWhereItIsThoughNothingFollowsIt) {
  const Sequence sequence = three_parts();
  const Problem problem(sequence, {0, 1, 1});
  RunOptions options;
  options.iterations = 10;
  options.influences = 1;
  options.reseed = true;
  const std::uint8_t locked[] = {0, 0, 1};
  options.bones.locked = locked;
  FitState state = with_an_idle_bone(problem);
  run(problem, options, state);
  EXPECT_TRUE((state.D.rightCols(4).array() == 50).all());
}

}  // namespace
}  // namespace sinew
