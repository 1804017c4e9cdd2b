#include "math/mean_shift.h"

#include <cmath>
#include <map>
#include <random>
#include <vector>

#include "support/support.h"

namespace sinew {
namespace {

/// Blobs of different sizes and spreads around random centres, then outliers spread wide.
PointRows planted(std::size_t dims, const std::vector<int>& sizes, int outliers, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  int total = outliers;
  for (const int size : sizes) total += size;
  PointRows points(total, static_cast<Eigen::Index>(dims));
  Eigen::Index row = 0;
  for (std::size_t c = 0; c < sizes.size(); ++c) {
    Eigen::RowVectorXf center(points.cols());
    for (float& x : center) x = normal(random);
    const float spread = 0.02F + 0.01F * static_cast<float>(c);
    for (int i = 0; i < sizes[c]; ++i, ++row) {
      for (Eigen::Index k = 0; k < points.cols(); ++k) points(row, k) = center[k] + spread * normal(random);
    }
  }
  for (; row < points.rows(); ++row) {
    for (Eigen::Index k = 0; k < points.cols(); ++k) points(row, k) = 3 * normal(random);
  }
  return points;
}

/// The definition, point by point, with no index and nothing coalesced.
PointRows brute_force(const PointRows& points, double h) {
  PointRows out = points;
  for (Eigen::Index j = 0; j < points.rows(); ++j) {
    Eigen::RowVectorXd x = points.row(j).cast<double>();
    for (int i = 0; i < 100; ++i) {
      Eigen::RowVectorXd sum = Eigen::RowVectorXd::Zero(points.cols());
      double total = 0;
      for (Eigen::Index k = 0; k < points.rows(); ++k) {
        const double u = 1 - (points.row(k).cast<double>() - x).lpNorm<1>() / h;
        if (u <= 0) continue;
        sum += u * u * points.row(k).cast<double>();
        total += u * u;
      }
      const Eigen::RowVectorXd next = sum / total;
      const double moved = (next - x).lpNorm<1>();
      x = next;
      if (moved <= 1e-3 * h) break;
    }
    out.row(j) = x.cast<float>();
  }
  return out;
}

MeanShiftOptions at_bandwidth(double h) {
  MeanShiftOptions options;
  options.bandwidth = h;
  options.threads = 1;
  return options;
}

MeanShiftOptions exact_at(double h) {
  MeanShiftOptions options = at_bandwidth(h);
  options.exact = true;
  return options;
}

Modes modes_of(const PointRows& points, const MeanShiftOptions& shift, std::size_t min_points = 20) {
  ModeOptions modes;
  modes.bandwidth = shift.bandwidth;
  modes.min_points = min_points;
  return find_modes(mean_shift(points, shift), modes);
}

/// Points whose mode is not the one that the most points of their mode in `a` have in `b`; modes are compared by their
/// members, since equal sizes may come in any order.
std::size_t count_different(const Modes& a, const Modes& b) {
  std::map<std::pair<int, int>, std::size_t> pairs;
  for (std::size_t j = 0; j < a.mode_of.size(); ++j) ++pairs[{a.mode_of[j], b.mode_of[j]}];
  std::map<int, std::size_t> agree;
  for (const auto& [pair, count] : pairs) {
    if ((pair.first < 0) == (pair.second < 0)) agree[pair.first] = std::max(agree[pair.first], count);
  }
  std::size_t same = 0;
  for (const auto& [mode, count] : agree) same += count;
  return a.mode_of.size() - same;
}

TEST(MeanShift, FindsPlantedClustersAndLeavesOutliersOut) {
  const std::vector<int> sizes{120, 70, 45, 30};
  const PointRows points = planted(40, sizes, 25, 7);
  const Modes modes = modes_of(points, at_bandwidth(40 * 0.2));
  ASSERT_EQ(modes.ends.size(), sizes.size());
  std::size_t row = 0;
  for (std::size_t c = 0; c < sizes.size(); ++c) {
    for (int i = 0; i < sizes[c]; ++i, ++row) EXPECT_EQ(modes.mode_of[row], static_cast<int>(c)) << "point " << row;
    EXPECT_EQ(modes.sizes[c], static_cast<std::size_t>(sizes[c]));
  }
  for (; row < modes.mode_of.size(); ++row) EXPECT_EQ(modes.mode_of[row], -1) << "outlier " << row;
}

TEST(MeanShift, EveryPointEndsWhereTheDefinitionPutsIt) {
  const PointRows points = planted(20, {40, 25}, 10, 3);
  const double h = 20 * 0.15;
  const PointRows expected = brute_force(points, h);
  const MeanShift shifted = mean_shift(points, exact_at(h));
  for (Eigen::Index j = 0; j < points.rows(); ++j) {
    const auto end = static_cast<Eigen::Index>(shifted.end_of[static_cast<std::size_t>(j)]);
    EXPECT_LT((shifted.ends.row(end) - expected.row(j)).lpNorm<1>(), 0.01 * h) << "point " << j;
  }
}

TEST(MeanShift, MergingKeepsTheAssociationOfThousandsOfPoints) {
  // A chain of overlapping blobs, where basins touch, beside separate ones.
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  PointRows points(4000, 30);
  for (Eigen::Index j = 0; j < points.rows(); ++j) {
    const auto place = static_cast<float>(j % 8);
    for (Eigen::Index k = 0; k < points.cols(); ++k)
      points(j, k) = (k < 10 ? 0.35F * place : 0.0F) + (place > 5 ? 1.0F : 0.0F) + 0.07F * normal(random);
  }
  const double h = 30 * 0.17;
  const Modes exact = modes_of(points, exact_at(h));
  const Modes fast = modes_of(points, at_bandwidth(h));
  ASSERT_EQ(exact.ends.size(), fast.ends.size());
  ASSERT_GT(exact.ends.size(), 3U);
  EXPECT_LE(count_different(exact, fast), exact.mode_of.size() / 1000);
}

TEST(MeanShift, SmallCodesKeepTheAssociationOfThousandsOfPoints) {
  // Long rows whose neighbouring coordinates change alike: sketches in bytes and coordinates in 12 bits are used.
  std::mt19937 random(12);
  std::normal_distribution<float> normal;
  constexpr Eigen::Index kTimes = 90;
  PointRows points(2500, 4 * kTimes);
  for (Eigen::Index j = 0; j < points.rows(); ++j) {
    const auto place = static_cast<float>(j % 7);
    for (Eigen::Index k = 0; k < 4; ++k) {
      const float own = 0.06F * normal(random);
      for (Eigen::Index f = 0; f < kTimes; ++f) {
        const float angle = 0.05F * static_cast<float>(f) + static_cast<float>(k);
        points(j, 4 * f + k) = 0.14F * place * std::sin(angle) + own * std::cos(2 * angle) + 0.01F * normal(random);
      }
    }
  }
  const double h = 0.1 * static_cast<double>(points.cols());
  MeanShiftOptions options = at_bandwidth(h);
  options.period = 4;
  const Modes exact = modes_of(points, exact_at(h));
  const Modes fast = modes_of(points, options);
  ASSERT_EQ(exact.ends.size(), fast.ends.size());
  ASSERT_GT(exact.ends.size(), 3U);
  EXPECT_LE(count_different(exact, fast), exact.mode_of.size() / 1000);
}

TEST(MeanShift, OrderOfThePointsOnlyRenumbers) {
  const PointRows points = planted(25, {60, 40, 30}, 15, 5);
  PointRows reversed = points.colwise().reverse();
  const Modes a = modes_of(points, at_bandwidth(25 * 0.2));
  const Modes b = modes_of(reversed, at_bandwidth(25 * 0.2));
  ASSERT_EQ(a.sizes, b.sizes);
  for (std::size_t j = 0; j < a.mode_of.size(); ++j) EXPECT_EQ(a.mode_of[j], b.mode_of[a.mode_of.size() - 1 - j]);
}

TEST(MeanShift, SameBitsForOneTwoAndSevenThreads) {
  const PointRows points = planted(25, {90, 70, 50}, 30, 9);
  MeanShiftOptions options = at_bandwidth(25 * 0.1);
  const MeanShift one = mean_shift(points, options);
  for (const int threads : {2, 7}) {
    options.threads = threads;
    const MeanShift many = mean_shift(points, options);
    EXPECT_EQ(one.end_of, many.end_of);
    EXPECT_TRUE(one.ends == many.ends);
  }
}

TEST(MeanShift, RefusesBadBandwidthsAndNumbers) {
  PointRows points = planted(5, {10}, 0, 1);
  MeanShiftOptions options;
  options.bandwidth = 0;
  test::expect_error(ErrorKind::usage, "bandwidth", [&] { mean_shift(points, options); });
  options.bandwidth = 1;
  options.period = 1000;
  test::expect_error(ErrorKind::usage, "period", [&] { mean_shift(points, options); });
  options.period = 1;
  points(3, 2) = std::nanf("");
  test::expect_error(ErrorKind::input, "not finite", [&] { mean_shift(points, options); });
}

}  // namespace
}  // namespace sinew
