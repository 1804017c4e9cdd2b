#include "solve/skeleton/moves.h"

#include <gtest/gtest.h>

#include <Eigen/Geometry>

#include "support/zoo.h"

namespace sinew::skeleton {
namespace {

/// A strip along x whose far half turns about a point in its middle.
Sequence folding_strip() {
  constexpr std::size_t kFrames = 6;
  Sequence out = test::bend("strip", test::grid_mesh(17, 4), kFrames);
  const float low = out.rest.positions.row(0).minCoeff();
  const float middle = low + 0.5F * (out.rest.positions.row(0).maxCoeff() - low);
  for (std::size_t f = 0; f < kFrames; ++f)
    for (Eigen::Index v = 0; v < out.rest.positions.cols(); ++v) {
      const Vector3 rest = out.rest.positions.col(v);
      const Vector3 joint(middle, 0, 0);
      const Eigen::AngleAxisf turn(0.15F * static_cast<float>(f), Vector3(0, 0.6F, 0.8F));
      out.frames[f].col(v) = rest.x() <= middle ? rest : Vector3(joint + turn * (rest - joint));
    }
  return out;
}

/// Three bones of which two share the half that turns, every other vertex each; none moves yet.
SkeletonFit two_bones_for_one(const lbs::Problem& problem) {
  SkeletonFit fit{&problem, nullptr, {}, {}, 2, 0, 1, 0};
  fit.tree = {{-1, 0, 1}, Eigen::Matrix3Xd::Zero(3, 3)};
  fit.state.D = Eigen::MatrixXd::Zero(problem.common().rows(), 12);
  fit.state.weights = SparseWeights(problem.vertex_count(), 2);
  const Eigen::RowVectorXd x = problem.rest().row(0);
  const double middle = 0.5 * (x.minCoeff() + x.maxCoeff());
  fit.tree.joint.rightCols<2>().row(0).setConstant(middle);
  for (std::size_t v = 0; v < problem.vertex_count(); ++v) {
    fit.state.weights.count[v] = 1;
    fit.state.weights.value[fit.state.weights.slot(v)] = 1;
    const bool turns = x[static_cast<Eigen::Index>(v)] > middle + 1e-6;
    fit.state.weights.bone[fit.state.weights.slot(v)] = static_cast<std::uint16_t>(!turns ? 0 : 1 + v % 2);
  }
  sum_up(fit);
  return fit;
}

TEST(Moves, AMergedBoneDoesWhatTwoBonesDid) {
  const Sequence sequence = folding_strip();
  const lbs::Problem problem(sequence, {0.01, 1, 1});
  SkeletonFit fit = two_bones_for_one(problem);
  const SparseWeights before = fit.state.weights;
  merge_bone(fit, 2);
  ASSERT_EQ(fit.state.bones(), 2);
  ASSERT_EQ(fit.tree.parent, (std::vector<int>{-1, 0}));
  EXPECT_LT(fit.e_rms(), 0.5) << "the motion fits the vertices of both";
  for (std::size_t v = 0; v < problem.vertex_count(); ++v) {
    ASSERT_GE(fit.state.weights.count[v], 1);
    EXPECT_EQ(fit.state.weights.bone[fit.state.weights.slot(v)], before.bone[before.slot(v)] == 0 ? 0 : 1) << v;
  }
}

}  // namespace
}  // namespace sinew::skeleton
