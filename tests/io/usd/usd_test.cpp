/// USD written and read back. That others read what we write, and that we read what others write, is checked by
/// tests/node/check_usd.py and check_read_usd.py.
#include <fmt/format.h>

#include <Eigen/Geometry>
#include <cmath>
#include <numbers>

#include "io/arrays/zip.h"
#include "io/small_sequence.h"
#include "io/usd/usd_rigs.h"
#include "sinew/io/usd.h"
#include "support/support.h"

namespace sinew {
namespace {

Sequence sequence_of(const std::string& layer, const ReadOptions& options = {}) {
  return parse_usd_sequence(test::bytes_of(layer), {}, options);
}

/// A triangle in a prim with these lines.
std::string triangle(const std::string& lines, const std::string& header = "") {
  return fmt::format(R"(#usda 1.0
({})
def Mesh "m" {{
  int[] faceVertexCounts = [3]
  int[] faceVertexIndices = [0, 1, 2]
  point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 2, 0)]
  {}
}})",
                     header, lines);
}

class UsdRoundTrip : public testing::TestWithParam<test::GltfCase> {
 protected:
  Rig back(const char* extension) const {
    const test::TemporaryFolder folder;
    write_usd_rig(folder / (std::string("rig") + extension), GetParam().rig);
    return read_usd_rig(folder / (std::string("rig") + extension));
  }
};

TEST_P(UsdRoundTrip, PosesAlike) {
  const Rig& rig = GetParam().rig;
  EXPECT_LT(test::largest_difference(rig, back(".usda")), test::usd_tolerance(rig));
  EXPECT_LT(test::largest_difference(rig, back(".usdz")), test::usd_tolerance(rig));
}

TEST_P(UsdRoundTrip, KeepsBonesWeightsTimesAndPoints) {
  const Rig& rig = GetParam().rig;
  const Rig read = back(".usda");
  EXPECT_EQ(read.transforms, rig.transforms);
  EXPECT_EQ(read.jointed, rig.jointed);
  EXPECT_EQ(read.rest.positions, rig.rest.positions);
  EXPECT_EQ(read.rest.face_sizes, rig.rest.face_sizes);
  EXPECT_EQ(read.rest.corners, rig.rest.corners);
  ASSERT_EQ(read.bone_count(), rig.bone_count());
  for (std::size_t b = 0; b < rig.bone_count(); ++b) {
    EXPECT_EQ(read.bones[b].name, rig.bones[b].name);
    EXPECT_EQ(read.bones[b].parent, rig.bones[b].parent);
    EXPECT_LT((read.bones[b].head - rig.bones[b].head).norm(), 1e-6F);
    EXPECT_EQ(read.bones[b].tail, rig.bones[b].tail);
  }
  EXPECT_EQ(read.weights.influences, rig.weights.influences);
  EXPECT_EQ(read.weights.bones, rig.weights.bones);
  for (std::size_t i = 0; i < rig.weights.values.size(); ++i)
    ASSERT_NEAR(read.weights.values[i], rig.weights.values[i], 1e-6) << "slot " << i;
  ASSERT_EQ(read.frame_count(), rig.frame_count());
  for (std::size_t f = 0; f < rig.frame_count(); ++f) EXPECT_NEAR(read.times[f], rig.times[f], 1e-9);
  ASSERT_EQ(read.clips.size(), rig.clips.size());
  for (std::size_t i = 0; i < rig.clips.size(); ++i) {
    EXPECT_EQ(read.clips[i].name, rig.clips[i].name);
    EXPECT_EQ(read.clips[i].first_frame, rig.clips[i].first_frame);
  }
  EXPECT_EQ(read.notes, rig.notes);
}

TEST_P(UsdRoundTrip, KeepsWhatIsDrawn) {
  const Mesh& mesh = GetParam().rig.rest;
  const Mesh read = back(".usdz").rest;
  const auto values = [](const auto& attribute, std::size_t corner) {
    constexpr auto N = static_cast<std::size_t>(std::decay_t<decltype(attribute)>::kComponents);
    const float* from = attribute.values.data() + N * attribute.indices[corner];
    return std::vector<float>(from, from + N);
  };
  ASSERT_EQ(read.uv_sets.size(), mesh.uv_sets.size());
  ASSERT_EQ(read.color_sets.size(), mesh.color_sets.size());
  ASSERT_EQ(read.normals.empty(), mesh.normals.empty());
  for (std::size_t c = 0; c < mesh.corners.size(); ++c) {
    for (std::size_t set = 0; set < mesh.uv_sets.size(); ++set) {
      EXPECT_FLOAT_EQ(values(read.uv_sets[set], c)[0], values(mesh.uv_sets[set], c)[0]);
      EXPECT_NEAR(values(read.uv_sets[set], c)[1], values(mesh.uv_sets[set], c)[1], 0x1p-24);
    }
    for (std::size_t set = 0; set < mesh.color_sets.size(); ++set)
      EXPECT_EQ(values(read.color_sets[set], c), values(mesh.color_sets[set], c));
    if (!mesh.normals.empty()) {
      EXPECT_EQ(values(read.normals, c), values(mesh.normals, c));
    }
  }
  EXPECT_EQ(read.face_materials, mesh.face_materials);
  ASSERT_EQ(read.pieces.size(), mesh.pieces.size());
  for (std::size_t i = 0; i < mesh.pieces.size(); ++i) EXPECT_EQ(read.pieces[i].name, mesh.pieces[i].name);
  ASSERT_EQ(read.appearance.materials.size(), mesh.appearance.materials.size());
  for (std::size_t i = 0; i < mesh.appearance.materials.size(); ++i)
    EXPECT_EQ(read.appearance.materials[i].name, mesh.appearance.materials[i].name);
  ASSERT_EQ(read.appearance.images.size(), mesh.appearance.images.size());
  for (std::size_t i = 0; i < mesh.appearance.images.size(); ++i)
    EXPECT_EQ(read.appearance.images[i].bytes, mesh.appearance.images[i].bytes);
}

INSTANTIATE_TEST_SUITE_P(Rigs, UsdRoundTrip, testing::ValuesIn(test::usd_cases()),
                         [](const auto& param) { return param.param.name; });

TEST(WriteUsd, CorrectionsComeBackAsTheyActed) {
  const test::TemporaryFolder folder;
  const Rig rig = test::gltf_case("corrected");
  write_usd_rig(folder / "rig.usda", rig);
  const Rig back = read_usd_rig(folder / "rig.usda");
  ASSERT_TRUE(back.corrections);
  ASSERT_EQ(back.corrections->rank(), 2U);  // the second of three never acts
  EXPECT_EQ(back.corrections->offsets[1], rig.corrections->offsets[2]);
  EXPECT_EQ(back.corrections->normal_offsets[1], rig.corrections->normal_offsets[2]);
  EXPECT_EQ(back.corrections->coefficients.col(1), rig.corrections->coefficients.col(2));
}

TEST(WriteUsd, MaterialsKeepColoursFactorsAndTextures) {
  const test::TemporaryFolder folder;
  Rig rig = test::gltf_case("painted");
  rig.rest.appearance.materials[0].gltf =
      R"({"pbrMetallicRoughness":{"baseColorFactor":[0.5,0.25,1,0.75],"baseColorTexture":{"index":0,"texCoord":1},)"
      R"("metallicFactor":0.125,"roughnessFactor":0.375},"emissiveFactor":[0.5,0,0.25],"alphaMode":"MASK",)"
      R"("alphaCutoff":0.25})";
  write_usd_rig(folder / "rig.usda", rig);
  const Appearance back = read_usd_rig(folder / "rig.usda").rest.appearance;
  for (const char* part : {R"("baseColorFactor":[0.5,0.25,1.0,0.75])", R"("texCoord":1)", R"("metallicFactor":0.125)",
                           R"("roughnessFactor":0.375)", R"("emissiveFactor":[0.5,0.0,0.25])", R"("alphaCutoff":0.25)",
                           R"("alphaMode":"MASK")"})
    EXPECT_NE(back.materials[0].gltf.find(part), std::string::npos) << part << " in " << back.materials[0].gltf;
  EXPECT_EQ(back.gltf_textures, R"([{"sampler":0,"source":0}])");
  EXPECT_EQ(back.gltf_samplers, R"([{"wrapS":33071,"wrapT":10497}])");
  EXPECT_EQ(back.images[0].bytes, rig.rest.appearance.images[0].bytes);
}

TEST(WriteUsd, ABoneThatShearsIsNamedWithItsFrame) {
  const test::TemporaryFolder folder;
  Rig rig = test::scaling_rig();
  rig.motion(4, 2).col(0) += 0.01F * rig.motion(4, 2).col(1);
  test::expect_error(ErrorKind::output, "bone 'bone 2' shears in frame 4",
                     [&] { write_usd_rig(folder / "rig.usda", rig); });
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(WriteUsd, ChildrenOfScaledParentsAreWrittenSideBySide) {
  const test::TemporaryFolder folder;
  Rig rig = test::chain_rig(4, 3, 4);
  rig.transforms = Transforms::affine;
  for (std::size_t f = 0; f < rig.frame_count(); ++f) {  // the last bone also stretches, about its own head
    Eigen::Affine3f stretch = Eigen::Affine3f::Identity();
    stretch.translate(rig.bones[2].head).scale(Eigen::Vector3f(1, 1.5F, 1)).translate(-rig.bones[2].head);
    Eigen::Affine3f motion = Eigen::Affine3f::Identity();
    motion.affine() = rig.motion(f, 2);
    rig.motion(f, 2) = (motion * stretch).affine();
  }
  write_usd_rig(folder / "rig.usda", rig);
  const Rig back = read_usd_rig(folder / "rig.usda");
  EXPECT_EQ(back.bones[2].parent, 1);
  EXPECT_LT(test::largest_difference(rig, back), 0x1p-11);
}

TEST(WriteUsd, PackagedFilesStartAtMultiplesOf64) {
  const test::TemporaryFolder folder;
  write_usd_rig(folder / "rig.usdz", test::gltf_case("pieces"));
  const ByteSource source(folder / "rig.usdz");
  const auto members = list_zip(source, "rig.usdz");
  ASSERT_EQ(members.size(), 2U);
  for (const auto& [name, entry] : members) EXPECT_EQ(find_zip_contents(source, entry, name) % 64, 0U) << name;
}

TEST(WriteUsd, TheSameRigGivesTheSameBytes) {
  const test::TemporaryFolder folder;
  const Rig rig = test::gltf_case("pieces");
  write_usd_rig(folder / "a.usdz", rig);
  write_usd_rig(folder / "b.usdz", rig);
  EXPECT_EQ(read_file(folder / "a.usdz"), read_file(folder / "b.usdz"));
}

TEST(WriteUsd, ASequenceComesBackBitForBit) {
  const test::TemporaryFolder folder;
  const Sequence sequence = test::small_sequence(3);
  for (const char* name : {"s.usda", "s.usdz"}) {
    write_usd_sequence(folder / name, sequence);
    const Sequence back = read_usd_sequence(folder / name);
    EXPECT_EQ(back.rest.positions, sequence.rest.positions);
    EXPECT_EQ(back.rest.corners, sequence.rest.corners);
    EXPECT_EQ(back.rest.face_materials, sequence.rest.face_materials);
    EXPECT_EQ(back.frames, sequence.frames);
    EXPECT_EQ(back.times, sequence.times);
    ASSERT_EQ(back.rest.pieces.size(), 2U);
    EXPECT_EQ(back.rest.pieces[1].name, "left arm");
  }
}

TEST(ReadUsd, FramesThatAreNotAskedForAreLeftOut) {
  const test::TemporaryFolder folder;
  const Sequence sequence = test::small_sequence(7);
  write_usd_sequence(folder / "s.usda", sequence);
  ReadOptions options;
  options.first_frame = 1;
  options.last_frame = 6;
  options.frame_step = 3;
  options.rest = "5";
  const Sequence back = read_sequence({folder / "s.usda"}, options);
  ASSERT_EQ(back.frame_count(), 2U);
  EXPECT_EQ(back.frames[1], sequence.frames[4]);
  EXPECT_EQ(back.rest.positions, sequence.frames[5]);
  EXPECT_EQ(back.times[1], sequence.times[4]);
}

TEST(ReadUsd, PointsAreBlendedBetweenTheirSamplesAndTransformsToo) {
  const Sequence back = sequence_of(triangle(R"(
    point3f[] points.timeSamples = { 0: [(0, 0, 0), (1, 0, 0), (0, 2, 0)], 4: [(0, 0, 4), (1, 0, 0), (0, 2, 8)] }
    double3 xformOp:translate.timeSamples = { 1: (0, 0, 0), 3: (2, 0, 0) }
    uniform token[] xformOpOrder = ["xformOp:translate"])",
                                             "timeCodesPerSecond = 2"));
  EXPECT_EQ(back.times, (std::vector<double>{0, 0.5, 1.5, 2}));
  EXPECT_EQ(back.frames[2].col(0), Vector3(2, 0, 3));
  EXPECT_EQ(back.frames[1].col(2), Vector3(0, 2, 2));
}

TEST(ReadUsd, StagesThatStandOnZAreStoodOnY) {
  const Sequence back = sequence_of(triangle("", "upAxis = \"Z\""));
  EXPECT_EQ(back.rest.positions.col(2), Vector3(0, 0, -2));
  EXPECT_EQ(back.rest.positions.col(1), Vector3(1, 0, 0));
}

TEST(ReadUsd, LeftHandedFacesAndMirroredOnesAreTurned) {
  const Sequence left = sequence_of(triangle("uniform token orientation = \"leftHanded\""));
  EXPECT_EQ(left.rest.corners, (std::vector<Index>{0, 2, 1}));
  const std::string mirror = "float3 xformOp:scale = (-1, 1, 1)\nuniform token[] xformOpOrder = [\"xformOp:scale\"]";
  EXPECT_EQ(sequence_of(triangle(mirror)).rest.corners, (std::vector<Index>{0, 2, 1}));
}

TEST(ReadUsd, OperationsAreAppliedFromTheLastToTheFirst) {
  const Sequence back = sequence_of(triangle(R"(
    double3 xformOp:translate = (10, 0, 0)
    float3 xformOp:translate:pivot = (1, 0, 0)
    float xformOp:rotateZ = 90
    float3 xformOp:scale = (1, 3, 1)
    uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:translate:pivot", "xformOp:rotateZ",
                                    "!invert!xformOp:translate:pivot", "xformOp:scale"])"));
  // (0, 2, 0) is scaled to (0, 6, 0), turned about (1, 0, 0) to (-5, -1, 0), moved by 10.
  EXPECT_LT((back.rest.positions.col(2) - Vector3(5, -1, 0)).norm(), 1e-5F);
}

TEST(ReadUsd, SelectedVariantsReferencesAndClassesAreResolved) {
  const Sequence back = sequence_of(R"(#usda 1.0
class "_shape" { point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 2, 0)] }
def "source" (active = false) { def Mesh "inner" (inherits = </_shape>) {
  int[] faceVertexCounts = [3]
  int[] faceVertexIndices = [0, 1, 2] } }
def Xform "place" (variants = { string size = "large" } prepend variantSets = "size") {
  variantSet "size" = {
    "small" { double3 xformOp:translate = (1, 0, 0) }
    "large" { double3 xformOp:translate = (7, 0, 0) }
  }
  uniform token[] xformOpOrder = ["xformOp:translate"]
  def "copy" (prepend references = </source/inner>) { }
  def "other" (add references = [</source/inner>]) {
    point3f[] points = [(0, 0, 5), (1, 0, 0), (0, 2, 0)]
  }
})");
  ASSERT_EQ(back.rest.pieces.size(), 2U);
  EXPECT_EQ(back.rest.positions.col(2), Vector3(7, 2, 0));
  EXPECT_EQ(back.rest.positions.col(3), Vector3(7, 0, 5));
}

TEST(ReadUsd, HiddenMeshesAndGuidesAreLeftOut) {
  const std::string mesh =
      "int[] faceVertexCounts = [3]\nint[] faceVertexIndices = [0, 1, 2]\n"
      "point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 2, 0)]\n";
  const Sequence back =
      sequence_of(fmt::format("#usda 1.0\ndef Mesh \"a\" {{\n{0}token visibility = \"invisible\"\n}}\n"
                              "def Scope \"s\" {{\nuniform token purpose = \"guide\"\n"
                              "def Mesh \"b\" {{\n{0}}}\n}}\ndef Mesh \"c\" {{\n{0}}}\nover \"d\" {{}}",
                              mesh));
  EXPECT_EQ(back.vertex_count(), 3U);
}

TEST(ReadUsd, InBetweenShapesBendTheWay) {
  const std::string layer = R"(#usda 1.0
def SkelRoot "r" {
  def Skeleton "s" (prepend apiSchemas = ["SkelBindingAPI"]) {
    uniform token[] joints = ["root"]
    uniform matrix4d[] bindTransforms = [((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,0,0,1))]
    uniform matrix4d[] restTransforms = [((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,0,0,1))]
    rel skel:animationSource = </r/s/a>
    def SkelAnimation "a" {
      uniform token[] blendShapes = ["up"]
      float[] blendShapeWeights.timeSamples = { 0: [0.25], 1: [0.75], 2: [1], 3: [2], 4: [-1] }
    }
  }
  def Mesh "m" {
    int[] faceVertexCounts = [3]
    int[] faceVertexIndices = [0, 1, 2]
    point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 2, 0)]
    int[] primvars:skel:jointIndices = [0, 0, 0] (elementSize = 1
      interpolation = "vertex")
    float[] primvars:skel:jointWeights = [1, 1, 1] (elementSize = 1
      interpolation = "vertex")
    rel skel:skeleton = </r/s>
    uniform token[] skel:blendShapes = ["up"]
    rel skel:blendShapeTargets = </r/m/up>
    def BlendShape "up" {
      uniform vector3f[] offsets = [(0, 4, 0)]
      uniform vector3f[] inbetweens:half = [(8, 0, 0)] (weight = 0.5)
      uniform int[] pointIndices = [1]
    }
  }
})";
  const Sequence back = sequence_of(layer);
  const Rig rig = parse_usd_rig(test::bytes_of(layer), {});
  const std::vector<Vector3> expected{{5, 0, 0}, {5, 2, 0}, {1, 4, 0}, {-15, 12, 0}, {-15, 0, 0}};
  ASSERT_EQ(back.frame_count(), expected.size());
  Points posed(3, 3);
  for (std::size_t f = 0; f < expected.size(); ++f) {
    EXPECT_LT((back.frames[f].col(1) - expected[f]).norm(), 1e-5F) << "frame " << f;
    pose(rig, f, posed);
    EXPECT_LT((posed.col(1) - expected[f]).norm(), 1e-5F) << "frame " << f;
  }
}

TEST(ReadUsd, ClipsAreChosenByNameOrNumber) {
  const test::TemporaryFolder folder;
  const Rig rig = test::gltf_case("clips");
  write_usd_rig(folder / "rig.usda", rig);
  ReadOptions options;
  options.clip = "run & jump";
  EXPECT_EQ(read_usd_rig(folder / "rig.usda", options).frame_count(), 1U);
  options.clip = "2";
  EXPECT_EQ(read_usd_sequence(folder / "rig.usda", options).frame_count(), 4U);
  options.clip = "crawl";
  test::expect_error(ErrorKind::input, "no clip is called 'crawl'",
                     [&] { read_usd_sequence(folder / "rig.usda", options); });
}

TEST(ReadUsd, AMeshThatNothingSkinsFollowsABoneOfItsOwn) {
  const test::TemporaryFolder folder;
  const Rig rig = test::gltf_case("clips");
  write_usd_rig(folder / "rig.usda", rig);
  const std::string beside = triangle(
      "double3 xformOp:translate = (0, 3, 0)\n"
      "uniform token[] xformOpOrder = [\"xformOp:translate\"]");
  const std::vector<std::byte> written = read_file(folder / "rig.usda");
  std::string layer(reinterpret_cast<const char*>(written.data()), written.size());
  layer += beside.substr(beside.find("def Mesh"));
  const Rig read = parse_usd_rig(test::bytes_of(layer), {});
  const std::size_t first = rig.vertex_count();
  ASSERT_EQ(read.vertex_count(), first + 3);
  ASSERT_EQ(read.bone_count(), rig.bone_count() + 1);
  EXPECT_EQ(read.bones.back().name, "m");
  const auto slots = static_cast<std::size_t>(read.weights.influences);
  for (std::size_t v = first; v < first + 3; ++v) {
    EXPECT_EQ(read.weights.bones[v * slots], rig.bone_count());
    EXPECT_EQ(read.weights.values[v * slots], 1.0F);
  }
  EXPECT_EQ(Eigen::Vector3f(read.rest.positions.col(static_cast<Eigen::Index>(first))), Eigen::Vector3f(0, 3, 0));
}

TEST(ReadUsd, AMovingMeshIsNoRig) {
  const test::TemporaryFolder folder;
  write_usd_sequence(folder / "s.usda", test::small_sequence(3));
  test::expect_error(ErrorKind::input, "has no skin", [&] { read_usd_rig(folder / "s.usda"); });
}

}  // namespace
}  // namespace sinew
