#include "solve/skeleton/sample.h"

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <algorithm>

#include "support/zoo.h"

namespace sinew::skeleton {
namespace {

/// A still sheet of 3721 vertices of which a few in a corner turn about an axis of their own.
Sequence sheet_with_a_finger(std::vector<Index>& finger) {
  constexpr std::size_t kFrames = 5;
  Sequence out = test::bend("sheet", test::grid_mesh(61, 61), kFrames);
  const Eigen::RowVectorXf x = out.rest.positions.row(0);
  const Eigen::RowVectorXf y = out.rest.positions.row(1);
  const float side = (x.maxCoeff() - x.minCoeff()) / 60;
  for (Index v = 0; v < out.rest.vertex_count(); ++v)
    if (x[v] > x.maxCoeff() - 4.5F * side && y[v] > y.maxCoeff() - 4.5F * side) finger.push_back(v);
  for (std::size_t f = 0; f < kFrames; ++f) {
    PointsMap frame = out.frames[f];
    frame = out.rest.positions;
    const Eigen::AngleAxisf turn(0.4F * static_cast<float>(f), Vector3(0.6F, 0.8F, 0));
    const Vector3 joint = out.rest.positions.col(finger.front());
    for (const Index v : finger) frame.col(v) = joint + turn * (out.rest.positions.col(v) - joint);
  }
  return out;
}

TEST(VerticesThatMove, HaveMoreOfASmallPartThanAnEvenSpreadHas) {
  std::vector<Index> finger;
  const Sequence sequence = sheet_with_a_finger(finger);
  ASSERT_GE(finger.size(), 15U);
  ASSERT_LE(finger.size(), 30U);
  const lbs::Problem problem(sequence, {0, 1, 1});
  const auto of_finger = [&](const std::vector<Index>& chosen) {
    return std::count_if(finger.begin(), finger.end(),
                         [&](Index v) { return std::binary_search(chosen.begin(), chosen.end(), v); });
  };
  const std::vector<Index> chosen = vertices_that_move(problem, 300, 1);
  EXPECT_LE(chosen.size(), 300U);
  EXPECT_GE(chosen.size(), 150U);
  EXPECT_TRUE(std::is_sorted(chosen.begin(), chosen.end()));
  EXPECT_EQ(std::adjacent_find(chosen.begin(), chosen.end()), chosen.end()) << "none twice";
  EXPECT_GT(of_finger(chosen), 2 * of_finger(lbs::spread_vertices(problem.vertex_count(), 300)));
}

TEST(VerticesThatMove, AreAllWhereThereAreFew) {
  std::vector<Index> finger;
  const Sequence sequence = sheet_with_a_finger(finger);
  const lbs::Problem problem(sequence, {0, 1, 1});
  EXPECT_EQ(vertices_that_move(problem, 4000, 1).size(), problem.vertex_count());
}

}  // namespace
}  // namespace sinew::skeleton
