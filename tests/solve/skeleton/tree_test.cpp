#include "solve/skeleton/tree.h"

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <cmath>

#include "solve/lbs/bones.h"
#include "solve/skeleton/skeleton_fit.h"
#include "support/zoo.h"

namespace sinew::skeleton {
namespace {

/// A strip along x of three rigid thirds, each of which turns against the one before.
Sequence three_thirds() {
  constexpr std::size_t kFrames = 12;
  Sequence out = test::bend("strip", test::grid_mesh(25, 4), kFrames);
  const float low = out.rest.positions.row(0).minCoeff();
  const float third = (out.rest.positions.row(0).maxCoeff() - low) / 3;
  for (std::size_t f = 0; f < kFrames; ++f) {
    const auto turn = [&](float degrees, const Vector3& axis, float at, const Vector3& x) {
      const Vector3 joint(low + at * third, 0, 0);
      return Vector3(joint + Eigen::AngleAxisf(degrees * 0.01745329F, axis.normalized()) * (x - joint));
    };
    for (Eigen::Index v = 0; v < out.rest.positions.cols(); ++v) {
      Vector3 x = out.rest.positions.col(v);
      const float place = (x.x() - low) / third;
      const auto step = static_cast<float>(f);
      if (place > 2) x = turn(40 * std::sin(1.1F * step), {0.2F, 1, 0.3F}, 2, x);
      if (place > 1) x = turn(30 * std::sin(0.6F * step + 1), {0.3F, 0.2F, 1}, 1, x);
      out.frames[f].col(v) = x;
    }
  }
  return out;
}

TEST(Tree, JoinsRigidPartsThatTouchNowhereByTheirMotionThoughOthersBlendByChance) {
  const Sequence sequence = three_thirds();
  const lbs::Problem problem(sequence, {0.01, 1, 1});
  SkeletonFit fit{&problem, nullptr, {}, {}, 2, 0, 1, 0};
  fit.state.D = Eigen::MatrixXd::Zero(problem.common().rows(), 12);
  SparseWeights& w = fit.state.weights = SparseWeights(problem.vertex_count(), 2);
  const Eigen::RowVectorXd x = problem.rest().row(0);
  const double third = (x.maxCoeff() - x.minCoeff()) / 3;
  for (std::size_t v = 0; v < problem.vertex_count(); ++v) {
    const double place = (x[static_cast<Eigen::Index>(v)] - x.minCoeff()) / third;
    w.count[v] = 1;
    w.bone[w.slot(v)] = static_cast<std::uint16_t>(place > 2 ? 2 : place > 1 ? 1 : 0);
    w.value[w.slot(v)] = 1;
  }
  sum_up(fit);
  update_bones(problem, fit.state.sums, BoneOptions{}, fit.state.D);
  w.count[0] = 2;  // a vertex of the first third follows the last a little
  w.value[w.slot(0)] = 0.97F;
  w.bone[w.slot(0) + 1] = 2;
  w.value[w.slot(0) + 1] = 0.03F;
  sum_up(fit);
  const std::vector<TreeEdge> edges = spanning_tree(fit.state, problem);
  ASSERT_EQ(edges.size(), 2U);
  for (const TreeEdge& edge : edges) EXPECT_EQ(std::abs(edge.from - edge.to), 1) << edge.from << " " << edge.to;
}

}  // namespace
}  // namespace sinew::skeleton
