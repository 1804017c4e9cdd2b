#include "solve/skeleton/facing.h"

#include <gtest/gtest.h>

namespace sinew {
namespace {

using skeleton::Facing;

/// Two legs of points, mirrored across x = 0, whose soles reach `toes` towards +Z. They travel by `stride` along +Z in
/// each of 20 frames. All of it turned half round where asked for.
Sequence walker(float toes, float stride, bool turned) {
  std::vector<Vector3> points;
  for (const float side : {-1.0F, 1.0F}) {
    for (int i = 0; i <= 50; ++i)
      points.emplace_back(side * (1 + 0.004F * static_cast<float>(i)), 0.2F * static_cast<float>(i), 0.1F);
    for (int k = 1; k <= 6; ++k) points.emplace_back(side, 0.0F, 0.1F + toes * static_cast<float>(k) / 6);
  }
  const float sign = turned ? -1.0F : 1.0F;
  Sequence out;
  out.name = "walker";
  out.rest.positions.resize(3, static_cast<Eigen::Index>(points.size()));
  for (std::size_t v = 0; v < points.size(); ++v)
    out.rest.positions.col(static_cast<Eigen::Index>(v)) = points[v].cwiseProduct(Vector3(sign, 1, sign));
  out.frames = Frames(20, points.size());
  for (std::size_t f = 0; f < 20; ++f) {
    out.times.push_back(static_cast<double>(f) / 30);
    out.frames[f] = out.rest.positions;
    out.frames[f].row(2).array() += sign * stride * static_cast<float>(f);
  }
  return out;
}

Facing facing(const Sequence& sequence) {
  const lbs::Problem problem(sequence);
  return skeleton::facing_of(sequence, problem, {Eigen::Vector3d::UnitX(), 0});
}

TEST(Facing, IsWhereTheFeetPoint) {
  const Facing there = facing(walker(1.5F, 0, false));
  EXPECT_EQ(there.by, Facing::By::feet);
  EXPECT_EQ(there.left, 1);
  EXPECT_GT(there.forward.z(), 0.99);
  const Facing turned = facing(walker(1.5F, 0, true));
  EXPECT_EQ(turned.by, Facing::By::feet);
  EXPECT_EQ(turned.left, -1);
  EXPECT_LT(turned.forward.z(), -0.99);
  EXPECT_EQ(facing(walker(1.5F, -0.5F, false)).left, 1) << "it walks backwards";
}

TEST(Facing, WithoutFeetIsWhereItTravels) {
  EXPECT_EQ(facing(walker(0, 0.5F, false)).left, 1);
  const Facing turned = facing(walker(0, 0.5F, true));
  EXPECT_EQ(turned.by, Facing::By::travel);
  EXPECT_EQ(turned.left, -1);
}

TEST(Facing, IsThatOfGltfWhereNothingTells) {
  const Facing still = facing(walker(0, 0, true));
  EXPECT_EQ(still.by, Facing::By::convention);
  EXPECT_EQ(still.left, 1);
}

}  // namespace
}  // namespace sinew
