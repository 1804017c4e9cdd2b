#include <fmt/format.h>
#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "io/small_sequence.h"
#include "sinew/io/mdd.h"
#include "sinew/io/pc2.h"
#include "support/support.h"

namespace sinew {
namespace {

using test::expect_error;
using test::put;

/// Two frames of three points, byte by byte as the format is documented, so that reader and writer cannot agree on the
/// same mistake.
std::vector<std::byte> pc2_by_hand() {
  std::string text("POINTCACHE2\0", 12);
  text += std::string("\x01\0\0\0\x03\0\0\0\0\0\x80\x3f\0\0\0\x40\x02\0\0\0", 20);  // start 1, rate 2
  for (int i = 0; i < 18; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(i) + 0.5F);
    for (int shift = 0; shift < 32; shift += 8) text += static_cast<char>(bits >> shift & 0xffU);
  }
  const auto bytes = test::bytes_of(text);
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> mdd_by_hand() {
  std::string text("\0\0\0\x02\0\0\0\x03\x3f\0\0\0\x40\x40\0\0", 16);  // times 0.5 and 3
  for (int i = 0; i < 18; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(i) + 0.5F);
    for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(bits >> shift & 0xffU);
  }
  const auto bytes = test::bytes_of(text);
  return {bytes.begin(), bytes.end()};
}

void expect_counting(const PointCache& cache) {
  ASSERT_EQ(cache.frames.count(), 2U);
  ASSERT_EQ(cache.frames.vertex_count(), 3U);
  EXPECT_EQ(cache.frames[1](2, 0), 11.5F);
  EXPECT_EQ(cache.frames.data().back(), 17.5F);
}

TEST(ReadPc2, ReadsTheDocumentedBytes) {
  const PointCache cache = parse_pc2(pc2_by_hand(), "a.pc2");
  expect_counting(cache);
  EXPECT_THAT(cache.times, ::testing::ElementsAre(0, 2.0 / 30));
}

TEST(ReadMdd, ReadsTheDocumentedBytes) {
  const PointCache cache = parse_mdd(mdd_by_hand(), "a.mdd");
  expect_counting(cache);
  EXPECT_THAT(cache.times, ::testing::ElementsAre(0.5, 3));
}

TEST(ReadPc2, EveryTruncatedPrefixIsRefused) {
  const std::vector<std::byte> whole = pc2_by_hand();
  for (std::size_t size = 0; size < whole.size(); ++size)
    expect_error(ErrorKind::input, "a.pc2: ", [&] { parse_pc2(test::prefix(whole, size), "a.pc2"); });
}

TEST(ReadMdd, EveryTruncatedPrefixIsRefused) {
  const std::vector<std::byte> whole = mdd_by_hand();
  for (std::size_t size = 0; size < whole.size(); ++size)
    expect_error(ErrorKind::input, "a.mdd: ", [&] { parse_mdd(test::prefix(whole, size), "a.mdd"); });
}

TEST(ReadPc2, CountsLargerThanTheFileAreRefusedBeforeMemoryIsTaken) {
  for (const auto& [points, samples] : {std::pair{0x7fffffff, 0x7fffffff}, {3, 0x7fffffff}, {0x7fffffff, 2}, {3, 3}}) {
    std::vector<std::byte> bytes = pc2_by_hand();
    put(bytes, 16, std::int32_t{points});
    put(bytes, 28, std::int32_t{samples});
    expect_error(ErrorKind::input, fmt::format("{} frames of {} points do not fit in the 72 bytes", samples, points),
                 [&] { parse_pc2(bytes, "a.pc2"); });
  }
}

TEST(ReadMdd, CountsLargerThanTheFileAreRefusedBeforeMemoryIsTaken) {
  for (const auto& [samples, points] : {std::pair{0x7fffffff, 0x7fffffff}, {2, 0x7fffffff}, {0x7fffffff, 3}, {2, 4}}) {
    std::vector<std::byte> bytes = mdd_by_hand();
    put(bytes, 0, __builtin_bswap32(static_cast<std::uint32_t>(samples)));
    put(bytes, 4, __builtin_bswap32(static_cast<std::uint32_t>(points)));
    expect_error(ErrorKind::input, "do not fit in", [&] { parse_mdd(bytes, "a.mdd"); });
  }
}

TEST(ReadPc2, ZeroOrNegativeCountsAreRefused) {
  for (const auto& [points, samples] : {std::pair{0, 2}, {3, 0}, {-3, 2}, {3, -2}, {-1, -1}}) {
    std::vector<std::byte> bytes = pc2_by_hand();
    put(bytes, 16, std::int32_t{points});
    put(bytes, 28, std::int32_t{samples});
    expect_error(ErrorKind::input, "at least one of each is needed", [&] { parse_pc2(bytes, "a.pc2"); });
  }
}

TEST(ReadMdd, ZeroOrNegativeCountsAreRefused) {
  for (const auto& [samples, points] : {std::pair{0, 3}, {2, 0}, {-2, 3}, {2, -3}}) {
    std::vector<std::byte> bytes = mdd_by_hand();
    put(bytes, 0, __builtin_bswap32(static_cast<std::uint32_t>(samples)));
    put(bytes, 4, __builtin_bswap32(static_cast<std::uint32_t>(points)));
    expect_error(ErrorKind::input, "at least one of each is needed", [&] { parse_mdd(bytes, "a.mdd"); });
  }
}

TEST(ReadPc2, NumbersThatAreNotFiniteAreRefusedWithFrameAndVertex) {
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    std::vector<std::byte> bytes = pc2_by_hand();
    put(bytes, 32 + 4 * (9 + 3 * 2 + 1), bad);
    expect_error(ErrorKind::input, "a.pc2: frame 1, vertex 2: position is not finite",
                 [&] { parse_pc2(bytes, "a.pc2"); });
  }
}

TEST(ReadMdd, NumbersThatAreNotFiniteAreRefusedWithFrameAndVertex) {
  std::vector<std::byte> bytes = mdd_by_hand();
  put(bytes, 16 + 4 * (9 + 3 * 1), __builtin_bswap32(0x7fc00000U));
  expect_error(ErrorKind::input, "a.mdd: frame 1, vertex 1: position is not finite",
               [&] { parse_mdd(bytes, "a.mdd"); });
}

TEST(ReadPc2, OtherFilesAreRefused) {
  std::vector<std::byte> bytes = pc2_by_hand();
  put(bytes, 12, std::int32_t{2});
  expect_error(ErrorKind::input, "a.pc2: PC2 version 2, expected 1", [&] { parse_pc2(bytes, "a.pc2"); });
  bytes[0] = std::byte{'p'};
  expect_error(ErrorKind::input, "a.pc2: does not begin as a PC2 file", [&] { parse_pc2(bytes, "a.pc2"); });
}

TEST(ReadPc2, MendsTheRateAndLeavesOutExtraBytesWithAWarning) {
  std::vector<std::string> sentences;
  const Warnings warn = [&](std::string_view sentence) { sentences.emplace_back(sentence); };
  std::vector<std::byte> bytes = pc2_by_hand();
  parse_pc2(bytes, "a.pc2", warn);
  EXPECT_TRUE(sentences.empty());
  put(bytes, 24, 0.0F);
  bytes.resize(bytes.size() + 5);
  const PointCache cache = parse_pc2(bytes, "a.pc2", warn);
  EXPECT_THAT(sentences, ::testing::ElementsAre("a.pc2: 5 bytes after the last frame were left out",
                                                "a.pc2: sample rate 0 read as 1"));
  EXPECT_DOUBLE_EQ(cache.times[1], 1.0 / 30);
}

TEST(ReadMdd, MendsTimesThatDoNotIncrease) {
  std::vector<std::string> sentences;
  std::vector<std::byte> bytes = mdd_by_hand();
  put(bytes, 12, std::uint32_t{0});
  const PointCache cache =
      parse_mdd(bytes, "a.mdd", [&](std::string_view sentence) { sentences.emplace_back(sentence); });
  EXPECT_EQ(sentences.size(), 1U);
  EXPECT_DOUBLE_EQ(cache.times[1], 1.0 / 30);
}

TEST(WritePc2, WritesTheDocumentedBytes) {
  const test::TemporaryFolder folder;
  const PointCache cache = parse_pc2(pc2_by_hand(), "a.pc2");
  write_pc2(folder / "b.pc2", cache.frames, cache.times);
  std::vector<std::byte> expected = pc2_by_hand();
  put(expected, 20, 0.0F);  // times start at 0
  EXPECT_EQ(read_file(folder / "b.pc2"), expected);
}

TEST(WriteMdd, WritesTheDocumentedBytes) {
  const test::TemporaryFolder folder;
  const PointCache cache = parse_mdd(mdd_by_hand(), "a.mdd");
  write_mdd(folder / "b.mdd", cache.frames, cache.times);
  EXPECT_EQ(read_file(folder / "b.mdd"), mdd_by_hand());
}

}  // namespace
}  // namespace sinew
