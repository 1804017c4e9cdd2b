#include <cmath>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "io/gltf/two_layer_pack.h"
#include "sinew/io/output_file.h"
#include "sinew/io/two_layer_gltf.h"
#include "support/support.h"

namespace sinew {
namespace {

// A strip of nine vertices over four virtual bones over three affine bones, all numbers exact in float.
Rig strip() {
  Rig rig;
  rig.rest.positions.resize(3, 9);
  for (int v = 0; v < 9; ++v)
    rig.rest.positions.col(v) =
        Vector3(0.5F * static_cast<float>(v / 3), static_cast<float>(v % 3), 0.25F * static_cast<float>(v % 2));
  for (const int v : {0, 1, 3, 4}) {
    rig.rest.face_sizes.push_back(4);
    for (const int corner : {v, v + 3, v + 4, v + 1}) rig.rest.corners.push_back(static_cast<Index>(corner));
  }
  rig.motion = Motion(3, 3);
  rig.weights = {2, {}, {}};
  for (std::size_t b = 0; b < 3; ++b) {
    rig.bones.push_back({"bone" + std::to_string(b), -1, Vector3::Zero(), Vector3::UnitY()});
    for (std::size_t f = 0; f < 3; ++f) {
      Affine& T = rig.motion(f, b);
      T(0, 1) = 0.125F * static_cast<float>(f) * static_cast<float>(b + 1);
      T(2, 2) = 1 + 0.25F * static_cast<float>(b);
      T.col(3) = Vector3(0.5F * static_cast<float>(f), -0.25F * static_cast<float>(b), 1);
    }
  }
  for (int v = 0; v < 9; ++v) {
    for (const Index b : {Index(v % 3), Index((v + 1) % 3)}) rig.weights.bones.push_back(b);
    for (const float w : {0.75F, 0.25F}) rig.weights.values.push_back(w);
  }
  rig.times = {0, 0.25, 0.5};
  TwoLayer model;
  model.dictionary = {
      3, {0, 1, 2, 0, 1, 2, 0, 2, 0, 1, 0, 0}, {0.5F, 0.25F, 0.25F, -0.25F, 1, 0.25F, 0.5F, 0.5F, 0, 1, 0, 0}};
  model.coefficients.slots = 2;
  for (int v = 0; v < 9; ++v) {
    for (const Index j : {Index(v % 4), Index((v + 1) % 4)}) model.coefficients.columns.push_back(j);
    const float w = 0.125F * static_cast<float>(v);
    for (const float x : {w, 1 - w}) model.coefficients.values.push_back(x);
  }
  rig.two_layer = model;
  return rig;
}

void expect_same_model(const Rig& got, const Rig& expected) {
  ASSERT_TRUE(got.two_layer.has_value());
  EXPECT_EQ(got.two_layer->dictionary.columns, expected.two_layer->dictionary.columns);
  EXPECT_EQ(got.two_layer->dictionary.values, expected.two_layer->dictionary.values);
  EXPECT_EQ(got.two_layer->coefficients.columns, expected.two_layer->coefficients.columns);
  EXPECT_EQ(got.two_layer->coefficients.values, expected.two_layer->coefficients.values);
  ASSERT_EQ(got.frame_count(), expected.frame_count());
  for (std::size_t f = 0; f < expected.frame_count(); ++f)
    for (std::size_t b = 0; b < expected.bone_count(); ++b) EXPECT_EQ(got.motion(f, b), expected.motion(f, b));
}

std::filesystem::path golden() {
  return std::filesystem::path(SINEW_SOURCE_DIR) / "tests/io/gltf/golden/two_layer.glb";
}

TEST(TwoLayerGltf, ComesBackAsItWasWritten) {
  const Rig rig = strip();
  const Rig back = parse_gltf_rig(glb_bytes(rig), {});
  expect_same_model(back, rig);
  for (std::size_t f = 0; f < rig.frame_count(); ++f) EXPECT_EQ(pose_all(back).frames[f], pose_all(rig).frames[f]);
}

// Written once with SINEW_WRITE_GOLDEN set; read by every version from then on.
TEST(TwoLayerGltf, TheGoldenFileHoldsTheStrip) {
  if (std::getenv("SINEW_WRITE_GOLDEN") != nullptr) write_glb(golden(), strip());
  expect_same_model(read_gltf_rig(golden()), strip());
}

TEST(TwoLayerGltf, OtherPlayersSeeTheOneLayerRigAndNothingRequired) {
  const std::vector<std::byte> bytes = glb_bytes(strip());
  std::uint32_t length = 0;
  std::memcpy(&length, bytes.data() + 12, 4);
  const auto json = nlohmann::json::parse(std::string(reinterpret_cast<const char*>(bytes.data()) + 20, length));
  EXPECT_EQ(json["extensionsUsed"], nlohmann::json::array({"SINEW_two_layer_skinning"}));
  EXPECT_FALSE(json.contains("extensionsRequired"));
  EXPECT_TRUE(json["meshes"][0]["primitives"][0]["attributes"].contains("WEIGHTS_0"));
}

TEST(TwoLayerGltf, PackedItIsWithinSixteenBitsOfTheOriginal) {
  const Rig rig = strip();
  const Rig back = parse_gltf_rig(glb_bytes(rig, {}, std::vector{two_layer_extension(rig, true)}), {});
  ASSERT_TRUE(back.two_layer.has_value());
  EXPECT_EQ(back.two_layer->coefficients.columns, rig.two_layer->coefficients.columns);
  for (std::size_t i = 0; i < rig.two_layer->coefficients.values.size(); ++i)
    EXPECT_NEAR(back.two_layer->coefficients.values[i], rig.two_layer->coefficients.values[i], 2.0 / 65535);
  for (std::size_t f = 0; f < 3; ++f)
    for (std::size_t b = 0; b < 3; ++b)
      EXPECT_LT((back.motion(f, b) - rig.motion(f, b)).cwiseAbs().maxCoeff(), 1.0F / 65535);
  const Sequence a = pose_all(back);
  const Sequence b = pose_all(rig);
  for (std::size_t f = 0; f < 3; ++f) EXPECT_LT((a.frames[f] - b.frames[f]).cwiseAbs().maxCoeff(), 2e-4F);
}

TEST(TwoLayerGltf, APartOfTheFileIsReadWithoutTheSecondLayer) {
  ReadOptions options;
  options.mesh = "*";
  std::string warning;
  options.warn = [&](std::string_view sentence) { warning = sentence; };
  EXPECT_FALSE(parse_gltf_rig(glb_bytes(strip()), {}, options).two_layer.has_value());
  EXPECT_NE(warning.find("two-layer model is left out"), std::string::npos);
}

TEST(TwoLayerGltf, SampledBetweenItsKeysARigIsBlendedByBothLayers) {
  Rig written = strip();
  const Sequence whole = pose_all(written);
  ReadOptions options;
  options.frames_per_second = 8;
  std::string warning;
  options.warn = [&](std::string_view sentence) { warning = sentence; };
  const Rig rig = parse_gltf_rig(glb_bytes(written), {}, options);
  ASSERT_TRUE(rig.two_layer.has_value());
  EXPECT_EQ(warning, "");
  ASSERT_EQ(rig.frame_count(), 2 * whole.frame_count() - 1);
  Points posed(3, static_cast<Eigen::Index>(rig.vertex_count()));
  for (std::size_t f = 0; f < whole.frame_count(); ++f) {
    pose(rig, 2 * f, posed);
    EXPECT_LT((posed - whole.frames[f]).cwiseAbs().maxCoeff(), 1e-5F) << "key " << f;
  }
  Rig one_layer = rig;
  one_layer.two_layer.reset();
  Points standing_in(3, posed.cols());
  pose(rig, 1, posed);
  pose(one_layer, 1, standing_in);
  EXPECT_GT((posed - standing_in).cwiseAbs().maxCoeff(), 1e-3F) << "the layers make no difference here";
}

TEST(TwoLayerGltf, FramesAreThoseOfBothLayersWhateverPartIsRead) {
  Rig rig = strip();
  rig.clips = {{"first", 0, 2}, {"second", 2, 1}};
  const std::vector<std::byte> bytes = glb_bytes(rig);
  const Sequence whole = pose_all(rig);
  ReadOptions options;
  const Sequence all = parse_gltf_sequence(bytes, {}, options);
  ASSERT_EQ(all.frame_count(), 3u);
  for (std::size_t f = 0; f < 3; ++f) EXPECT_EQ(all.frames[f], whole.frames[f]);
  options.clip = "second";
  const Sequence second = parse_gltf_sequence(bytes, {}, options);
  ASSERT_EQ(second.frame_count(), 1u);
  EXPECT_EQ(second.frames[0], whole.frames[2]);
  options.clip = "first";
  options.frames_per_second = 8;
  const Sequence sampled = parse_gltf_sequence(bytes, {}, options);
  ASSERT_EQ(sampled.frame_count(), 3u);
  EXPECT_LT((sampled.frames[1] - (whole.frames[0] + whole.frames[1]) / 2).cwiseAbs().maxCoeff(), 1e-6F);
  EXPECT_EQ(sampled.frames[2], whole.frames[1]);
}

TEST(TwoLayerGltf, OneOfSeveralMeshesIsPosedByBothLayers) {
  Rig rig = strip();
  rig.rest.face_sizes = {4, 4, 3};
  rig.rest.corners.resize(8);
  for (const Index v : {6, 7, 8}) rig.rest.corners.push_back(v);
  rig.rest.pieces = {{"Left", 0, 6, 0, 2}, {"Right", 6, 3, 2, 1}};
  const Sequence whole = pose_all(rig);
  ReadOptions options;
  options.mesh = "Right";
  const Sequence right = parse_gltf_sequence(glb_bytes(rig), {}, options);
  ASSERT_EQ(right.vertex_count(), 3u);
  for (std::size_t f = 0; f < 3; ++f) EXPECT_EQ(right.frames[f], whole.frames[f].rightCols(3));
}

TEST(TwoLayerGltf, AnotherRestPoseIsAFrameOfBothLayers) {
  const Rig rig = strip();
  const test::TemporaryFolder folder;
  write_glb(folder / "two.glb", rig);
  ReadOptions options;
  options.rest = "1";
  const Sequence read = read_sequence({folder / "two.glb"}, options);
  EXPECT_EQ(read.rest.positions, pose_all(rig).frames[1]);
  EXPECT_EQ(read.frames[2], pose_all(rig).frames[2]);
}

TEST(TwoLayerGltf, AnExtensionThatDoesNotFitTheRigIsRefused) {
  const Rig rig = strip();
  const auto refuse = [&](const std::string& from, const std::string& to, const std::string& part) {
    GltfExtension extension = two_layer_extension(rig, false);
    const std::size_t at = extension.json.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    extension.json.replace(at, from.size(), to);
    Rig copy = rig;
    test::expect_error(ErrorKind::input, part, [&] { apply_two_layer_extension(extension, "x.glb", copy); });
  };
  refuse("\"version\":1", "\"version\":2", "version that is not 1");
  refuse("\"vertices\":9", "\"vertices\":8", "is for 8 vertices, the rig has 9");
  refuse("\"frames\":3", "\"frames\":-3", "is for -3 frames");
  refuse("\"virtualBones\":4", "\"virtualBones\":5", "dictionaryBones has 24 bytes, expected 30");
  refuse("\"virtualBones\":4", "\"virtualBones\":4000000000", "do not fit");
  refuse("\"bonesPerVirtualBone\":3", "\"bonesPerVirtualBone\":4", "bonesPerVirtualBone is 4, expected 1 to 3");
  refuse("\"virtualBonesPerVertex\":2", "\"virtualBonesPerVertex\":0", "virtualBonesPerVertex is 0");
  GltfExtension extension = two_layer_extension(rig, false);
  extension.arrays[0].bytes[2] = std::byte{3};
  Rig copy = rig;
  test::expect_error(ErrorKind::input, "row 0 refers to column 3, there are 3",
                     [&] { apply_two_layer_extension(extension, "x.glb", copy); });
}

TEST(TwoLayerGltf, DamagedPackedBytesAreRefusedOrStayWithinTheRig) {
  const Rig rig = strip();
  const GltfExtension good = two_layer_extension(rig, true);
  for (std::size_t size = 0; size < good.arrays[0].bytes.size(); ++size) {
    GltfExtension extension = good;
    extension.arrays[0].bytes.resize(size);
    Rig copy = rig;
    EXPECT_THROW(apply_two_layer_extension(extension, "x.glb", copy), Error) << size;
  }
  for (std::size_t at = 0; at < good.arrays[0].bytes.size(); ++at)
    for (const int bit : {0, 3, 7}) {
      GltfExtension extension = good;
      extension.arrays[0].bytes[at] ^= std::byte{static_cast<unsigned char>(1 << bit)};
      Rig copy = rig;
      try {
        apply_two_layer_extension(extension, "x.glb", copy);
        copy.two_layer->check(copy.vertex_count(), copy.bone_count());
      } catch (const Error&) {
      }
    }
}

}  // namespace
}  // namespace sinew
