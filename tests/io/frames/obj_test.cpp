#include "sinew/io/obj.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "io/small_sequence.h"
#include "support/support.h"

namespace sinew {
namespace {

using test::bytes_of;
using test::expect_error;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Pointwise;

Mesh parse(const std::string& text) {
  return parse_obj(bytes_of(text), "a.obj");
}

void expect_refused(const std::string& text, const std::string& sentence) {
  expect_error(ErrorKind::input, sentence, [&] { parse(text); });
}

const std::string kFour = "v 1 2 3\nv 4 5 6\nv 7 8 9.5\nv -1 0 2\n";

TEST(ParseObj, ReadsPolygonsInOrder) {
  const Mesh mesh = parse(kFour + "f 1 2 3\nf 4 3 2 1\n");
  EXPECT_EQ(mesh.vertex_count(), 4U);
  EXPECT_EQ(mesh.positions(2, 2), 9.5F);
  EXPECT_THAT(mesh.face_sizes, ElementsAre(3, 4));
  EXPECT_THAT(mesh.corners, ElementsAre(0, 1, 2, 3, 2, 1, 0));
  EXPECT_TRUE(mesh.uv_sets.empty());
  EXPECT_TRUE(mesh.pieces.empty());
}

TEST(ParseObj, LineEndsOfEveryKindCommentsAndContinuationsDoNotMatter) {
  const std::string unix_text =
      "# made by hand\nv 1 2 3\nv 4 5 6 # here too\nv 7 8 9.5\nv -1 0 2\n\nf 1 2 \\\n 3\nf 4 3 2 1";
  std::string dos = unix_text;
  for (std::size_t at = 0; (at = dos.find('\n', at)) != std::string::npos; at += 2) dos.replace(at, 1, "\r\n");
  std::string mac = unix_text;
  for (char& c : mac)
    if (c == '\n') c = '\r';
  for (const std::string& text : {unix_text, dos, mac, "  \t" + unix_text + " \n"}) {
    const Mesh mesh = parse(text);
    EXPECT_EQ(mesh.vertex_count(), 4U);
    EXPECT_THAT(mesh.corners, ElementsAre(0, 1, 2, 3, 2, 1, 0)) << text;
  }
}

TEST(ParseObj, NegativeIndicesCountFromWhatWasReadSoFar) {
  const Mesh mesh = parse("v 0 0 1\nv 0 0 2\nv 0 0 3\nf -1 -2 -3\nv 0 0 4\nf -4 -1 2\n");
  EXPECT_THAT(mesh.corners, ElementsAre(2, 1, 0, 0, 3, 1));
}

TEST(ParseObj, NegativeIndicesOfUvsAndNormalsCountTheirOwnLines) {
  const Mesh mesh = parse(kFour + "vt 0 0\nvt 0.25 0.5\nvn 0 0 2\nvn 1 0 0\nvn 0 1 0\nf 1/-1/-3 2/-2/-2 3/1/3\n");
  EXPECT_THAT(mesh.uv_sets.at(0).indices, ElementsAre(1, 0, 0));
  EXPECT_THAT(mesh.normals.indices, ElementsAre(0, 1, 2));
  EXPECT_THAT(mesh.normals.values, ElementsAre(0, 0, 1, 1, 0, 0, 0, 1, 0)) << "normals have unit length";
}

TEST(ParseObj, FlipsTheVAxisOfUvs) {
  const Mesh mesh = parse(kFour + "vt 0.25 0.125 7\nvt 0.5\nf 1/1 2/2 3/1\n");
  EXPECT_THAT(mesh.uv_sets.at(0).values, ElementsAre(0.25F, 0.875F, 0.5F, 1));
}

TEST(ParseObj, CornersWithoutUvGetTheOriginAndCornersWithoutNormalDropThem) {
  const Mesh mesh = parse(kFour + "vt 0.25 0.125\nvn 0 0 1\nf 1/1/1 2//1 3\n");
  EXPECT_THAT(mesh.uv_sets.at(0).indices, ElementsAre(0, 1, 1));
  EXPECT_TRUE(mesh.normals.empty());
}

TEST(ParseObj, FourthNumberIsIgnoredAndSixAreAPositionAndAColour) {
  const Mesh weighted = parse("v 1 2 3 0.5\nv 4 5 6 1\nv 7 8 9 2\nf 1 2 3\n");
  EXPECT_EQ(weighted.positions(0, 0), 1);
  EXPECT_TRUE(weighted.color_sets.empty());
  const Mesh colored = parse("v 1 2 3\nv 4 5 6 1 0 0.5\nv 7 8 9\nf 3 1 2\n");
  const CornerAttribute<4>& colors = colored.color_sets.at(0);
  EXPECT_THAT(colors.indices, ElementsAre(2, 0, 1));
  EXPECT_THAT(colors.values, Pointwise(FloatNear(1e-5F),
                                       {1.0F, 1.0F, 1.0F, 1.0F, 1.0F, 0.0F, 0.214041F, 1.0F, 1.0F, 1.0F, 1.0F, 1.0F}));
}

TEST(ParseObj, MaterialsAreNumberedInTheOrderOfFirstUse) {
  const Mesh mesh =
      parse(kFour + "f 1 2 3\nusemtl  red brick \nf 1 2 4\nusemtl b\nf 4 2 1\nusemtl red brick\nf 1 3 4\n");
  ASSERT_EQ(mesh.appearance.materials.size(), 2U);
  EXPECT_EQ(mesh.appearance.materials[0].name, "red brick");
  EXPECT_THAT(mesh.face_materials, ElementsAre(-1, 0, 1, 0));
}

TEST(ParseObj, ObjectsWithVerticesOfTheirOwnBecomePieces) {
  const Mesh mesh =
      parse("o a\nv 0 0 1\nv 0 0 2\nv 0 0 3\nf 1 2 3\no b c\nv 9 9 9\nv 0 0 4\nv 0 0 5\nv 0 0 6\nf 7 6 5\nf 5 6 7\n");
  ASSERT_EQ(mesh.pieces.size(), 2U);
  EXPECT_EQ(mesh.pieces[0].name, "a");
  EXPECT_EQ(mesh.pieces[0].vertices, 3U);
  EXPECT_EQ(mesh.pieces[1].name, "b c");
  EXPECT_EQ(mesh.pieces[1].first_vertex, 3U) << "an unused vertex belongs to the object it is written in";
  EXPECT_EQ(mesh.pieces[1].vertices, 4U);
  EXPECT_EQ(mesh.pieces[1].first_face, 1U);
  EXPECT_EQ(mesh.pieces[1].faces, 2U);
}

TEST(ParseObj, GroupsBecomePiecesWhenAllVerticesComeFirst) {
  const Mesh mesh =
      parse("g default\nv 0 0 1\nv 0 0 2\nv 0 0 3\nv 0 0 4\nv 0 0 5\nv 0 0 6\ng a\nf 1 2 3\ng b\nf 4 6 5\n");
  ASSERT_EQ(mesh.pieces.size(), 2U);
  EXPECT_EQ(mesh.pieces[0].name, "a");
  EXPECT_EQ(mesh.pieces[1].first_vertex, 3U);
}

TEST(ParseObj, GroupsThatShareVerticesAreNotPieces) {
  EXPECT_TRUE(parse(kFour + "g a\nf 1 2 3\ng b\nf 4 3 2\n").pieces.empty());
  EXPECT_TRUE(parse(kFour + "v 1 1 1\nv 2 2 2\ng b\nf 4 5 6\ng a\nf 1 2 3\n").pieces.empty());
}

TEST(ParseObj, ReadsNumbersAsTheNearestFloat) {
  const Mesh mesh = parse("v 0.1 +2.5e-3 -.5\nv 1e-60 1E-400 16777217\nv 3.4028235e38 1e-45 -0\nf 1 2 3\n");
  EXPECT_EQ(mesh.positions(0, 0), 0.1F);
  EXPECT_EQ(mesh.positions(1, 0), 2.5e-3F);
  EXPECT_EQ(mesh.positions(2, 0), -0.5F);
  EXPECT_EQ(mesh.positions(0, 1), 0);
  EXPECT_EQ(mesh.positions(1, 1), 0);
  EXPECT_EQ(mesh.positions(2, 1), 16777216);
  EXPECT_EQ(mesh.positions(0, 2), 3.4028235e38F);
  EXPECT_EQ(mesh.positions(1, 2), 1e-45F);
}

TEST(ParseObj, SkipsWhatItDoesNotKnow) {
  const Mesh mesh =
      parse("mtllib a b.mtl\nvp 1 2\n" + kFour + "s off\nl 1 2\np 3\ncurv 0 1 1 2\nfoo\nv\\\n 1 1 1\nf 1 2 3\n");
  EXPECT_EQ(mesh.vertex_count(), 5U);
  EXPECT_EQ(mesh.face_count(), 1U);
}

TEST(ParseObj, RefusesWithTheLineWhatCannotBeRead) {
  expect_refused("v 1 2 3\nv 4 5\n", "a.obj: line 2: vertex 1 has 2 numbers, three are needed");
  expect_refused("v 1 2 3\r\n\r\nv 4 5 x\r\n", "line 3: a v line has something that is not a number");
  expect_refused("v 1 2 3,5\n", "line 1: a v line has something that is not a number");
  expect_refused(kFour + "f 1 2\n", "line 5: face 0 has 2 corners, at least 3 are needed");
  expect_refused(kFour + "f 1 2 3\nf 1 0 2\n", "line 6: face 1 has an index that is not valid");
  expect_refused(kFour + "f 1 2 -5\n", "face 0 refers to -5, there are 4");
  expect_refused(kFour + "f 1 2 3\nf 1 2 5\n", "a.obj: face 1 refers to vertex 5, there are 4 vertices");
  expect_refused(kFour + "f 1 2 99999999999999999999\n", "not valid");
  expect_refused(kFour + "f 1 2 4294967297\n", "face 0 refers to 4294967297");
  expect_refused(kFour + "f 1/1 2/1 3/1\n", "UV set");
  expect_refused(kFour + "vt 0 0\nf 1/1 2/ 3/1\n", "not valid");
  expect_refused(kFour + "f 1 2 3x\n", "not valid");
  expect_refused("vt x\n", "line 1: a vt line has something that is not a number");
  expect_refused("vn 1 2\n", "line 1: a vn line needs three numbers");
  expect_refused("", "a.obj: no vertices");
  expect_refused("hello\n", "a.obj: no vertices");
}

TEST(ParseObj, RefusesPositionsThatAreNotFinite) {
  for (const char* number : {"nan", "inf", "-inf", "1e39", "1e999", "-NaN"})
    expect_refused(fmt::format("v 1 2 3\nv 4 {} 5\n", number), "line 2: position of vertex 1 is not finite");
}

TEST(ParseObj, EveryTruncatedPrefixIsRefusedOrGivesAValidMesh) {
  const std::string text = format_obj(test::small_mesh());
  const auto bytes = bytes_of(text);
  const std::vector<std::byte> whole(bytes.begin(), bytes.end());
  std::size_t refused = 0;
  for (std::size_t size = 0; size < whole.size(); ++size) try {
      parse_obj(test::prefix(whole, size), "a.obj").check();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      ++refused;
    }
  EXPECT_GT(refused, whole.size() / 8);
}

TEST(ParseObjFrame, EveryTruncatedPrefixOfAFrameIsRefused) {
  const Mesh rest = test::small_mesh();
  const std::string text = format_obj(rest);
  const auto bytes = bytes_of(text);
  const std::vector<std::byte> whole(bytes.begin(), bytes.end());
  ASSERT_EQ(parse_obj_frame(whole, "f", rest), rest.positions);
  // The last index, "/1", and the line end after it do not touch positions or faces.
  const std::size_t last_corner = text.rfind(' ') + 2;
  for (std::size_t size = 0; size < last_corner; ++size)
    EXPECT_THROW(parse_obj_frame(test::prefix(whole, size), "f", rest), Error) << size;
}

TEST(ParseObjFrame, NamesBothCountsOrTheFirstFaceThatDiffers) {
  const Mesh rest = parse(kFour + "f 1 2 3\nf 2 3 4\n");
  const auto refused = [&](const std::string& text, const std::string& sentence) {
    expect_error(ErrorKind::input, sentence, [&] { parse_obj_frame(bytes_of(text), "frame 7", rest); });
  };
  refused("v 1 2 3\nf 1 1 1\n", "frame 7: 1 vertices, the rest mesh has 4");
  refused(kFour + "f 1 2 3\n", "frame 7: 1 faces, the rest mesh has 2");
  refused(kFour + "f 1 2 3\nf 2 4 3\n", "frame 7: face 1 is not that of the rest mesh");
  refused(kFour + "f 1 2 3 4\nf 2 3 4\n", "frame 7: face 0 is not that of the rest mesh");
  refused(kFour + "f 1 2 3\nf 2 3 4\nf 1 2 3\n", "frame 7: 3 faces, the rest mesh has 2");
  EXPECT_EQ(
      parse_obj_frame(bytes_of("v 9 9 9\nv 4 5 6\nv 1 1 1\nv 0 0 0\nf 1/5 2/5 3/5\nf -3 -2 -1\n"), "f", rest)(0, 0), 9);
}

TEST(FormatObj, ReadsBackEqual) {
  const Mesh mesh = test::small_mesh();
  const Mesh back = parse(format_obj(mesh));
  EXPECT_EQ(back.positions, mesh.positions);
  EXPECT_EQ(back.face_sizes, mesh.face_sizes);
  EXPECT_EQ(back.corners, mesh.corners);
  EXPECT_EQ(back.uv_sets.at(0).values, mesh.uv_sets[0].values);
  EXPECT_EQ(back.uv_sets.at(0).indices, mesh.uv_sets[0].indices);
  EXPECT_THAT(back.normals.values, Pointwise(FloatNear(1e-7F), mesh.normals.values));
  EXPECT_EQ(back.normals.indices, mesh.normals.indices);
  EXPECT_THAT(back.color_sets.at(0).values, Pointwise(FloatNear(1e-6F), mesh.color_sets[0].values));
  EXPECT_EQ(back.color_sets.at(0).indices, mesh.corners);
  EXPECT_THAT(back.face_materials, ElementsAre(0, -1, 1)) << "materials are numbered by first use";
  EXPECT_EQ(back.appearance.materials.at(0).name, "blue shirt");
  EXPECT_EQ(back.appearance.materials.at(1).name, "skin");
  ASSERT_EQ(back.pieces.size(), 2U);
  EXPECT_EQ(back.pieces[1].name, "left arm");
  EXPECT_EQ(back.pieces[1].first_vertex, 4U);
}

TEST(FormatObj, NamesCannotBreakLines) {
  Mesh mesh = test::small_mesh();
  mesh.appearance.materials[0].name = "a\nv 1 2 3\\";
  mesh.appearance.materials[1].name = "";
  const Mesh back = parse(format_obj(mesh));
  EXPECT_EQ(back.vertex_count(), mesh.vertex_count());
  EXPECT_EQ(back.appearance.materials.at(0).name, "material1");
  EXPECT_EQ(back.appearance.materials.at(1).name, "a_v 1 2 3_");
}

TEST(NaturalLess, ComparesRunsOfDigitsAsNumbers) {
  EXPECT_TRUE(natural_less("frame2", "frame10"));
  EXPECT_FALSE(natural_less("frame10", "frame2"));
  EXPECT_TRUE(natural_less("a2b10", "a2b11"));
  EXPECT_TRUE(natural_less("a002", "a3"));
  EXPECT_TRUE(natural_less("a", "a1"));
  EXPECT_TRUE(natural_less("a2", "b1"));
  EXPECT_TRUE(natural_less("f99999999999999999999998", "f99999999999999999999999"));
  EXPECT_FALSE(natural_less("a1", "a1"));
  EXPECT_NE(natural_less("a01", "a1"), natural_less("a1", "a01")) << "a strict order, also of equal numbers";
}

}  // namespace
}  // namespace sinew
