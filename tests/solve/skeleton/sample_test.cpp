#include "solve/skeleton/sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/zoo.h"

namespace sinew::skeleton {
namespace {

/// A still sheet of 3721 vertices of which one in thirty, in a corner, moves: each its own way.
Sequence sheet_with_a_corner(std::vector<Index>& corner) {
  constexpr std::size_t kFrames = 5;
  Sequence out = test::bend("sheet", test::grid_mesh(61, 61), kFrames);
  const Eigen::RowVectorXf x = out.rest.positions.row(0);
  const Eigen::RowVectorXf y = out.rest.positions.row(1);
  const float side = (x.maxCoeff() - x.minCoeff()) / 60;
  for (Index v = 0; v < out.rest.vertex_count(); ++v)
    if (x[v] > x.maxCoeff() - 12.5F * side && y[v] > y.maxCoeff() - 12.5F * side) corner.push_back(v);
  for (std::size_t f = 0; f < kFrames; ++f) {
    PointsMap frame = out.frames[f];
    frame = out.rest.positions;
    for (const Index v : corner) {
      const float angle = static_cast<float>(v) + static_cast<float>(f) * static_cast<float>(1 + v % 5);
      frame.col(v) += 3 * side * Vector3(std::cos(angle), std::sin(2 * angle), std::sin(angle));
    }
  }
  return out;
}

TEST(VerticesThatMove, HaveMoreOfASmallPartThanAnEvenSpreadHas) {
  std::vector<Index> corner;
  const Sequence sequence = sheet_with_a_corner(corner);
  ASSERT_GE(corner.size(), 100U);
  ASSERT_LE(corner.size(), 160U);
  const lbs::Problem problem(sequence, {0, 1, 1});
  const auto of_corner = [&](const std::vector<Index>& chosen) {
    return std::count_if(corner.begin(), corner.end(),
                         [&](Index v) { return std::binary_search(chosen.begin(), chosen.end(), v); });
  };
  const std::vector<Index> chosen = vertices_that_move(problem, 300, 1);
  EXPECT_LE(chosen.size(), 300U);
  EXPECT_GE(chosen.size(), 150U);
  EXPECT_TRUE(std::is_sorted(chosen.begin(), chosen.end()));
  EXPECT_EQ(std::adjacent_find(chosen.begin(), chosen.end()), chosen.end()) << "none twice";
  EXPECT_GT(of_corner(chosen), 2 * of_corner(lbs::spread_vertices(problem.vertex_count(), 300)));
}

TEST(VerticesThatMove, AreAllWhereThereAreFew) {
  std::vector<Index> corner;
  const Sequence sequence = sheet_with_a_corner(corner);
  const lbs::Problem problem(sequence, {0, 1, 1});
  EXPECT_EQ(vertices_that_move(problem, 4000, 1).size(), problem.vertex_count());
}

}  // namespace
}  // namespace sinew::skeleton
