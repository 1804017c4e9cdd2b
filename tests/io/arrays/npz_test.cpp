#include "sinew/io/npz.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstdint>

#include "io/small_sequence.h"
#include "support/support.h"

namespace sinew {
namespace {

using test::bytes_of;
using test::expect_error;
using ::testing::ElementsAre;

/// An array file with the given header text and as many value bytes as stated.
std::string npy(const std::string& header, const std::string& values) {
  return std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(header.size()) + '\0' + header + values;
}

std::string header_of(const std::string& type, const std::string& shape, const std::string& fortran = "False") {
  return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}\n", type, fortran, shape);
}

template <class T>
std::string raw(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T)};
}

TEST(ParseNpy, ReadsEveryTypeAsTheOneAskedFor) {
  EXPECT_THAT(parse_npy<double>(bytes_of(npy(header_of("<f4", "(3,)"), raw<float>({1.5F, -2, 3}))), "a").values,
              ElementsAre(1.5, -2, 3));
  EXPECT_THAT(parse_npy<float>(bytes_of(npy(header_of("<f8", "(2,)"), raw<double>({0.1, 2}))), "a").values,
              ElementsAre(0.1F, 2));
  EXPECT_THAT(parse_npy<std::int64_t>(bytes_of(npy(header_of("<i4", "(2,)"), raw<std::int32_t>({-7, 8}))), "a").values,
              ElementsAre(-7, 8));
  EXPECT_THAT(parse_npy<std::int64_t>(bytes_of(npy(header_of("|u1", "(2,)"), raw<std::uint8_t>({255, 8}))), "a").values,
              ElementsAre(255, 8));
  EXPECT_THAT(parse_npy<float>(bytes_of(npy(header_of("<i8", "()"), raw<std::int64_t>({-9}))), "a").values,
              ElementsAre(-9));
}

TEST(ParseNpy, GivesColumnMajorArraysInRowMajorOrder) {
  const auto array =
      parse_npy<float>(bytes_of(npy(header_of("<f4", "(2, 3)", "True"), raw<float>({1, 4, 2, 5, 3, 6}))), "a");
  EXPECT_THAT(array.shape, ElementsAre(2, 3));
  EXPECT_THAT(array.values, ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(ParseNpy, RefusesShapesThatAreNotWhatTheBytesHold) {
  const auto refused = [](const std::string& text, const std::string& sentence) {
    expect_error(ErrorKind::input, sentence, [&] { parse_npy<float>(bytes_of(text), "a.npy"); });
  };
  const std::string two = raw<float>({1, 2});
  refused(npy(header_of("<f4", "(3,)"), two), "a.npy: 3 values of 4 bytes expected, 8 bytes found");
  refused(npy(header_of("<f4", "(1,)"), two), "1 values of 4 bytes expected, 8 bytes found");
  refused(npy(header_of("<f4", "(4294967296, 4294967296, 4)"), two), "larger than any file");
  refused(npy(header_of("<f4", "(1000000000000, )"), two), "1000000000000 values of 4 bytes expected");
  refused(npy(header_of("<f4", "(0, 5)"), two), "0 values of 4 bytes expected");
  refused(npy(header_of("<f4", "(99999999999999999999999,)"), two), "not understood");
  refused(npy(header_of("<f4", "(-1,)"), two), "not understood");
  refused(npy(header_of(">f4", "(2,)"), two), "values of type '>f4', expected little-endian floats or integers");
  refused(npy(header_of("|O", "(2,)"), two), "values of type '|O'");
  refused(npy("{'descr': '<f4', 'shape': (2,)}", two), "not understood");
  refused(npy("{'descr': '<f4, 'fortran_order': Maybe, 'shape': (2,)}", two), "not understood");
  refused("PK", "does not begin as a NumPy array");
  expect_error(ErrorKind::input, "expected little-endian integers",
               [&] { parse_npy<std::int64_t>(bytes_of(npy(header_of("<f4", "(2,)"), two)), "a"); });
  expect_error(ErrorKind::input, "value 1 is too large", [&] {
    parse_npy<std::int64_t>(bytes_of(npy(header_of("<u8", "(2,)"), raw<std::uint64_t>({1, ~std::uint64_t{0}}))), "a");
  });
}

TEST(ParseNpy, EveryTruncatedPrefixIsRefused) {
  const std::string text = npy(header_of("<f4", "(2, 1)"), raw<float>({1, 2}));
  const auto bytes = bytes_of(text);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    expect_error(ErrorKind::input, "a.npy: ", [&] { parse_npy<float>(cut, "a.npy"); });
  }
}

TEST(ReadNpy, ReadsRealWeightsWhoseRowsSumToOne) {
  SINEW_NEEDS_DATA();
  const auto weights = read_npy<double>(test::data_folder() / "sequences/cheburashka/truth_weights.npy");
  ASSERT_THAT(weights.shape, ElementsAre(6669, 11));
  for (std::size_t v = 0; v < 6669; ++v) {
    double sum = 0;
    for (std::size_t b = 0; b < 11; ++b) sum += weights.values[v * 11 + b];
    ASSERT_NEAR(sum, 1, 1e-5) << v;
  }
}

std::vector<std::byte> small_npz() {
  const test::TemporaryFolder folder;
  write_npz(folder / "a.npz", test::small_sequence());
  return read_file(folder / "a.npz");
}

/// np.savez(frames=np.asfortranarray(np.arange(18.).reshape(2, 3, 3) / 2), faces=np.int16([[2, 0, 1]])), NumPy 1.24.
constexpr const char* kWrittenByNumPy =
    "504b030414000000000000002100c5770b2d10010000100100000a0014006672616d65732e6e7079010010001001000000000000"
    "1001000000000000934e554d5059010076007b276465736372273a20273c6638272c2027666f727472616e5f6f72646572273a20"
    "547275652c20277368617065273a2028322c20332c2033292c207d20202020202020202020202020202020202020202020202020"
    "202020202020202020202020202020202020202020202020202020202020200a0000000000000000000000000000124000000000"
    "0000f83f000000000000184000000000000008400000000000001e40000000000000e03f00000000000014400000000000000040"
    "0000000000001a400000000000000c400000000000002040000000000000f03f0000000000001640000000000000044000000000"
    "00001c4000000000000010400000000000002140504b030414000000000000002100b57391148600000086000000090014006661"
    "6365732e6e70790100100086000000000000008600000000000000934e554d5059010076007b276465736372273a20273c693227"
    "2c2027666f727472616e5f6f72646572273a2046616c73652c20277368617065273a2028312c2033292c207d2020202020202020"
    "20202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020200a02"
    "0000000100504b0102140314000000000000002100c5770b2d10010000100100000a000000000000000000000080010000000066"
    "72616d65732e6e7079504b0102140314000000000000002100b5739114860000008600000009000000000000000000000080014c"
    "01000066616365732e6e7079504b050600000000020002006f0000000d0200000000";

std::vector<std::byte> bytes_of_hex(const std::string& hex) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

TEST(ReadNpz, ReadsWhatNumPyWrites) {
  const Sequence sequence = parse_npz(bytes_of_hex(kWrittenByNumPy), "a.npz");
  ASSERT_EQ(sequence.frame_count(), 2U);
  ASSERT_EQ(sequence.vertex_count(), 3U);
  for (std::size_t i = 0; i < 18; ++i) EXPECT_EQ(sequence.frames.data()[i], static_cast<float>(i) / 2);
  EXPECT_EQ(sequence.rest.positions, Points(sequence.frames[0]));
  EXPECT_THAT(sequence.rest.face_sizes, ElementsAre(3));
  EXPECT_THAT(sequence.rest.corners, ElementsAre(2, 0, 1));
  EXPECT_EQ(sequence.times, uniform_times(2));
}

TEST(WriteNpz, ReadsBackEqual) {
  const test::TemporaryFolder folder;
  const Sequence sequence = test::small_sequence();
  write_npz(folder / "walk.npz", sequence);
  const Sequence back = read_npz(folder / "walk.npz");
  EXPECT_EQ(back.name, "walk");
  EXPECT_EQ(back.rest.positions, sequence.rest.positions);
  EXPECT_EQ(back.rest.face_sizes, sequence.rest.face_sizes);
  EXPECT_EQ(back.rest.corners, sequence.rest.corners);
  EXPECT_EQ(back.frames, sequence.frames);
  EXPECT_EQ(back.times, sequence.times);
}

TEST(WriteNpz, LaysClipsOneAfterAnother) {
  const test::TemporaryFolder folder;
  Sequence sequence = test::small_sequence(4);
  sequence.times = {0, 0.5, 0, 0.25};
  sequence.clips = {{"a", 0, 2}, {"b", 2, 2}};
  write_npz(folder / "a.npz", sequence);
  EXPECT_THAT(read_npz(folder / "a.npz").times, ElementsAre(0, 0.5, 1, 1.25));
}

TEST(WriteNpz, SameSequenceGivesTheSameBytes) {
  EXPECT_EQ(small_npz(), small_npz());
}

TEST(ReadNpz, EveryTruncatedPrefixIsRefused) {
  const std::vector<std::byte> whole = small_npz();
  for (std::size_t size = 0; size < whole.size(); ++size)
    expect_error(ErrorKind::input, "a.npz: ", [&] { parse_npz(test::prefix(whole, size), "a.npz"); });
}

TEST(ReadNpz, EveryFlippedBitIsRefusedOrGivesTheSameArrays) {
  const std::vector<std::byte> whole = small_npz();
  const Sequence sequence = test::small_sequence();
  std::size_t refused = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::vector<std::byte> bytes = whole;
    bytes[i] ^= std::byte{4};
    try {
      const Sequence back = parse_npz(bytes, "a.npz");  // dates, versions and names of optional arrays
      EXPECT_EQ(back.frames, sequence.frames);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      ++refused;
    }
  }
  EXPECT_GT(refused, whole.size() / 2);
}

TEST(ReadNpz, CompressedArchivesAreRefusedWithAHint) {
  std::vector<std::byte> bytes = small_npz();
  for (std::size_t i = 0; i + 12 < bytes.size(); ++i)
    if (bytes[i] == std::byte{'P'} && bytes[i + 1] == std::byte{'K'} && bytes[i + 2] == std::byte{1})
      test::put(bytes, i + 10, std::uint16_t{8});
  expect_error(ErrorKind::input, "compressed or encrypted; expected a plain archive, as np.savez and usdzip write it",
               [&] { parse_npz(bytes, "a.npz"); });
}

TEST(ReadNpz, MissingFramesAreNamed) {
  std::vector<std::byte> bytes = small_npz();
  const std::string name = "frames.npy";
  for (std::size_t i = 0; i + name.size() < bytes.size(); ++i)
    if (std::memcmp(bytes.data() + i, name.data(), name.size()) == 0) bytes[i] = std::byte{'F'};
  expect_error(ErrorKind::input, "a.npz: array 'frames': missing", [&] { parse_npz(bytes, "a.npz"); });
}

}  // namespace
}  // namespace sinew
