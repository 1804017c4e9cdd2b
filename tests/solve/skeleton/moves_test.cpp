#include "solve/skeleton/moves.h"

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <vector>

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

/// A chain of bones along the strip, each with the vertices of its share and a shift of its own: bone b by b + 1.
SkeletonFit chain(const lbs::Problem& problem, int bones) {
  SkeletonFit fit{&problem, nullptr, {}, {}, 2, 0, 1, 0};
  fit.tree.joint = Eigen::Matrix3Xd::Zero(3, bones);
  fit.state.D = Eigen::MatrixXd::Zero(problem.common().rows(), 4 * bones);
  fit.state.weights = SparseWeights(problem.vertex_count(), 2);
  const Eigen::RowVectorXd x = problem.rest().row(0);
  const double low = x.minCoeff(), length = x.maxCoeff() - low;
  for (int b = 0; b < bones; ++b) {
    fit.tree.parent.push_back(b - 1);
    fit.tree.joint(0, b) = low + length * b / bones;
    fit.state.D.col(4 * b + 3).setConstant(b + 1);
  }
  for (std::size_t v = 0; v < problem.vertex_count(); ++v) {
    const double share = (x[static_cast<Eigen::Index>(v)] - low) / length;
    fit.state.weights.count[v] = 1;
    fit.state.weights.value[fit.state.weights.slot(v)] = 1;
    fit.state.weights.bone[fit.state.weights.slot(v)] =
        static_cast<std::uint16_t>(std::min(bones - 1, static_cast<int>(share * bones)));
  }
  sum_up(fit);
  return fit;
}

/// The shift of bone b, which stays with it whatever its number.
int shift_of(const SkeletonFit& fit, int b) {
  return static_cast<int>(std::lround(fit.state.D(0, 4 * b + 3)));
}

TEST(Moves, OfManyBonesThatGoTheRightOnesDoThoughTheOthersGetOtherNumbers) {
  constexpr int kBones = 50;
  const Sequence sequence = test::bend("strip", test::grid_mesh(201, 3), 4);
  const lbs::Problem problem(sequence, {0, 1, 1});
  SkeletonFit fit = chain(problem, kBones);
  std::vector<int> going{7, 3, 50, 12, 49};  // by their shifts: the last two are numbers that soon no bone has
  auto next = going.begin();
  contract_bones(fit, static_cast<int>(going.size()), [&](const SkeletonFit& left) {
    int b = 0;
    while (shift_of(left, b) != *next) ++b;
    ++next;
    return b;
  });
  ASSERT_EQ(fit.state.bones(), kBones - 5);
  ASSERT_EQ(fit.tree.bones(), kBones - 5);
  std::vector<int> left, expected;
  for (int b = 0; b < fit.state.bones(); ++b) left.push_back(shift_of(fit, b));
  for (int shift = 1; shift <= kBones; ++shift)
    if (std::find(going.begin(), going.end(), shift) == going.end()) expected.push_back(shift);
  std::sort(left.begin(), left.end());
  EXPECT_EQ(left, expected);
  EXPECT_EQ(std::count(fit.tree.parent.begin(), fit.tree.parent.end(), -1), 1);
  for (std::size_t v = 0; v < problem.vertex_count(); ++v)
    for (std::size_t k = 0; k < fit.state.weights.count[v]; ++k)
      ASSERT_LT(fit.state.weights.bone[fit.state.weights.slot(v) + k], fit.state.bones()) << v;
}

}  // namespace
}  // namespace sinew::skeleton
