#include "sinew/core/paged_memory.h"

#include <filesystem>
#include <fstream>
#include <numeric>

#include "sinew/core/sequence.h"
#include "support/support.h"

namespace sinew {
namespace {

namespace fs = std::filesystem;

/// Pages little, so that everything goes to a file and out of memory again.
Paging paged(const fs::path& scratch) {
  return {.most = 0, .memory = 4096, .scratch = scratch};
}

Frames numbered(std::size_t frames, std::size_t vertices, const Paging& paging) {
  Frames out(frames, vertices, paging);
  for (std::size_t f = 0; f < frames; ++f)
    for (Eigen::Index v = 0; v < static_cast<Eigen::Index>(vertices); ++v)
      out[f].col(v) = Vector3(static_cast<float>(f), static_cast<float>(v), 0.25F);
  return out;
}

TEST(PagedMemory, FramesInAFileAreThoseInMemory) {
  const test::TemporaryFolder folder;
  const Frames kept = numbered(7, 1000, {});
  const Frames in_file = numbered(7, 1000, paged(folder.path()));
  EXPECT_EQ(kept.paging(), nullptr);
  ASSERT_NE(in_file.paging(), nullptr);
  EXPECT_TRUE(kept == in_file);
  EXPECT_TRUE(fs::is_empty(folder.path())) << "a scratch file has no name";
}

TEST(PagedMemory, AChangeToOneOfTwoThatShareAFileIsNotSeenByTheOther) {
  const test::TemporaryFolder folder;
  Frames one = numbered(3, 100, paged(folder.path()));
  const Frames other = one;
  one[1].setZero();
  EXPECT_EQ(std::as_const(one)[1].norm(), 0);
  EXPECT_EQ(other[1](0, 4), 1);
}

TEST(PagedMemory, SlabsHoldEveryVertexOnceOverAllFrames) {
  const test::TemporaryFolder folder;
  const Frames frames = numbered(5, 777, paged(folder.path()));
  std::size_t next = 0;
  for_each_slab(frames, 64, [&](const Frames& slab, std::size_t first) {
    EXPECT_EQ(first, next);
    EXPECT_EQ(first % 64, 0U);
    EXPECT_LT(slab.vertex_count(), 777U);
    for (std::size_t f = 0; f < 5; ++f)
      EXPECT_EQ(slab[f], frames[f].middleCols(static_cast<Eigen::Index>(first), slab[f].cols()));
    next += slab.vertex_count();
  });
  EXPECT_EQ(next, 777U);
}

TEST(PagedMemory, APartOfTheFramesStaysInTheirFile) {
  const test::TemporaryFolder folder;
  const Frames part = numbered(9, 50, paged(folder.path())).range(4, 3);
  ASSERT_NE(part.paging(), nullptr);
  EXPECT_EQ(part.count(), 3U);
  EXPECT_EQ(part[0](0, 0), 4);
  EXPECT_EQ(part.slab(10, 2)[2](0, 1), 6);
}

TEST(PagedMemory, NumbersOfAFileThatAreNotFiniteAreFoundAndOthersLookedAtOnce) {
  const test::TemporaryFolder folder;
  Frames frames = numbered(4, 20, paged(folder.path()));
  frames.check_finite("cache");
  frames[2](1, 5) = std::numeric_limits<float>::quiet_NaN();
  test::expect_error(ErrorKind::input, "cache: frame 2, vertex 5", [&] { frames.check_finite("cache"); });
}

TEST(PagedMemory, AFolderThatIsMissingAndADiskWithoutRoomAreSentencesAndLeaveNothing) {
  const test::TemporaryFolder folder;
  test::expect_error(ErrorKind::output, "no scratch file",
                     [&] { PagedMemory::scratch(100, paged(folder.path() / "missing")); });
  test::expect_error(ErrorKind::output, "no room for",
                     [&] { PagedMemory::scratch(std::size_t{1} << 60, paged(folder.path())); });
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(PagedMemory, AFileThatIsShorterThanItWasIsRefused) {
  const test::TemporaryFolder folder;
  std::ofstream(folder.path() / "short") << "0123456789";
  test::expect_error(ErrorKind::input, "shorter", [&] { PagedMemory::of_file(folder.path() / "short", 4, 7, {}); });
  const auto six = PagedMemory::of_file(folder.path() / "short", 4, 6, {});
  EXPECT_EQ(static_cast<char>(six->data()[0]), '4');
  std::byte last{};
  six->read(5, std::span(&last, 1));
  EXPECT_EQ(static_cast<char>(last), '9');
}

}  // namespace
}  // namespace sinew
