// Archives that are wrong in one place each: refused with a sentence that says what was found, never by a crash, a
// signal or a large allocation.
#include <cstring>

#include "alembic_builder.h"
#include "sinew/io/alembic.h"
#include "support/support.h"

namespace sinew {
namespace {

using test::ArchiveBuilder;
using test::Floats;
using test::MeshParts;

using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

void expect_refused(const Bytes& bytes, const std::string& reason) {
  test::expect_error(ErrorKind::input, "input: " + reason, [&] { parse_alembic(bytes, "input"); });
}

/// True when the bytes are read as a valid sequence or refused as bad input; anything else ends the test.
bool is_read_or_refused(std::span<const std::byte> bytes) {
  ReadOptions options;
  options.max_bytes = std::size_t{1} << 20;
  try {
    parse_alembic(bytes, "input", options).check();
    return true;
  } catch (const Error& error) {
    return error.kind() == ErrorKind::input;
  }
}

/// A triangle below a transform in three samples, and where its blocks lie.
struct Small {
  Bytes bytes;
  std::uint64_t root = 0;
  std::uint64_t top = 0;
  std::uint64_t xform = 0;
  std::uint64_t mesh = 0;
  std::uint64_t geometry = 0;  // compound group: P, .faceIndices, .faceCounts, headers
  std::uint64_t points = 0;    // group of samples

  std::uint64_t word(std::uint64_t at) const {
    std::uint64_t value;
    std::memcpy(&value, bytes.data() + at, 8);
    return value;
  }
  std::uint64_t entry(std::uint64_t group, std::uint64_t i) const { return word(group + 8 + 8 * i) & ~ogawa::kDataBit; }
  void put(std::uint64_t at, std::uint64_t value) { std::memcpy(bytes.data() + at, &value, 8); }
  void put_entry(std::uint64_t group, std::uint64_t i, std::uint64_t value) { put(group + 8 + 8 * i, value); }
  void put_byte(std::uint64_t at, unsigned value) { bytes.at(at) = static_cast<std::byte>(value); }
  /// Place of the header of property `name` in a block of headers: of the byte after its length field.
  std::uint64_t find_text(std::string_view text) const {
    const auto found = std::search(bytes.begin(), bytes.end(), std::as_bytes(std::span(text)).begin(),
                                   std::as_bytes(std::span(text)).end());
    EXPECT_NE(found, bytes.end()) << text;
    return static_cast<std::uint64_t>(found - bytes.begin());
  }
};

Small small_archive() {
  const test::TemporaryFolder folder;
  ArchiveBuilder archive(folder / "a.abc");
  archive.sampling(1.0 / 24, {0});
  MeshParts parts{.points = {{0, 0, 0, 1, 0, 0, 0, 1, 0}, {0, 0, 1, 1, 0, 1, 0, 1, 1}, {0, 0, 2, 1, 0, 2, 0, 1, 2}}};
  const auto path = archive.finish({archive.xform(
      "group",
      {.operations = {1 << 4}, .values = {{1, 2, 3}}, .sampling = 0, .children = {archive.mesh("m", parts)}})});
  Small out{read_file(path)};
  out.root = out.word(8);
  out.top = out.entry(out.root, 2);
  out.xform = out.entry(out.top, 1);
  out.mesh = out.entry(out.xform, 1);
  out.geometry = out.entry(out.entry(out.mesh, 0), 0);
  out.points = out.entry(out.geometry, 0);
  return out;
}

TEST(HostileAlembic, TheArchiveThatTheseTestsSpoilIsFine) {
  const Sequence sequence = parse_alembic(small_archive().bytes, "input");
  EXPECT_EQ(sequence.frame_count(), 3U);
  EXPECT_EQ(sequence.frames[2].col(1), Vector3(2, 2, 5));
}

TEST(HostileAlembic, OtherFilesAreToldApart) {
  expect_refused({}, "not an Alembic archive");
  expect_refused(bytes_of("Oga"), "not an Alembic archive");
  expect_refused(bytes_of("POINTCACHE2 and more"), "not an Alembic archive: the file does not start with 'Ogawa'");
  expect_refused(bytes_of("\x89HDF\r\n\x1a\n"), "HDF5 archive; convert it with abcconvert -toOgawa");
  expect_refused(bytes_of("Ogawa\xff"), "cut short: 6 bytes, the header alone has 16");
}

TEST(HostileAlembic, UnfinishedArchivesAndOtherVersionsAreRefused) {
  Small archive = small_archive();
  archive.put_byte(5, 0);
  expect_refused(archive.bytes, "not finished: the program that wrote it did not close the archive");
  archive = small_archive();
  archive.put_byte(7, 2);
  expect_refused(archive.bytes, "Ogawa format version 2, only 1 is known");
}

TEST(HostileAlembic, EveryPrefixOfARealArchiveIsRefused) {
  SINEW_NEEDS_DATA();
  const Bytes whole = read_file(test::data_folder() / "alembic" / "walk.abc");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    try {
      parse_alembic(std::span(whole).first(size), "prefix");
      FAIL() << size << " of " << whole.size() << " bytes were accepted";
    } catch (const Error& error) {
      ASSERT_EQ(error.kind(), ErrorKind::input) << size << " bytes";
    }
  }
}

TEST(HostileAlembic, AnySingleByteMayBeWrong) {
  SINEW_NEEDS_DATA();
  for (const char* file : {"holds.abc", "instanced.abc", "hidden.abc"}) {
    Bytes bytes = read_file(test::data_folder() / "alembic" / file);
    for (std::size_t i = 0; i < bytes.size(); ++i)
      for (const unsigned change : {0x01U, 0x80U, 0xffU}) {
        bytes[i] ^= static_cast<std::byte>(change);
        ASSERT_TRUE(is_read_or_refused(bytes)) << file << ", byte " << i << " changed by " << change;
        bytes[i] ^= static_cast<std::byte>(change);
      }
  }
}

TEST(HostileAlembic, PlacesAndCountsBeyondTheFileAreRefused) {
  Small archive = small_archive();
  const std::uint64_t size = archive.bytes.size();
  archive.put(8, size + 100);
  expect_refused(archive.bytes, "cut short or damaged: the root group should be at byte");
  archive = small_archive();
  archive.put(8, ~std::uint64_t{0});
  expect_refused(archive.bytes, "cut short or damaged: the root group should be at byte");
  archive = small_archive();
  archive.put(archive.root, 7);
  expect_refused(archive.bytes, "group at byte");
  archive = small_archive();
  archive.put(archive.mesh, std::uint64_t{1} << 60);
  expect_refused(archive.bytes, "group at byte");
  archive = small_archive();
  archive.put_entry(archive.xform, 1, size - 4);
  expect_refused(archive.bytes, "group at byte");
  archive = small_archive();
  archive.put_entry(archive.root, 4, (size - 7) | ogawa::kDataBit);
  expect_refused(archive.bytes, "data block at byte");
  archive = small_archive();
  archive.put(archive.entry(archive.root, 4), ~std::uint64_t{0});
  expect_refused(archive.bytes, "data block at byte");
}

TEST(HostileAlembic, GroupsAndDataInEachOthersPlaceAreRefused) {
  Small archive = small_archive();
  archive.put_entry(archive.root, 2, archive.top | ogawa::kDataBit);
  expect_refused(archive.bytes, "data block at byte");
  archive = small_archive();
  archive.put_entry(archive.root, 4, archive.top);
  expect_refused(archive.bytes, "group at byte");
  archive = small_archive();
  archive.put(archive.root, 5);
  expect_refused(archive.bytes, "the root group has 5 entries, an Alembic archive has 6");
}

TEST(HostileAlembic, ObjectsThatContainThemselvesAreRefused) {
  Small archive = small_archive();
  archive.put_entry(archive.xform, 1, archive.xform);
  expect_refused(archive.bytes, "objects are nested more than 256 deep at '/group/m/m/m");
}

TEST(HostileAlembic, CompoundPropertiesThatContainThemselvesAreRefused) {
  Small archive = small_archive();
  const std::uint64_t properties = archive.entry(archive.mesh, 0);
  archive.put_entry(properties, 0, properties);
  expect_refused(archive.bytes, "/group/m: a PolyMesh without P");
}

TEST(HostileAlembic, InstancesThatStandForThemselvesAreRefused) {
  const test::TemporaryFolder folder;
  const auto read = [&](const std::string& first, const std::string& second) {
    ArchiveBuilder archive(folder / "a.abc");
    const auto group = archive.xform("group", {.children = {archive.instance("i", first)}});
    read_alembic(archive.finish({group, archive.instance("j", second)}));
  };
  test::expect_error(ErrorKind::input, "instance '/group/i' stands for itself", [&] { read("/j", "/group/i"); });
  test::expect_error(ErrorKind::input, "nested more than 256 deep", [&] { read("/group", "/group"); });
  test::expect_error(ErrorKind::input, "stands for '/no', which does not exist", [&] { read("/no", "/group"); });
  test::expect_error(ErrorKind::input, "stands for nothing", [&] { read("/", "/group"); });
}

TEST(HostileAlembic, InstancesThatMultiplyWithoutEndAreRefused) {
  const test::TemporaryFolder folder;
  ArchiveBuilder archive(folder / "a.abc");
  // Each level holds the one before it four times: 4^30 meshes.
  std::vector<test::WrittenObject> levels{
      archive.mesh("level0", {.points = {{0, 0, 0, 1, 0, 0, 0, 1, 0}}, .sampling = 0})};
  for (int i = 1; i <= 30; ++i) {
    const std::string below = "/level" + std::to_string(i - 1);
    levels.push_back(archive.xform("level" + std::to_string(i),
                                   {.children = {archive.instance("a", below), archive.instance("b", below),
                                                 archive.instance("c", below), archive.instance("d", below)}}));
  }
  const auto path = archive.finish(levels);
  test::expect_error(ErrorKind::input, "far more often than its size explains", [&] { read_alembic(path); });
}

TEST(HostileAlembic, SharedBlocksAreFine) {
  Small archive = small_archive();
  archive.put_entry(archive.points, 2, archive.word(archive.points + 8));  // sample 1 refers to the block of sample 0
  const Sequence sequence = parse_alembic(archive.bytes, "input");
  EXPECT_EQ(sequence.frames[1], sequence.frames[0]);
}

TEST(HostileAlembic, MoreFramesThanTheLimitAreRefusedBeforeTheyAreAllocated) {
  const test::TemporaryFolder folder;
  ArchiveBuilder archive(folder / "a.abc");
  archive.sampling(1, {0});
  const std::vector<Floats> held(300000, Floats{0, 0, 0, 1, 0, 0, 0, 1, 0});
  const auto path = archive.finish({archive.mesh("m", {.points = held})});
  ASSERT_LT(std::filesystem::file_size(path), 2000U);
  ReadOptions options;
  options.max_bytes = 10000000;
  test::expect_error(ErrorKind::input,
                     "300000 frames of 3 vertices are more than the limit of 10000000 bytes; choose fewer frames",
                     [&] { read_alembic(path, options); });
  options.frame_step = 1000;
  EXPECT_EQ(read_alembic(path, options).frame_count(), 300U);
}

TEST(HostileAlembic, NumbersInHeadersMustBeInRange) {
  // The header of P: four bytes of flags, samples, time sampling, length of the name, the name.
  const std::uint64_t name = small_archive().find_text("P\x62\x1d");
  const auto with = [&](std::uint64_t at, unsigned value) {
    Small archive = small_archive();
    archive.put_byte(at, value);
    return archive.bytes;
  };
  expect_refused(with(name - 2, 9), "/group/m/.geom/P has time sampling 9, there are 2");
  expect_refused(with(name - 3, 5), "/group/m/.geom/P has 6 blocks for 5 stored samples, expected 10");
  expect_refused(with(name - 1, 250), "property headers end too soon");
  expect_refused(with(name - 7, 0xe2), "/group/m/.geom/P has element type 14");
  expect_refused(with(name - 7, 0xae), "a property of '/group/m/.geom' has number width 3");
  expect_refused(with(name - 5, 0x7f), "metadata record");
  expect_refused(with(name - 7, 0xb2), "/group/m/.geom/P: not an array of 3 4-byte elements");
  expect_refused(with(name - 7, 0xa0), "/group/m: a PolyMesh without P");  // a compound, whose name lies elsewhere
  // Bit 9 adds the first and last change: the fields that follow become 3, 1 and the name's length its first letter.
  expect_refused(with(name - 6, 0x33), "property headers end too soon");
}

TEST(HostileAlembic, ChangesOutsideTheSamplesAreRefused) {
  const test::TemporaryFolder folder;
  ArchiveBuilder builder(folder / "a.abc");
  builder.sampling(1, {0});
  const Floats a{0, 0, 0, 1, 0, 0, 0, 1, 0};
  const Floats b{0, 0, 1, 1, 0, 1, 0, 1, 1};
  Small archive{read_file(builder.finish({builder.mesh("m", {.points = {a, a, b, b}})}))};
  const std::uint64_t name = archive.find_text("P\x62\x1d");  // ... samples 4, first 2, last 2, sampling, length, "P"
  parse_alembic(archive.bytes, "input");
  archive.put_byte(name - 4, 3);
  expect_refused(archive.bytes, "/m/.geom/P changes from sample 3 to 2, it has 4 samples");
  archive.put_byte(name - 4, 2);
  archive.put_byte(name - 3, 4);
  expect_refused(archive.bytes, "/m/.geom/P changes from sample 2 to 4, it has 4 samples");
}

TEST(HostileAlembic, TimesMustIncrease) {
  const test::TemporaryFolder folder;
  const auto refuse = [&](double period, const test::Doubles& times, bool acyclic, const std::string& reason) {
    ArchiveBuilder archive(folder / "a.abc");
    archive.sampling(period, times, acyclic);
    const Floats a{0, 0, 0, 1, 0, 0, 0, 1, 0};
    const Floats b{0, 0, 1, 1, 0, 1, 0, 1, 1};
    const auto path = archive.finish({archive.mesh("m", {.points = {a, b, a, b}})});
    test::expect_error(ErrorKind::input, reason, [&] { read_alembic(path); });
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double acyclic = std::numeric_limits<double>::max() / 32;
  refuse(0, {0}, false, "the times of time sampling 1 do not increase");
  refuse(-1, {0}, false, "the times of time sampling 1 do not increase");
  refuse(nan, {0}, false, "the times of time sampling 1 do not increase");
  refuse(1, {nan}, false, "the times of time sampling 1 do not increase");
  refuse(1, {0, 0.5, 1}, false, "the times of time sampling 1 do not increase");
  refuse(acyclic, {0, 1, 1, 2}, true, "the times of time sampling 1 do not increase");
  refuse(acyclic, {0, 1, 2}, true, "/m/.geom/P has 4 samples, its time sampling has 3 times");
}

TEST(HostileAlembic, DamagedSamplesAreFoundByTheirKeys) {
  Small archive = small_archive();
  const std::uint64_t block = archive.entry(archive.points, 2);
  archive.put_byte(block + 8 + 16 + 5, 0x11);
  expect_refused(archive.bytes, "/group/m/.geom/P: sample 1 is damaged, its key does not match");
}

TEST(HostileAlembic, SamplesOfTheWrongSizeAreRefused) {
  Small archive = small_archive();
  archive.put(archive.entry(archive.points, 2), 16 + 35);
  expect_refused(archive.bytes, "/group/m/.geom/P: sample 1 has 51 bytes, expected 16 and a multiple of 12");
  archive = small_archive();
  archive.put(archive.entry(archive.points, 2), 7);
  expect_refused(archive.bytes, "/group/m/.geom/P: sample 1 has 7 bytes, expected 16 and a multiple of 12");
  archive = small_archive();
  archive.put(archive.points, 5);
  expect_refused(archive.bytes, "/group/m/.geom/P has 5 blocks for 3 stored samples, expected 6");
}

/// What a mesh with these parts is refused for.
void expect_mesh_refused(const MeshParts& parts, const std::string& reason) {
  const test::TemporaryFolder folder;
  ArchiveBuilder archive(folder / "a.abc");
  archive.sampling(1, {0});
  const auto path = archive.finish({archive.mesh("m", parts)});
  test::expect_error(ErrorKind::input, reason, [&] { read_alembic(path); });
}

TEST(HostileAlembic, FacesMustFitTheirVertices) {
  const std::vector<Floats> points{{0, 0, 0, 1, 0, 0, 0, 1, 0}};
  expect_mesh_refused({.points = points, .sizes = {{4}}}, "/m: face sizes add up to 4 corners, there are 3");
  expect_mesh_refused({.points = points, .sizes = {{-1, 4}}}, "/m: face 0 has -1 corners");
  expect_mesh_refused({.points = points, .corners = {{0, 1, 3}}}, "/m: corner 2 is vertex 3, there are 3");
  expect_mesh_refused({.points = points, .corners = {{-1, 1, 2}}}, "/m: corner 0 is vertex -1, there are 3");
  expect_mesh_refused({.points = {}}, "all of 1 meshes are hidden or without points");
  expect_mesh_refused({.points = {{}}, .sizes = {{}}, .corners = {{}}}, "no mesh has points");
}

TEST(HostileAlembic, NumbersThatAreNotFiniteAreRefused) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const Floats fine{0, 0, 0, 1, 0, 0, 0, 1, 0};
  expect_mesh_refused({.points = {fine, {0, 0, 0, 1, 0, nan, 0, 1, 0}}},
                      "/m: sample 1, vertex 1: position is not finite");
  expect_mesh_refused({.points = {{0, 0, 0, 1, 0, 0, 0, -infinity, 0}}},
                      "/m: sample 0, vertex 2: position is not finite");

  const test::TemporaryFolder folder;
  ArchiveBuilder archive(folder / "a.abc");
  const auto path =
      archive.finish({archive.xform("x", {.operations = {0},
                                          .values = {{1, std::numeric_limits<double>::infinity(), 1}},
                                          .sampling = 0,
                                          .children = {archive.mesh("m", {.points = {fine}, .sampling = 0})}})});
  test::expect_error(ErrorKind::input, "/x: sample 0 of the transform holds a number that is not finite",
                     [&] { read_alembic(path); });
}

TEST(HostileAlembic, TransformsMustFitTheirOperations) {
  const test::TemporaryFolder folder;
  const auto refuse = [&](std::vector<std::uint8_t> operations, test::Doubles values, const std::string& reason) {
    ArchiveBuilder archive(folder / "a.abc");
    const auto mesh = archive.mesh("m", {.points = {{0, 0, 0, 1, 0, 0, 0, 1, 0}}, .sampling = 0});
    const auto path = archive.finish({archive.xform(
        "x", {.operations = std::move(operations), .values = {std::move(values)}, .sampling = 0, .children = {mesh}})});
    test::expect_error(ErrorKind::input, reason, [&] { read_alembic(path); });
  };
  refuse({0x10, 0x70}, {1, 2, 3}, "/x: unknown transform operation 7");
  refuse({0x10, 0x20}, {1, 2, 3}, "/x: sample 0 of the transform has 3 values, its operations take 7");
}

TEST(HostileAlembic, AttributesMustFitTheMesh) {
  const test::TemporaryFolder folder;
  const auto refuse = [&](const std::function<void(ArchiveBuilder&, MeshParts&)>& spoil, const std::string& reason) {
    ArchiveBuilder archive(folder / "a.abc");
    MeshParts parts{.points = {{0, 0, 0, 1, 0, 0, 0, 1, 0}}, .sampling = 0};
    spoil(archive, parts);
    const auto path = archive.finish({archive.mesh("m", parts)});
    test::expect_error(ErrorKind::input, reason, [&] { read_alembic(path); });
  };
  refuse(
      [](auto& a, auto& m) {
        m.geometry = {a.indexed("uv", "geoScope=fvr", 2, {0, 0, 1, 1}, {0, 1, 2})};
      },
      "/m/.geom/uv: index 2 at corner 2, there are 2 values");
  refuse(
      [](auto& a, auto& m) {
        m.geometry = {a.indexed("N", "geoScope=fvr", 3, {0, 0, 1}, {0, 0})};
      },
      "/m/.geom/N: 2 items, the mesh has 3 corners");
  refuse(
      [](auto& a, auto& m) {
        m.geometry = {a.floats("N", "geoScope=con", 3, {0, 0, NAN})};
      },
      "/m/.geom/N: holds a number that is not finite");
  refuse(
      [](auto& a, auto& m) {
        m.children = {a.face_set("s", {0, 1})};
      },
      "/m/s/.faceset/.faces: face 1, the mesh has 1");
  refuse([](auto& a, auto& m) { m.children = {a.face_set("s", {-1})}; },
         "/m/s/.faceset/.faces: face -1, the mesh has 1");
}

TEST(HostileAlembic, NamesThatAreNotTextAreMadePrintable) {
  const test::TemporaryFolder folder;
  ArchiveBuilder archive(folder / "a.abc");
  const auto path = archive.finish({archive.mesh("a\xff\xc3(b\n\xc3\xa9\xed\xa0\x80",  //
                                                 {.points = {{0, 0, 0, 1, 0, 0, 0, 1, 0}}, .sampling = 0})});
  EXPECT_EQ(read_alembic(path).rest.pieces.at(0).name,
            "a?"
            "?(b?\xc3\xa9???");
}

}  // namespace
}  // namespace sinew
