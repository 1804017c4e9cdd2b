#include "solve/skeleton/tidy.h"

#include <gtest/gtest.h>

#include <Eigen/Geometry>

#include "solve/skeleton/strict.h"
#include "support/zoo.h"

namespace sinew::skeleton {
namespace {

/// A strip along x whose ends turn about points at a quarter and three quarters of it, in turn.
Sequence strip_with_two_ends() {
  constexpr std::size_t kFrames = 8;
  Sequence out = test::bend("strip", test::grid_mesh(25, 4), kFrames);
  const float low = out.rest.positions.row(0).minCoeff();
  const float length = out.rest.positions.row(0).maxCoeff() - low;
  for (std::size_t f = 0; f < kFrames; ++f)
    for (Eigen::Index v = 0; v < out.rest.positions.cols(); ++v) {
      const Vector3 rest = out.rest.positions.col(v);
      const bool on_left = rest.x() < low + 0.25F * length;
      const bool on_right = rest.x() > low + 0.75F * length;
      const Vector3 joint(low + (on_left ? 0.25F : 0.75F) * length, 0, 0);
      const float angle = (on_left ? 0.2F : -0.15F) * static_cast<float>(on_left ? f % 4 : f / 2);
      const Eigen::AngleAxisf turn(angle, Vector3(0.1F, 0.6F, 0.8F).normalized());
      out.frames[f].col(v) = on_left || on_right ? Vector3(joint + turn * (rest - joint)) : rest;
    }
  return out;
}

/// Its middle 0, its right end 1, and its left end 2, which hangs from `parent_of_left`.
SkeletonFit three_bones(const lbs::Problem& problem, int parent_of_left) {
  SkeletonFit fit{&problem, nullptr, {}, {}, 2, 0, 1, 0};
  fit.tree = {{-1, 0, parent_of_left}, Eigen::Matrix3Xd::Zero(3, 3)};
  fit.state.D = Eigen::MatrixXd::Zero(problem.common().rows(), 12);
  fit.state.weights = SparseWeights(problem.vertex_count(), 2);
  const Eigen::RowVectorXd x = problem.rest().row(0);
  const double length = x.maxCoeff() - x.minCoeff();
  fit.tree.joint(0, 1) = x.minCoeff() + 0.75 * length;
  fit.tree.joint(0, 2) = x.minCoeff() + 0.25 * length;
  for (std::size_t v = 0; v < problem.vertex_count(); ++v) {
    const double along = (x[static_cast<Eigen::Index>(v)] - x.minCoeff()) / length;
    fit.state.weights.count[v] = 1;
    fit.state.weights.value[fit.state.weights.slot(v)] = 1;
    fit.state.weights.bone[fit.state.weights.slot(v)] = static_cast<std::uint16_t>(along < 0.25   ? 2
                                                                                   : along > 0.75 ? 1
                                                                                                  : 0);
  }
  sum_up(fit);
  settle_tree(fit, 6);
  update_weights(fit);
  return fit;
}

MirrorPlane plane_across(const lbs::Problem& problem) {
  const Eigen::RowVectorXd x = problem.rest().row(0);
  return {Eigen::Vector3d::UnitX(), 0.5 * (x.minCoeff() + x.maxCoeff())};
}

TEST(Tidy, ALimbThatHangsFromItsPartnerIsHungBesideIt) {
  const Sequence sequence = strip_with_two_ends();
  const lbs::Problem problem(sequence, {0.01, 1, 1});
  SkeletonFit fit = three_bones(problem, 1);
  const double before = fit.e_rms();
  EXPECT_EQ(hang_evenly(fit, plane_across(problem)), 1);
  EXPECT_EQ(fit.tree.parent, (std::vector<int>{-1, 0, 0}));
  EXPECT_LT(fit.e_rms(), before);
}

TEST(Tidy, AnEvenHierarchyStaysAsItIs) {
  const Sequence sequence = strip_with_two_ends();
  const lbs::Problem problem(sequence, {0.01, 1, 1});
  SkeletonFit fit = three_bones(problem, 0);
  const Eigen::Matrix3Xd joint = fit.tree.joint;
  EXPECT_EQ(hang_evenly(fit, plane_across(problem)), 0);
  EXPECT_EQ(fit.tree.joint, joint);
}

}  // namespace
}  // namespace sinew::skeleton
