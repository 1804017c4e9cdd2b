#include "math/parallel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

namespace sinew {
namespace {

TEST(Parallel, EveryIndexIsVisitedOnceByTheSameChunks) {
  for (const int threads : {1, 2, 7}) {
    std::vector<int> visits(1003, 0);
    std::vector<std::size_t> chunk(1003, 0);
    parallel_for(1003, 10, threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        ++visits[i];
        chunk[i] = begin;
      }
    });
    for (std::size_t i = 0; i < visits.size(); ++i) {
      EXPECT_EQ(visits[i], 1) << i;
      EXPECT_EQ(chunk[i], i / 10 * 10) << i;
    }
  }
}

TEST(Parallel, ReductionHasTheSameBitsForAnyThreadCount) {
  const auto sum = [](int threads) {
    return parallel_reduce(
        100000, 64, threads, 0.0,
        [](std::size_t begin, std::size_t end) {
          double part = 0;
          for (std::size_t i = begin; i < end; ++i) part += std::sin(static_cast<double>(i)) * 1e-3;
          return part;
        },
        [](double a, double b) { return a + b; });
  };
  EXPECT_EQ(sum(1), sum(2));
  EXPECT_EQ(sum(1), sum(7));
}

TEST(Parallel, ExceptionsReachTheCaller) {
  const auto run = [](int threads) {
    parallel_for(100, 1, threads, [](std::size_t begin, std::size_t) {
      if (begin == 50) throw std::runtime_error("fifty");
    });
  };
  EXPECT_THROW(run(1), std::runtime_error);
  EXPECT_THROW(run(2), std::runtime_error);
}

}  // namespace
}  // namespace sinew
