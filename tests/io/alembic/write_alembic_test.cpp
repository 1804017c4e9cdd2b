#include <array>
#include <cmath>
#include <map>
#include <set>

#include "io/alembic/archive.h"
#include "io/alembic/murmur3.h"
#include "sinew/io/alembic.h"
#include "sinew/io/output_file.h"
#include "support/support.h"

namespace sinew {
namespace {

/// Two pieces with mixed faces, UVs, further UVs, colours, hard and soft normals and materials; frame 0 is the rest
/// pose, frames 2 and 3 hold, frame 5 returns to frame 1.
Sequence rich_sequence() {
  Sequence s;
  s.name = "rich";
  s.rest.positions.resize(3, 9);
  s.rest.positions << 0, 1, 1, 0, 2, 5, 6, 6, 5,  //
      0, 0, 1, 1, 0.5f, 0, 0, 1, 1,               //
      0, 0.25f, 0, 0, 1, 2, 2, 2, 3;
  s.rest.face_sizes = {4, 3, 3, 4};
  s.rest.corners = {0, 1, 2, 3, 1, 4, 2, 5, 6, 7, 5, 7, 8, 6};
  s.rest.uv_sets.resize(2);
  s.rest.uv_sets[0] = {"map1", {0, 0, 0.5f, 0.125f, 1, 1, 0.25f, 0.75f}, {0, 1, 2, 0, 1, 2, 2, 3, 3, 3, 3, 3, 3, 3}};
  s.rest.uv_sets[1] = {"lightmap", {0.5f, 0.5f}, std::vector<Index>(14, 0)};
  s.rest.color_sets = {{"tint", {1, 0, 0, 1, 0, 0.5f, 0, 1}, {0, 1, 0, 1, 0, 1, 0, 1, 1, 1, 1, 1, 1, 1}}};
  const float r = std::sqrt(0.5f);
  s.rest.normals = {"", {0, 0, 1, r, 0, r, 0, r, r}, {0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2}};
  s.rest.face_materials = {0, 1, 1, -1};
  s.rest.appearance.materials = {{"skin", ""}, {"cloth", ""}};
  s.rest.pieces = {{"body", 0, 5, 0, 2}, {"hat", 5, 4, 2, 2}};
  s.frames = Frames(6, 9);
  for (std::size_t f = 0; f < 6; ++f) {
    const float t = std::array<float, 6>{0, 0.1f, 0.2f, 0.2f, 0.3f, 0.1f}[f];
    s.frames[f] = s.rest.positions;
    s.frames[f].row(1) += t * s.rest.positions.row(0);
    s.frames[f].row(2).head(5) -= t * t * s.rest.positions.row(1).head(5);
    s.times.push_back(alembic::TimeSampling{1.0 / 24, {1.0 / 24}}.time(f));
  }
  s.check();
  return s;
}

template <int N>
void expect_equal(const CornerAttribute<N>& a, const CornerAttribute<N>& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.values, b.values);
  EXPECT_EQ(a.indices, b.indices);
}

void expect_equal(const Sequence& a, const Sequence& b) {
  EXPECT_EQ(a.rest.positions, b.rest.positions);
  EXPECT_EQ(a.rest.face_sizes, b.rest.face_sizes);
  EXPECT_EQ(a.rest.corners, b.rest.corners);
  ASSERT_EQ(a.rest.uv_sets.size(), b.rest.uv_sets.size());
  for (std::size_t i = 0; i < a.rest.uv_sets.size(); ++i) expect_equal(a.rest.uv_sets[i], b.rest.uv_sets[i]);
  ASSERT_EQ(a.rest.color_sets.size(), b.rest.color_sets.size());
  for (std::size_t i = 0; i < a.rest.color_sets.size(); ++i) expect_equal(a.rest.color_sets[i], b.rest.color_sets[i]);
  expect_equal(a.rest.normals, b.rest.normals);
  EXPECT_EQ(a.rest.face_materials, b.rest.face_materials);
  ASSERT_EQ(a.rest.appearance.materials.size(), b.rest.appearance.materials.size());
  for (std::size_t i = 0; i < a.rest.appearance.materials.size(); ++i)
    EXPECT_EQ(a.rest.appearance.materials[i].name, b.rest.appearance.materials[i].name);
  ASSERT_EQ(a.rest.pieces.size(), b.rest.pieces.size());
  for (std::size_t i = 0; i < a.rest.pieces.size(); ++i) {
    EXPECT_EQ(a.rest.pieces[i].name, b.rest.pieces[i].name);
    EXPECT_EQ(a.rest.pieces[i].first_vertex, b.rest.pieces[i].first_vertex);
    EXPECT_EQ(a.rest.pieces[i].faces, b.rest.pieces[i].faces);
  }
  EXPECT_EQ(a.frames, b.frames);
  EXPECT_EQ(a.times, b.times);
}

TEST(WriteAlembic, WhatIsWrittenIsReadBackExactly) {
  const test::TemporaryFolder folder;
  const Sequence sequence = rich_sequence();
  write_alembic(folder / "a.abc", sequence);
  expect_equal(read_alembic(folder / "a.abc"), sequence);
}

TEST(WriteAlembic, ARestPoseThatIsNoFrameIsReadBackExactly) {
  const test::TemporaryFolder folder;
  Sequence sequence = rich_sequence();
  sequence.rest.positions.row(0) *= 1.5f;
  sequence.rest.positions.row(2) += 0.25f * sequence.rest.positions.row(1);
  write_alembic(folder / "a.abc", sequence);
  expect_equal(read_alembic(folder / "a.abc"), sequence);
  ReadOptions options;
  options.rest = "4";
  EXPECT_EQ(read_alembic(folder / "a.abc", options).rest.positions, Points(sequence.frames[4]));
}

TEST(WriteAlembic, TheSameSequenceGivesTheSameBytes) {
  const test::TemporaryFolder folder;
  write_alembic(folder / "a.abc", rich_sequence());
  write_alembic(folder / "b.abc", rich_sequence());
  EXPECT_EQ(read_file(folder / "a.abc"), read_file(folder / "b.abc"));
}

TEST(WriteAlembic, NormalsFollowTheMotion) {
  const test::TemporaryFolder folder;
  Sequence sequence = rich_sequence();
  // Everything turns by a quarter about x; so must the normals.
  for (std::size_t f = 1; f < 6; ++f) {
    sequence.frames[f].row(0) = sequence.rest.positions.row(0);
    sequence.frames[f].row(1) = -sequence.rest.positions.row(2);
    sequence.frames[f].row(2) = sequence.rest.positions.row(1);
  }
  write_alembic(folder / "a.abc", sequence);
  ReadOptions options;
  options.rest = "3";
  const CornerAttribute<3> posed = read_alembic(folder / "a.abc", options).rest.normals;
  for (std::size_t c = 0; c < posed.indices.size(); ++c) {
    const float* before = sequence.rest.normals.values.data() + 3 * sequence.rest.normals.indices[c];
    const float* now = posed.values.data() + 3 * posed.indices[c];
    EXPECT_NEAR(now[0], before[0], 2e-7) << "corner " << c;
    EXPECT_NEAR(now[1], -before[2], 2e-7) << "corner " << c;
    EXPECT_NEAR(now[2], before[1], 2e-7) << "corner " << c;
  }
}

TEST(WriteAlembic, TimesOfAConstantRateAreStoredAsOneAndOthersOneByOne) {
  const test::TemporaryFolder folder;
  const auto sampling = [&](const std::vector<double>& times) {
    Sequence sequence = rich_sequence();
    sequence.times = times;
    write_alembic(folder / "a.abc", sequence);
    return alembic::Archive(ogawa::Source(folder / "a.abc")).samplings().at(1);
  };
  // As floats in seconds, the way a GLB keeps them.
  std::vector<double> rounded;
  for (int f = 0; f < 6; ++f) rounded.push_back(static_cast<float>(2.0 + f / 30.0));
  EXPECT_EQ(sampling(rounded).times.size(), 1U);
  EXPECT_EQ(sampling(rounded).period, 1.0 / 30);
  const std::vector<double> uneven{0, 0.1, 0.25, 0.3, 0.5, 0.9};
  EXPECT_TRUE(sampling(uneven).acyclic);
  EXPECT_EQ(read_alembic(folder / "a.abc").times, uneven);
}

TEST(WriteAlembic, ClipsLieOneAfterAnother) {
  const test::TemporaryFolder folder;
  Sequence sequence = rich_sequence();
  sequence.times = {0, 0.5, 1.0, 0, 0.5, 1.0};
  sequence.clips = {{"walk", 0, 3}, {"run", 3, 3}};
  write_alembic(folder / "a.abc", sequence);
  EXPECT_EQ(read_alembic(folder / "a.abc").times, (std::vector<double>{0, 0.5, 1, 1.5, 2, 2.5}));
}

TEST(WriteAlembic, AFolderThatIsNotThereIsAnErrorThatNamesTheFile) {
  test::expect_error(ErrorKind::output, "/nowhere/a.abc: cannot be written",
                     [] { write_alembic("/nowhere/a.abc", rich_sequence()); });
}

TEST(Murmur3, GivesThePublishedDigests) {
  const auto digest = [](std::string_view text) { return murmur3(std::as_bytes(std::span(text))); };
  EXPECT_EQ(digest(""), (Digest{0, 0}));
  EXPECT_EQ(digest("The quick brown fox jumps over the lazy dog"), (Digest{0xe34bbc7bbc071b6c, 0x7a433ca9c49a9347}));
}

/// A second, plain reading of the container that knows nothing of ours: every block with its place and size.
class Walk {
 public:
  explicit Walk(const std::vector<std::byte>& bytes) : bytes_(bytes) {}

  std::uint64_t word(std::uint64_t at) const {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < 8; ++i) value |= std::to_integer<std::uint64_t>(bytes_.at(at + i)) << (8 * i);
    return value;
  }
  std::vector<std::uint64_t> group(std::uint64_t at) {
    std::vector<std::uint64_t> entries;
    if (at == 0) return entries;
    blocks_[at] = 8 + 8 * word(at);
    for (std::uint64_t i = 0; i < word(at); ++i) entries.push_back(word(at + 8 + 8 * i));
    return entries;
  }
  std::vector<std::byte> data(std::uint64_t entry) {
    EXPECT_NE(entry >> 63, 0U) << "a group where data belongs";
    const std::uint64_t at = entry & ~(std::uint64_t{1} << 63);
    if (at == 0) return {};
    blocks_[at] = 8 + word(at);
    const auto first = bytes_.begin() + static_cast<std::ptrdiff_t>(at) + 8;
    return {first, first + static_cast<std::ptrdiff_t>(word(at))};
  }
  const std::map<std::uint64_t, std::uint64_t>& blocks() const { return blocks_; }

 private:
  const std::vector<std::byte>& bytes_;
  std::map<std::uint64_t, std::uint64_t> blocks_;  // size by place
};

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Follows every property and object of an archive; counts samples and checks their keys.
class Audit {
 public:
  explicit Audit(Walk& walk) : walk_(walk) {}

  void object(std::uint64_t group, int depth) {
    const std::vector<std::uint64_t> entries = walk_.group(group);
    ASSERT_GE(entries.size(), 2U);
    EXPECT_EQ(entries[0] >> 63, 0U);
    if (entries[0] != 0) compound(entries[0]);
    const std::vector<std::byte> headers = walk_.data(entries.back());
    ASSERT_GE(headers.size(), 32U);
    std::size_t at = 0;
    std::size_t children = 0;
    while (at < headers.size() - 32) {
      const auto length = std::to_integer<std::size_t>(headers[at]);  // names here are short
      for (std::size_t k = 1; k < 4; ++k) EXPECT_EQ(headers[at + k], std::byte{0});
      names_.push_back(std::string(static_cast<std::size_t>(2 * depth), ' ') +
                       text_of({headers.begin() + static_cast<std::ptrdiff_t>(at + 4),
                                headers.begin() + static_cast<std::ptrdiff_t>(at + 4 + length)}));
      at += 4 + length + 1;
      ASSERT_LT(++children + 1, entries.size());
      object(entries[children], depth + 1);
    }
    EXPECT_EQ(at, headers.size() - 32);
    EXPECT_EQ(children + 2, entries.size());
  }

  void compound(std::uint64_t group) {
    const std::vector<std::uint64_t> entries = walk_.group(group);
    ASSERT_GE(entries.size(), 2U);
    const std::vector<std::byte> headers = walk_.data(entries.back());
    std::size_t at = 0;
    const auto field = [&](std::size_t width) {
      std::uint64_t value = 0;
      for (std::size_t k = 0; k < width; ++k) value |= std::to_integer<std::uint64_t>(headers.at(at + k)) << (8 * k);
      at += width;
      return value;
    };
    for (std::size_t i = 0; i + 1 < entries.size(); ++i) {
      const std::uint64_t bits = field(4);
      ASSERT_EQ(bits >> 2 & 3, 0U) << "numbers here fit one byte";
      std::uint64_t slots = 0;
      if ((bits & 3) != 0) {
        const std::uint64_t samples = field(1);
        std::uint64_t first = 1;
        std::uint64_t last = samples - 1;
        if ((bits >> 9 & 1) != 0) {
          first = field(1);
          last = field(1);
          EXPECT_TRUE(first != 1 || last != samples - 1);
        }
        slots = (bits >> 11 & 1) != 0 ? 1 : last - first + 2;
        if ((bits >> 8 & 1) != 0) {
          EXPECT_EQ(field(1), 1U);
        }
      }
      const std::uint64_t length = field(1);
      at += length;
      if ((bits & 3) != 0) samples(entries[i], slots, (bits & 3) == 2);
      if ((bits & 3) == 0 && entries[i] != 0) compound(entries[i]);
    }
    EXPECT_EQ(at, headers.size());
  }

  void samples(std::uint64_t group, std::uint64_t slots, bool array) {
    const std::vector<std::uint64_t> entries = walk_.group(group);
    ASSERT_EQ(entries.size(), slots * (array ? 2 : 1));
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (array && i % 2 == 1) {
        EXPECT_EQ(entries[i], std::uint64_t{1} << 63) << "dimensions";
        continue;
      }
      const std::vector<std::byte> sample = walk_.data(entries[i]);
      ASSERT_GT(sample.size(), 16U);
      const Digest key = murmur3(std::span(sample).subspan(16));
      Digest stored;
      std::memcpy(&stored, sample.data(), 16);
      EXPECT_EQ(stored, key) << "sample at " << entries[i];
      contents_.insert(text_of(sample).substr(16));
      places_.insert(entries[i]);
    }
  }

  const std::vector<std::string>& names() const { return names_; }
  std::size_t distinct_contents() const { return contents_.size(); }
  std::size_t distinct_places() const { return places_.size(); }

 private:
  Walk& walk_;
  std::vector<std::string> names_;
  std::set<std::string> contents_;
  std::set<std::uint64_t> places_;
};

TEST(WriteAlembic, EveryBlockIsReferredToAndEverySampleHasItsKeyAndIsStoredOnce) {
  const test::TemporaryFolder folder;
  write_alembic(folder / "a.abc", rich_sequence());
  const std::vector<std::byte> bytes = read_file(folder / "a.abc");
  EXPECT_EQ(text_of({bytes.begin(), bytes.begin() + 8}), std::string("Ogawa\xff\0\1", 8));
  Walk walk(bytes);
  const std::vector<std::uint64_t> root = walk.group(walk.word(8));
  ASSERT_EQ(root.size(), 6U);
  EXPECT_EQ(text_of(walk.data(root[0])), std::string(4, '\0'));
  EXPECT_EQ(text_of(walk.data(root[1])), std::string("\x38\x2a\0\0", 4));  // 10808
  EXPECT_EQ(text_of(walk.data(root[3])), "_ai_Application=sinew;_ai_Description=rich");
  EXPECT_EQ(walk.data(root[4]).size(), 2U * (4 + 8 + 4 + 8));
  walk.data(root[5]);
  Audit audit(walk);
  audit.object(root[2], 0);
  EXPECT_EQ(audit.names(),
            (std::vector<std::string>{"body", "  body", "    skin", "    cloth", "hat", "  hat", "    cloth"}));
  EXPECT_EQ(audit.distinct_places(), audit.distinct_contents());

  std::uint64_t next = 16;
  for (const auto& [place, size] : walk.blocks()) {
    EXPECT_EQ(place, next) << "a gap or an overlap";
    next = place + size;
  }
  EXPECT_EQ(next, bytes.size());
}

TEST(WriteAlembic, PropertyHeadersAndMetadataAreThoseOfTheReferenceLibrary) {
  SINEW_NEEDS_DATA();
  const test::TemporaryFolder folder;
  const std::filesystem::path theirs = test::data_folder() / "alembic" / "horse.abc";
  write_alembic(folder / "a.abc", read_alembic(theirs));
  struct Blocks {
    std::vector<std::byte> times;
    std::vector<std::byte> metadata;
    std::vector<std::byte> headers;   // of the mesh's geometry
    std::vector<std::byte> entrance;  // of the mesh
  };
  const auto blocks = [](const std::filesystem::path& path) {
    const std::vector<std::byte> bytes = read_file(path);
    Walk walk(bytes);
    const auto root = walk.group(walk.word(8));
    const auto xform = walk.group(walk.group(root[2])[1]);
    const auto mesh = walk.group(xform[1]);
    const auto properties = walk.group(mesh[0]);
    const auto geometry = walk.group(properties[0]);
    return Blocks{walk.data(root[4]), walk.data(root[5]), walk.data(geometry.back()), walk.data(properties.back())};
  };
  const Blocks a = blocks(folder / "a.abc");
  const Blocks b = blocks(theirs);
  EXPECT_EQ(a.times, b.times);
  EXPECT_EQ(a.metadata, b.metadata);
  EXPECT_EQ(a.headers, b.headers);
  EXPECT_EQ(a.entrance, b.entrance);
}

}  // namespace
}  // namespace sinew
