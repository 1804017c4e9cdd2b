#include "solve/lbs/weights_pass.h"

#include <gtest/gtest.h>

#include <random>

#include "core/index.h"
#include "solve/lbs/bones.h"
#include "support/zoo.h"

// Every pass over the vertices against plain loops over the definitions in weights_pass.h.
namespace sinew {
namespace {

using namespace lbs;

constexpr int kBones = 5;

Sequence sequence() {
  return test::bend("grid", test::grid_mesh(13, 7), 6);
}

Eigen::MatrixXd random_motions(const Problem& problem, int bones, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0, 0.2);
  return Eigen::MatrixXd::NullaryExpr(index(3 * problem.frame_count()), 4 * bones, [&] { return normal(random); });
}

/// Two or three bones per vertex, of unequal weights.
SparseWeights some_weights(std::size_t vertices) {
  SparseWeights weights(vertices, 3);
  for (std::size_t v = 0; v < vertices; ++v) {
    weights.count[v] = v % 3 == 0 ? 3 : 2;
    const float first = 0.2F + 0.5F * static_cast<float>(v % 7) / 7;
    const float second = weights.count[v] == 3 ? 0.4F * (1 - first) : 1 - first;
    const float values[] = {first, second, 1 - first - second};
    for (std::size_t k = 0; k < weights.count[v]; ++k) {
      weights.bone[weights.slot(v) + k] = static_cast<std::uint16_t>((v + 2 * k) % kBones);
      weights.value[weights.slot(v) + k] = values[k];
    }
  }
  return weights;
}

Eigen::VectorXd trajectory(const Problem& problem, std::size_t v) {
  std::vector<float> scratch;
  return Eigen::Map<const Eigen::VectorXf>(problem.block(v, 1, scratch), index(problem.row_count())).cast<double>();
}

/// x_v = w_v ⊗ (u_v, 1).
Eigen::VectorXd blended_rest(const Problem& problem, const SparseWeights& weights, std::size_t v) {
  Eigen::VectorXd x = Eigen::VectorXd::Zero(4 * kBones);
  for (std::size_t k = weights.slot(v); k < weights.slot(v) + weights.count[v]; ++k)
    x.segment<4>(4 * weights.bone[k]) =
        static_cast<double>(weights.value[k]) * problem.rest().col(index(v)).homogeneous();
  return x;
}

TEST(WeightsPass, SumsAreThoseOfPlainLoops) {
  const Sequence input = sequence();
  const Problem problem(input);
  const Eigen::MatrixXd D = random_motions(problem, kBones, 3);
  SparseWeights weights = some_weights(problem.vertex_count());
  const SparseWeights before = weights;
  WeightSums sums;
  PassOptions options;
  options.keep_weights = true;
  weights_pass(problem, bone_gram(problem, D), options, weights, sums);
  Eigen::MatrixXd S = Eigen::MatrixXd::Zero(4 * kBones, 4 * kBones);
  Eigen::MatrixXd C = Eigen::MatrixXd::Zero(D.rows(), 4 * kBones);
  double squares = 0;
  for (std::size_t v = 0; v < problem.vertex_count(); ++v) {
    const Eigen::VectorXd x = blended_rest(problem, before, v);
    const Eigen::VectorXd y = trajectory(problem, v);
    S += x * x.transpose();
    C += y * x.transpose();
    squares += (y - D * x).squaredNorm();
    EXPECT_NEAR(sums.residual[v], (y - D * x).squaredNorm(), 1e-4 * (1 + y.squaredNorm())) << "vertex " << v;
  }
  EXPECT_LT((sums.S - S).norm(), 1e-9 * S.norm());
  EXPECT_LT((sums.C - C).norm(), 1e-5 * C.norm());
  EXPECT_NEAR(sums.squares, squares, 1e-5 * squares);
  EXPECT_NEAR(objective(problem, sums, D), squares, 1e-5 * squares);
  EXPECT_EQ(weights.value, before.value);
}

TEST(WeightsPass, NeverRaisesTheErrorOfAnyVertex) {
  const Sequence input = sequence();
  const Problem problem(input);
  const Eigen::MatrixXd D = random_motions(problem, kBones, 4);
  SparseWeights weights = some_weights(problem.vertex_count());
  WeightSums before, after;
  PassOptions keep;
  keep.keep_weights = true;
  const BoneGram gram = bone_gram(problem, D);
  weights_pass(problem, gram, keep, weights, before);
  PassOptions options;
  options.influences = 3;
  weights_pass(problem, gram, options, weights, after);
  for (std::size_t v = 0; v < problem.vertex_count(); ++v) {
    EXPECT_LE(after.residual[v], before.residual[v] * 1.0001F + 1e-6F) << "vertex " << v;
    float sum = 0;
    for (std::size_t k = weights.slot(v); k < weights.slot(v) + weights.count[v]; ++k) {
      EXPECT_GT(weights.value[k], 0);
      sum += weights.value[k];
    }
    EXPECT_NEAR(sum, 1, 1e-5F) << "vertex " << v;
  }
  EXPECT_LT(after.squares, 0.99 * before.squares);
}

TEST(WeightsPass, AssignsEveryVertexToTheBoneThatFollowsItBest) {
  const Sequence input = sequence();
  const Problem problem(input);
  const Eigen::MatrixXd D = random_motions(problem, kBones, 5);
  std::vector<Index> labels(problem.vertex_count(), 0);
  WeightSums sums;
  assign_pass(problem, bone_gram(problem, D), labels, sums);
  for (std::size_t v = 0; v < problem.vertex_count(); ++v) {
    const Eigen::VectorXd y = trajectory(problem, v);
    const auto error = [&](Index b) {
      return (y - D.middleCols<4>(4 * b) * problem.rest().col(index(v)).homogeneous()).squaredNorm();
    };
    for (Index b = 0; b < kBones; ++b) EXPECT_LE(error(labels[v]), error(b) * 1.0001 + 1e-6) << "vertex " << v;
    EXPECT_NEAR(sums.residual[v], error(labels[v]), 1e-4 * (1 + y.squaredNorm()));
  }
}

TEST(WeightsPass, WhatABoneIsWorthIsWhatTakingItAwayCosts) {
  const Sequence input = sequence();
  const Problem problem(input);
  const Eigen::MatrixXd D = random_motions(problem, kBones, 6);
  SparseWeights weights = some_weights(problem.vertex_count());
  WeightSums sums;
  PassOptions options;
  options.influences = 2;
  const BoneGram gram = bone_gram(problem, D);
  weights_pass(problem, gram, options, weights, sums);
  const std::vector<double> costs = removal_costs(problem, gram, weights);
  ASSERT_EQ(costs.size(), static_cast<std::size_t>(kBones));
  for (const double cost : costs) EXPECT_GE(cost, -1e-6);
  // A copy of a bone is worth nothing, whichever of the two goes.
  Eigen::MatrixXd twice(D.rows(), D.cols() + 4);
  twice << D, D.leftCols<4>();
  WeightSums sums_of_copy;
  SparseWeights shared = weights;
  weights_pass(problem, bone_gram(problem, twice), options, shared, sums_of_copy);
  EXPECT_NEAR(removal_costs(problem, bone_gram(problem, twice), shared)[0], 0, 1e-3 * sums_of_copy.squares);
}

TEST(Bones, RigidMotionsThatMadeTheTrajectoriesAreFoundAgain) {
  const Sequence input = sequence();
  const Problem problem(input);
  // One bone per vertex: the common motion of a rigid sequence is all there is, so D is zero.
  Sequence rigid = input;
  for (std::size_t f = 0; f < rigid.frame_count(); ++f) {
    const Eigen::AngleAxisf turn(0.3F * static_cast<float>(f + 1), Vector3(0.48F, 0.6F, 0.64F));
    rigid.frames[f] = (turn.toRotationMatrix() * rigid.rest.positions).colwise() + Vector3(1, 2, static_cast<float>(f));
  }
  const Problem still(rigid);
  Eigen::MatrixXd D = 0.1 * random_motions(still, 1, 7);
  SparseWeights weights(still.vertex_count(), 1);
  std::fill(weights.count.begin(), weights.count.end(), std::uint16_t{1});
  std::fill(weights.value.begin(), weights.value.end(), 1.0F);
  WeightSums sums;
  PassOptions keep;
  keep.keep_weights = true;
  weights_pass(still, bone_gram(still, D), keep, weights, sums);
  BoneOptions options;
  options.sweeps = 3;
  update_bones(still, sums, options, D);
  EXPECT_LT(still.e_rms(objective(still, sums, D)), 1e-2);
}

}  // namespace
}  // namespace sinew
