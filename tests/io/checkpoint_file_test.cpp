#include "sinew/io/checkpoint_file.h"

#include "io/alembic/murmur3.h"
#include "support/support.h"

namespace sinew {
namespace {

/// A checkpoint of one number, undamaged, with this header.
std::vector<std::byte> with_header(const std::string& header) {
  std::vector<std::byte> bytes;
  const auto append = [&](const void* from, std::size_t count) {
    const auto* const first = static_cast<const std::byte*>(from);
    bytes.insert(bytes.end(), first, first + count);
  };
  const std::uint64_t size = header.size();
  const double number = 2.5;
  append("SINEWCK1", 8);
  append(&size, sizeof size);
  append(header.data(), header.size());
  append(&number, sizeof number);
  const Digest digest = murmur3(bytes);
  append(&digest, sizeof digest);
  return bytes;
}

std::string header(const std::string& step, const std::string& rows, const std::string& columns) {
  return R"({"options":"ssdr","input":"00","phase":"grow","step":)" + step + R"(,"arrays":[{"name":"a","rows":)" +
         rows + R"(,"columns":)" + columns + R"(,"finished":false}]})";
}

TEST(CheckpointFile, IsReadWhereItsHeaderMakesSense) {
  const ParsedCheckpoint parsed = parse_checkpoint(with_header(header("7", "1", "1")), "a.ck");
  EXPECT_EQ(parsed.state.step, 7);
  EXPECT_EQ(parsed.state.phase, "grow");
  EXPECT_EQ(parsed.state.arrays.at("a")(0, 0), 2.5);
}

TEST(CheckpointFile, CountsThatAreNoCountsAreRefused) {
  for (const std::string count : {"-1", "0.5", "1.0", "true", "\"1\"", "null", "1e84", "18446744073709551616",
                                  "888888888888888888888888888888888888888888888888888888888888882"}) {
    const std::string headers[] = {header(count, "1", "1"), header("7", count, "1"), header("7", "1", count)};
    for (const std::string& text : headers)
      test::expect_error(ErrorKind::input, "makes no sense", [&] { parse_checkpoint(with_header(text), "a.ck"); });
  }
  for (const std::string count : {"2", "4294967296", "18446744073709551615"})
    test::expect_error(ErrorKind::input, "cut short",
                       [&] { parse_checkpoint(with_header(header("7", count, "1")), "a.ck"); });
}

}  // namespace
}  // namespace sinew
