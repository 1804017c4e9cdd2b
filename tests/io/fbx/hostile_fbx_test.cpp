#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "io/fbx/fbx_builder.h"
#include "io/fbx/fbx_rigs.h"
#include "io/small_sequence.h"
#include "sinew/io/fbx.h"
#include "support/support.h"

namespace sinew {
namespace {

using test::bytes_of;

/// Where the list of records ends: what follows is a footer that holds nothing.
std::size_t end_of_records(const std::vector<std::byte>& bytes) {
  constexpr std::uint8_t kFooter[] = {0xfa, 0xbc, 0xab, 0x09, 0xd0, 0xc8, 0xd4, 0x66};
  const auto footer = std::as_bytes(std::span(kFooter));
  return static_cast<std::size_t>(std::search(bytes.begin(), bytes.end(), footer.begin(), footer.end()) -
                                  bytes.begin());
}

TEST(HostileFbx, EveryPrefixThatIsNotWholeIsRefused) {
  const std::vector<std::byte> bytes = fbx_bytes(test::gltf_case("corrected"));
  const std::size_t end = end_of_records(bytes);
  ASSERT_LT(end, bytes.size());
  for (std::size_t size = 0; size < end; ++size)
    test::expect_error(ErrorKind::input, "FBX: ", [&] { parse_fbx_rig(test::prefix(bytes, size)); });
  EXPECT_EQ(parse_fbx_rig(test::prefix(bytes, end)).frame_count(), 5U);
}

TEST(HostileFbx, NoFlippedByteDoesMoreThanChangeOrRefuse) {
  std::vector<std::byte> bytes = fbx_bytes(test::gltf_case("one_frame"), {.bake_shear = true});
  std::size_t refused = 0;
  ReadOptions options;
  options.max_bytes = std::size_t{1} << 20;  // a changed time can ask for millions of frames
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::byte kept = bytes[i];
    bytes[i] ^= static_cast<std::byte>(1U << (i % 8));
    try {
      parse_fbx_rig(bytes, options).check();
      parse_fbx_sequence(bytes, options).check();
    } catch (const Error& error) {
      EXPECT_EQ(static_cast<int>(error.kind()), static_cast<int>(ErrorKind::input)) << error.what();
      ++refused;
    }
    bytes[i] = kept;
  }
  EXPECT_GT(refused, bytes.size() / 10);
}

/// Text of a file with one quad; `more` goes among the objects.
std::string quad_text(const std::string& more = "", const std::string& vertices = "0,0,0,1,0,0,1,1,0,0,1,0",
                      const std::string& polygons = "0,1,2,-4") {
  return "; FBX 7.4.0 project file\nFBXHeaderExtension:  {\n\tFBXVersion: 7400\n}\nObjects:  {\n"
         "\tGeometry: 1, \"Geometry::quad\", \"Mesh\" {\n\t\tVertices: *12 {\n\t\t\ta: " +
         vertices + "\n\t\t}\n\t\tPolygonVertexIndex: *4 {\n\t\t\ta: " + polygons +
         "\n\t\t}\n\t}\n\tModel: 2, \"Model::quad\", \"Mesh\" {\n\t}\n" + more +
         "}\nConnections:  {\n\tC: \"OO\",2,0\n\tC: \"OO\",1,2\n}\n";
}

void expect_refused(const std::string& text, const std::string& part) {
  test::expect_error(ErrorKind::input, part, [&] { parse_fbx_sequence(bytes_of(text)); });
}

TEST(HostileFbx, TextIsReadAsBinaryIs) {
  const Sequence sequence = parse_fbx_sequence(bytes_of(quad_text()));
  EXPECT_EQ(sequence.vertex_count(), 4U);
  EXPECT_EQ(sequence.rest.face_sizes, std::vector<Index>{4});
  EXPECT_FLOAT_EQ(sequence.rest.positions(0, 1), 0.01F);  // centimetres where nothing is said
}

TEST(HostileFbx, WhatIsWrongIsNamed) {
  expect_refused("no such thing", "is not an FBX file");
  expect_refused("FBX: 3\n", "neither a binary FBX file nor text");
  expect_refused(quad_text("", "0,0,0,1", "0,0,0,-1"), "4 coordinates");
  expect_refused(quad_text("", "0,0,0,1,0,0,1,1,0,0,1,1e99", "0,1,2,-4"), "vertex 3 is not finite");
  expect_refused(quad_text("", "0,0,0,1,0,0,1,1,0,0,1,0", "0,1,2,-9"), "refers to vertex 8, there are 4");
  expect_refused(quad_text("", "0,0,0,1,0,0,1,1,0,0,1,0", "0,1,2,3"), "last polygon of 4 corners does not end");
  expect_refused(quad_text("\tModel: {\n"), "ends inside of");
  std::string old = quad_text();
  old.replace(old.find("7400"), 4, "6100");
  expect_refused(old, "FBX version 6100");
  std::string deep = quad_text();
  for (int i = 0; i < 100; ++i) deep += "A: {\n";
  expect_refused(deep, "more than 64 deep");
}

TEST(HostileFbx, ModelsBelowThemselvesAreRefused) {
  std::string text =
      quad_text("\tModel: 3, \"Model::a\", \"Null\" {\n\t}\n\tModel: 4, \"Model::b\", \"Null\" {\n\t}\n");
  text.insert(text.find("\tC: "), "\tC: \"OO\",3,4\n\tC: \"OO\",4,3\n");
  expect_refused(text, "is below itself");
}

TEST(HostileFbx, FilesWithoutPolygonsSayWhatTheyHave) {
  SINEW_NEEDS_DATA();
  test::expect_error(ErrorKind::input, "no polygon mesh; it has geometry that is not read",
                     [] { read_fbx_sequence(test::data_folder() / "fbx/nurbs.fbx"); });
}

TEST(HostileFbx, InstancesDoNotMultiplyBeyondTheLimit) {
  test::BuiltFile file = test::moving_pair();
  for (int i = 0; i < 100; ++i) {
    file.models.push_back(file.models[1]);
    file.models.back().name = "copy " + std::to_string(i);
  }
  ReadOptions options;
  options.max_bytes = 20000;
  test::expect_error(ErrorKind::input, "its meshes have 1616 vertices",
                     [&] { parse_fbx_sequence(test::build_fbx(file), options); });
}

TEST(HostileFbx, ABoneThatShearsIsRefusedWithWhatToDo) {
  test::expect_error(ErrorKind::output, "--bake-shear", [] { fbx_bytes(test::gltf_case("affine")); });
}

TEST(HostileFbx, TheSameRigGivesTheSameBytes) {
  const Rig rig = test::gltf_case("pieces");
  EXPECT_EQ(fbx_bytes(rig), fbx_bytes(rig));
}

}  // namespace
}  // namespace sinew
