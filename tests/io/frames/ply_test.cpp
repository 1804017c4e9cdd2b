#include "sinew/io/ply.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <tuple>

#include "io/small_sequence.h"
#include "sinew/core/error.h"
#include "sinew/io/io.h"
#include "support/support.h"

namespace sinew {
namespace {

const std::string kHeader =
    "ply\nformat ascii 1.0\ncomment a quad and a triangle\nelement vertex 5\nproperty float x\nproperty float y\n"
    "property double z\nproperty uchar red\nproperty uchar green\nproperty uchar blue\nproperty float nx\n"
    "property float ny\nproperty float nz\nproperty float s\nproperty float t\nelement face 2\n"
    "property list uchar int vertex_indices\nproperty float quality\nend_header\n";
const std::string kBody =
    "0 0 0.5 255 0 0 0 0 2 0 0\n1 0 0 0 255 0 0 0 1 1 0\n1 1 0 0 0 255 0 0 1 1 1\n0 1 0 9 9 9 0 0 1 0 1\n"
    "2 0.5 -1 0 0 0 1 0 0 0.5 0.25\n4 0 1 2 3 0.5\n3 1 4 2 1\n";

using test::bytes_of;

/// The positions and faces of the text above, binary.
std::string binary(std::endian order) {
  std::string out =
      order == std::endian::big ? "ply\r\nformat binary_big_endian 1.0\r\n" : "ply\nformat binary_little_endian 1.0\n";
  out +=
      "element vertex 5\nproperty float x\nproperty float y\nproperty double z\nelement face 2\n"
      "property list uchar ushort vertex_index\nend_header\n";
  const auto put = [&]<class T>(T value) {
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    if (order != std::endian::native) std::reverse(raw, raw + sizeof value);
    out.append(raw, sizeof value);
  };
  for (const auto& [x, y, z] :
       {std::tuple{0.0F, 0.0F, 0.5}, {1.0F, 0.0F, 0.0}, {1.0F, 1.0F, 0.0}, {0.0F, 1.0F, 0.0}, {2.0F, 0.5F, -1.0}}) {
    put(x);
    put(y);
    put(z);
  }
  out += '\x04';
  for (const int v : {0, 1, 2, 3}) put(static_cast<std::uint16_t>(v));
  out += '\x03';
  for (const int v : {1, 4, 2}) put(static_cast<std::uint16_t>(v));
  return out;
}

TEST(ReadPly, KeepsPolygonsNormalsColoursAndUvs) {
  const std::string text = kHeader + kBody;
  const Mesh mesh = parse_ply(bytes_of(text), "a.ply");
  EXPECT_EQ(mesh.face_sizes, (std::vector<Index>{4, 3}));
  EXPECT_EQ(mesh.corners, (std::vector<Index>{0, 1, 2, 3, 1, 4, 2}));
  EXPECT_EQ(mesh.positions.col(4), Vector3(2, 0.5F, -1));
  EXPECT_EQ(mesh.normals.values[2], 1);  // scaled to unit length
  ASSERT_EQ(mesh.uv_sets.size(), 1U);
  EXPECT_EQ(mesh.uv_sets[0].values[9], 0.75F);  // counted from the top of the image
  ASSERT_EQ(mesh.color_sets.size(), 1U);
  EXPECT_EQ(mesh.color_sets[0].values[0], 1);
  EXPECT_EQ(mesh.color_sets[0].values[3], 1);
}

TEST(ReadPly, TextAndBothByteOrdersAreTheSameMesh) {
  const std::string text = kHeader + kBody;
  const Mesh mesh = parse_ply(bytes_of(text), "a.ply");
  for (const std::endian order : {std::endian::little, std::endian::big}) {
    const Mesh other = parse_ply(bytes_of(binary(order)), "b.ply");
    EXPECT_EQ(other.positions, mesh.positions);
    EXPECT_EQ(other.corners, mesh.corners);
    EXPECT_EQ(other.face_sizes, mesh.face_sizes);
  }
}

TEST(ReadPly, EveryTruncatedPrefixIsRefused) {
  const std::string text = kHeader + kBody;
  const std::string whole = binary(std::endian::little);
  for (std::size_t size = 0; size < whole.size(); ++size)
    test::expect_error(ErrorKind::input, "b.ply: ", [&] { parse_ply(bytes_of(whole).first(size), "b.ply"); });
  const std::size_t last = text.size() - 1;  // the last number needs no line end
  for (std::size_t size = 0; size < last; ++size)
    test::expect_error(ErrorKind::input, "a.ply: ", [&] { parse_ply(bytes_of(text).first(size), "a.ply"); });
}

TEST(ReadPly, CountsBeyondTheFileAreRefusedWithoutAllocating) {
  std::string text = kHeader + kBody;
  text.replace(text.find("vertex 5"), 8, "vertex 4000000000");
  test::expect_error(ErrorKind::input, "a.ply: 4000000000 elements of 'vertex'",
                     [&] { parse_ply(bytes_of(text), "a.ply"); });
}

TEST(ReadPly, AFaceThatNamesNoVertexIsRefused) {
  std::string text = kHeader + kBody;
  text.replace(text.find("3 1 4 2 1"), 9, "3 1 5 2 1");
  test::expect_error(ErrorKind::input, "face 1 refers to vertex 5", [&] { parse_ply(bytes_of(text), "a.ply"); });
}

TEST(ReadPly, NumbersTooLargeAreRefusedAndTinyOnesAreNothing) {
  std::string text = kHeader + kBody;
  text.replace(text.find("2 0.5 -1"), 8, "2 1e-999 -1");
  EXPECT_EQ(parse_ply(bytes_of(text), "a.ply").positions(1, 4), 0);
  text.replace(text.find("1e-999"), 6, "-1e999");
  test::expect_error(ErrorKind::input, "a.ply: ", [&] { parse_ply(bytes_of(text), "a.ply"); });
}

TEST(ReadPly, AFolderOfFramesIsASequenceWhoseFirstChangedFrameIsNamed) {
  const test::TemporaryFolder folder;
  const std::string text = kHeader + kBody;
  std::string moved = text;
  moved.replace(moved.find("2 0.5 -1"), 8, "2 0.5 -3");
  test::write_text(folder / "f2.ply", text);
  test::write_text(folder / "f10.ply", moved);
  const Sequence sequence = read_sequence({folder.path()});
  ASSERT_EQ(sequence.frame_count(), 2U);
  EXPECT_EQ(sequence.frames[1].col(4), Vector3(2, 0.5F, -3));
  std::string changed = text;
  changed.replace(changed.find("3 1 4 2 1"), 9, "3 1 4 3 1");
  test::write_text(folder / "f11.ply", changed);
  test::expect_error(ErrorKind::input, "frame 2 (", [&] { read_sequence({folder.path()}); });
  test::expect_error(ErrorKind::input, "face 1 is not that of the rest mesh", [&] { read_sequence({folder.path()}); });
}

}  // namespace
}  // namespace sinew
