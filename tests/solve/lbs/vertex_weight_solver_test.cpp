#include "solve/lbs/vertex_weight_solver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "math/simplex.h"
#include "support/support.h"
#include "support/zoo.h"

namespace sinew {
namespace {

using namespace lbs;

constexpr int kBones = 8;
constexpr int kInfluences = 3;

/// Least |y − d w|² − |y|² over convex weights of any `kInfluences` columns of d.
double exhaustive(const Eigen::MatrixXd& d, const Eigen::VectorXd& y) {
  SimplexWorkspace workspace;
  double best = std::numeric_limits<double>::infinity();
  for (int a = 0; a < kBones; ++a) {
    for (int b = a + 1; b < kBones; ++b) {
      for (int c = b + 1; c < kBones; ++c) {
        Eigen::MatrixXd chosen(d.rows(), kInfluences);
        chosen << d.col(a), d.col(b), d.col(c);
        const Eigen::MatrixXd G = chosen.transpose() * chosen;
        const Eigen::VectorXd g = chosen.transpose() * y;
        std::vector<double> weights(kInfluences, 1.0 / kInfluences);
        best = std::min(best,
                        simplex_least_squares(G.data(), kInfluences, g.data(), kInfluences, weights.data(), workspace));
      }
    }
  }
  return best;
}

TEST(VertexWeightSolver, AThoroughSearchNearlyAlwaysFindsTheBestSupportThereIs) {
  const Sequence sequence = test::bend("grid", test::grid_mesh(20, 12), 9);
  const Problem problem(sequence);
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal(0, 0.2);
  const auto rows = static_cast<Eigen::Index>(problem.row_count());
  const Eigen::MatrixXd D = Eigen::MatrixXd::NullaryExpr(rows, 4 * kBones, [&] { return normal(random); });
  const BoneGram gram = bone_gram(problem, D);
  ASSERT_NE(gram.exact_products.size(), 0);
  VertexWeightSolver solver(gram, kInfluences);
  std::vector<float> scratch;
  int best = 0, better = 0;
  const auto vertices = static_cast<Eigen::Index>(problem.vertex_count());
  for (Eigen::Index v = 0; v < vertices; ++v) {
    const Eigen::VectorXd y =
        Eigen::Map<const Eigen::VectorXf>(problem.block(static_cast<std::size_t>(v), 1, scratch), rows).cast<double>();
    const Eigen::VectorXd products = gram.exact_products.transpose() * y;
    const Eigen::Vector3d u = problem.rest().col(v);
    Eigen::MatrixXd d(rows, kBones);
    for (Eigen::Index b = 0; b < kBones; ++b) d.col(b) = D.middleCols<4>(4 * b) * u.homogeneous();
    const double least = exhaustive(d, y);
    const double tolerance = 1e-9 * d.squaredNorm();
    const auto search = [&](bool thorough) {
      solver.load(u, products.data());
      solver.set_support(nullptr, nullptr, 0);
      const double found = thorough ? solver.improve_thoroughly(6) : solver.improve(1);
      EXPECT_GE(found, least - tolerance) << v;
      EXPECT_NEAR(solver.data_objective(), found, tolerance) << v;
      EXPECT_LE(solver.count(), kInfluences) << v;
      return found;
    };
    const double once = search(false);
    const double thorough = search(true);
    EXPECT_LE(thorough, once + tolerance) << v;
    if (thorough <= least + tolerance) ++best;
    if (thorough < once - tolerance) ++better;
  }
  EXPECT_GE(best, 0.98 * static_cast<double>(vertices));
  EXPECT_GT(better, 0);
}

TEST(VertexWeightSolver, ALoneBoneIsExchangedForTheOneThatIsBestAlone) {
  const Sequence sequence = test::bend("grid", test::grid_mesh(9, 5), 5);
  const Problem problem(sequence);
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal(0, 0.2);
  const auto rows = static_cast<Eigen::Index>(problem.row_count());
  const Eigen::MatrixXd D = Eigen::MatrixXd::NullaryExpr(rows, 4 * kBones, [&] { return normal(random); });
  const BoneGram gram = bone_gram(problem, D);
  VertexWeightSolver solver(gram, 1);
  std::vector<float> scratch;
  for (std::size_t v = 0; v < problem.vertex_count(); ++v) {
    const Eigen::VectorXd y = Eigen::Map<const Eigen::VectorXf>(problem.block(v, 1, scratch), rows).cast<double>();
    const Eigen::VectorXd products = gram.exact_products.transpose() * y;
    const Eigen::Vector3d u = problem.rest().col(static_cast<Eigen::Index>(v));
    double least = std::numeric_limits<double>::infinity();
    double most = -least;
    std::uint16_t worst = 0;
    for (std::uint16_t b = 0; b < kBones; ++b) {
      const Eigen::VectorXd d = D.middleCols<4>(4 * b) * u.homogeneous();
      const double alone = d.squaredNorm() - 2 * d.dot(y);
      least = std::min(least, alone);
      if (alone > most) most = alone, worst = b;
    }
    const float one = 1;
    solver.load(u, products.data());
    solver.set_support(&worst, &one, 1);
    EXPECT_NEAR(solver.improve(2), least, 1e-9 * (most - least)) << v;
    EXPECT_EQ(solver.count(), 1) << v;
  }
}

/// A vertex solver in memory of its own.
template <class Lanes>
struct Solver {
  std::vector<double> numbers;
  std::vector<int> integers;
  device::VertexState state{};
  device::VertexProblem<Lanes> problem;

  Solver(const BoneGram& gram, int influences)
      : numbers(device::VertexProblem<Lanes>::doubles(static_cast<std::size_t>(gram.padded), slots(gram))),
        integers(device::VertexProblem<Lanes>::integers(slots(gram))),
        problem({}, {gram.bones, gram.padded, gram.coefficients.data(), gram.diagonal.data()}, influences,
                static_cast<int>(slots(gram)), numbers.data(), integers.data(), state) {}

  static std::size_t slots(const BoneGram& gram) { return static_cast<std::size_t>(gram.bones) + 1; }
};

// The processor leaves out exchanges that bounds say cannot pay; what stands in for a GPU tries them all.
TEST(VertexWeightSolver, ExchangesThatBoundsRuleOutWouldNotHavePaid) {
  constexpr int kMany = 13;
  const Sequence sequence = test::bend("grid", test::grid_mesh(20, 12), 9);
  const Problem problem(sequence);
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal(0, 0.2);
  const auto rows = static_cast<Eigen::Index>(problem.row_count());
  const Eigen::MatrixXd D = Eigen::MatrixXd::NullaryExpr(rows, 4 * kMany, [&] { return normal(random); });
  const BoneGram gram = bone_gram(problem, D);
  std::vector<float> scratch;
  int exchanged = 0;
  for (int influences = 2; influences <= 7; ++influences) {
    Solver<device::OneLane> bounded(gram, influences);
    Solver<device::HoldingLane> all(gram, influences);
    for (std::size_t v = 0; v < problem.vertex_count(); ++v) {
      const Eigen::VectorXd y = Eigen::Map<const Eigen::VectorXf>(problem.block(v, 1, scratch), rows).cast<double>();
      const Eigen::VectorXd products = gram.exact_products.transpose() * y;
      const Eigen::Vector3d u = problem.rest().col(static_cast<Eigen::Index>(v));
      const auto solve = [&](auto& solver, int swaps) {
        solver.problem.load(u[0], u[1], u[2], products.data(), 0, nullptr);
        solver.problem.set_support(nullptr, nullptr, 0);
        return solver.problem.improve(swaps);
      };
      const double without = solve(all, 0);
      for (const int swaps : {1, 3}) {
        const double best = solve(all, swaps);
        EXPECT_NEAR(solve(bounded, swaps), best, 1e-11 * (std::abs(best) + 1)) << influences << ' ' << v;
        if (best < without) ++exchanged;
      }
    }
  }
  EXPECT_GT(exchanged, 1000);
}

}  // namespace
}  // namespace sinew
