#include "sinew/core/ranks.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "support/thread_ranks.h"

namespace sinew {
namespace {

TEST(Ranks, OwnWholePartsInOrderAndAllVerticesTogether) {
  for (const std::size_t vertices : {1UL, 128UL, 129UL, 3000UL, 20001UL, 100000000UL})
    for (const int count : {1, 2, 3, 7, 64}) {
      SCOPED_TRACE(testing::Message() << vertices << " vertices, " << count << " ranks");
      std::size_t next = 0;
      test::Board board(count);
      for (int r = 0; r < count; ++r) {
        const test::ThreadRanks ranks(r, count, board);
        const VertexRange own = ranks.own(vertices);
        EXPECT_EQ(own.first, next);
        EXPECT_TRUE(own.first % part_size(vertices) == 0 || own.first == vertices);
        const VertexRange held = ranks.held(vertices, 256);
        EXPECT_TRUE(own.count() == 0 || (held.first <= own.first && own.first - held.first < 256));
        EXPECT_TRUE(own.count() == 0 || (held.last >= own.last && held.last - own.last < 256));
        next = own.last;
      }
      EXPECT_EQ(next, vertices);
    }
}

TEST(Ranks, OfManyVerticesShareThemEvenly) {
  test::Board board(64);
  for (int r = 0; r < 64; ++r)
    EXPECT_LE(test::ThreadRanks(r, 64, board).own(100000000).count(), std::size_t{100000000} / 64 * 5 / 4);
}

TEST(Ranks, AddInTheOrderOfOneWhoIsAlone) {
  const std::vector<double> parts{1e16, 1, -1e16, 3, 1e-3};  // any other order has another sum
  double expected = 0;
  for (const double part : parts) expected += part;
  for (const int count : {1, 2, 3, 5})
    test::as_ranks(count, [&](Ranks& ranks) {
      double sum = 0;
      ranks.take({&sum, 1});
      for (std::size_t i = 0; i < parts.size(); ++i)
        if (static_cast<int>(i) * count / static_cast<int>(parts.size()) == ranks.rank()) sum += parts[i];
      ranks.hand_on({&sum, 1});
      ranks.total({&sum, 1});
      EXPECT_EQ(sum, expected);
      EXPECT_EQ(ranks.traffic().sums, count == 1 ? 0U : (ranks.rank() > 0) * 8U + (ranks.rank() + 1 < count) * 8U);
    });
}

TEST(Ranks, GetTheEntriesOfEachOthersVertices) {
  constexpr std::size_t kVertices = 700;
  for (const int count : {1, 2, 3, 9})
    test::as_ranks(count, [&](Ranks& ranks) {
      std::vector<float> values(3 * kVertices, -1);
      const VertexRange own = ranks.own(kVertices);
      for (std::size_t i = 3 * own.first; i < 3 * own.last; ++i) values[i] = static_cast<float>(i);
      ranks.share(values.data(), 3, kVertices);
      std::vector<float> all(values.size());
      std::iota(all.begin(), all.end(), 0.0F);
      EXPECT_EQ(values, all);
      EXPECT_EQ(ranks.traffic().vertices, 12 * (kVertices - own.count()));
      EXPECT_EQ(ranks.of_first(ranks.rank()), 0);
      EXPECT_TRUE(ranks.any(ranks.rank() == count - 1));
      EXPECT_FALSE(ranks.any(false));
    });
}

}  // namespace
}  // namespace sinew
