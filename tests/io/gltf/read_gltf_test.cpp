#include <gmock/gmock.h>

#include <fstream>

#include "io/gltf/gltf_edit.h"
#include "io/gltf/scene.h"
#include "sinew/evaluate/errors.h"
#include "sinew/io/gltf.h"
#include "sinew/io/output_file.h"
#include "support/support.h"

namespace sinew {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Json = nlohmann::json;

Sequence bake(test::GltfMaker maker, const ReadOptions& options = {}) {
  return parse_gltf_sequence(maker.bytes(), {}, options);
}

std::vector<float> numbers(const Eigen::Ref<const Points>& points) {
  return {points.data(), points.data() + points.size()};
}

// --- Interpolation.

gltf::Track track(gltf::Path path, gltf::Interpolation interpolation, std::vector<float> times,
                  std::vector<float> values) {
  const std::size_t width = path == gltf::Path::rotation ? 4 : path == gltf::Path::weights ? 1 : 3;
  return {0, path, interpolation, width, std::move(times), std::move(values)};
}

std::vector<double> at(const gltf::Track& track, double t) {
  std::vector<double> out;
  gltf::sample(track, t, out);
  return out;
}

TEST(SampleGltf, LinearBlendsBetweenKeysAndHoldsOutsideThem) {
  const auto t = track(gltf::Path::translation, gltf::Interpolation::linear, {1, 3}, {0, 2, 4, 8, 2, 0});
  EXPECT_THAT(at(t, 0), ElementsAre(0, 2, 4));
  EXPECT_THAT(at(t, 1.5), ElementsAre(2, 2, 3));
  EXPECT_THAT(at(t, 3), ElementsAre(8, 2, 0));
  EXPECT_THAT(at(t, 9), ElementsAre(8, 2, 0));
}

TEST(SampleGltf, StepHoldsTheKeyBefore) {
  const auto t = track(gltf::Path::weights, gltf::Interpolation::step, {0, 1, 2}, {5, 6, 7});
  EXPECT_THAT(at(t, 0.999), ElementsAre(5));
  EXPECT_THAT(at(t, 1), ElementsAre(6));
}

TEST(SampleGltf, CubicSplineIsHermiteWithTangentsPerSecond) {
  // x(t) = t³ over [0, 2]: slopes 0 and 12.
  const auto t = track(gltf::Path::weights, gltf::Interpolation::cubic, {0, 2}, {99, 0, 0, 12, 8, 99});
  for (const double s : {0.0, 0.5, 1.0, 1.75, 2.0}) EXPECT_NEAR(at(t, s)[0], s * s * s, 1e-12);
}

TEST(SampleGltf, RotationsTakeTheShortWayAtConstantSpeed) {
  const auto half = static_cast<float>(std::sqrt(0.5));
  // From none to 90 degrees about z, the second key with the opposite sign.
  const auto t = track(gltf::Path::rotation, gltf::Interpolation::linear, {0, 1}, {0, 0, 0, 1, 0, 0, -half, -half});
  const std::vector<double> q = at(t, 1.0 / 3);
  EXPECT_NEAR(std::abs(q[2]), std::sin(15 * M_PI / 180), 1e-7);
  EXPECT_NEAR(std::abs(q[3]), std::cos(15 * M_PI / 180), 1e-7);
}

// --- Accessors.

TEST(ReadGltf, SparseAccessorsAreFilledIn) {
  test::GltfMaker maker = test::triangle();
  const std::size_t indices = maker.view(std::vector<std::uint16_t>{2});
  const std::size_t values = maker.view(std::vector<float>{7, 8, 9});
  maker.glb.json["accessors"][0]["sparse"] = {{"count", 1},
                                              {"indices", {{"bufferView", indices}, {"componentType", 5123}}},
                                              {"values", {{"bufferView", values}}}};
  EXPECT_THAT(numbers(bake(maker).frames[0]), ElementsAre(0, 0, 0, 2, 0, 0, 7, 8, 9));
  maker.glb.json["accessors"][0].erase("bufferView");
  EXPECT_THAT(numbers(bake(maker).frames[0]), ElementsAre(0, 0, 0, 7, 8, 9))
      << "the first two are both zero: one point";
}

TEST(ReadGltf, QuantisedAndInterleavedPositionsAreRead) {
  test::GltfMaker maker = test::triangle();
  const std::vector<std::int16_t> packed = {0, 0, 0, -1, 32767, 0, 0, -1, 0, -32768, 16384, -1};
  maker.glb.json["bufferViews"][maker.view(packed)]["byteStride"] = 8;
  maker.glb.json["extensionsRequired"] = {"KHR_mesh_quantization"};
  auto& accessor = maker.glb.json["accessors"][0];
  accessor = {{"bufferView", 1}, {"componentType", 5122}, {"count", 3}, {"type", "VEC3"}, {"normalized", true}};
  EXPECT_THAT(numbers(bake(maker).frames[0]), ElementsAre(0, 0, 0, 1, 0, 0, 0, -1, 16384.0F / 32767));
  accessor["normalized"] = false;
  EXPECT_THAT(numbers(bake(maker).frames[0]), ElementsAre(0, 0, 0, 32767, 0, 0, 0, -32768, 16384));
}

TEST(ReadGltf, StripsAndFansBecomeTrianglesThatFaceTheSameWay) {
  test::GltfMaker maker = test::triangle();
  const std::size_t positions = maker.floats({0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0}, "VEC3", 3);
  auto& primitive = maker.glb.json["meshes"][0]["primitives"][0];
  primitive["attributes"]["POSITION"] = positions;
  primitive["mode"] = 5;
  EXPECT_THAT(bake(maker).rest.corners, ElementsAre(0, 1, 2, 2, 1, 3));
  primitive["mode"] = 6;
  EXPECT_THAT(bake(maker).rest.corners, ElementsAre(1, 2, 0, 2, 3, 0));
}

// --- Control points.

TEST(ReadGltf, SeamsAreWeldedAndTheirUvsKept) {
  test::GltfMaker maker = test::triangle();
  auto& attributes = maker.glb.json["meshes"][0]["primitives"][0]["attributes"];
  attributes["POSITION"] = maker.floats({0, 0, 0, 2, 0, 0, 0, 1, 0, 2, 0, 0, 3, 3, 0, 0, 1, 0}, "VEC3", 3);
  attributes["TEXCOORD_0"] = maker.floats({0, 0, 0.5F, 0, 0, 0.5F, 0.75F, 0, 1, 1, 0, 0.75F}, "VEC2", 2);
  const Sequence sequence = bake(maker);
  EXPECT_EQ(sequence.vertex_count(), 4U);
  EXPECT_THAT(sequence.rest.corners, ElementsAre(0, 1, 2, 1, 3, 2));
  ASSERT_EQ(sequence.rest.uv_sets.size(), 1U);
  const auto& uv = sequence.rest.uv_sets[0];
  EXPECT_EQ(uv.values[2 * uv.indices[1]], 0.5F);
  EXPECT_EQ(uv.values[2 * uv.indices[3]], 0.75F);
}

TEST(ReadGltf, VerticesThatMoveApartAreNotWelded) {
  test::GltfMaker maker = test::triangle();
  auto& primitive = maker.glb.json["meshes"][0]["primitives"][0];
  primitive["attributes"]["POSITION"] = maker.floats({0, 0, 0, 2, 0, 0, 0, 1, 0, 2, 0, 0, 3, 3, 0, 0, 1, 0}, "VEC3", 3);
  std::vector<float> offsets(18, 0.0F);
  offsets[9] = 1;
  primitive["targets"] = {{{"POSITION", maker.floats(offsets, "VEC3", 3)}}};
  maker.glb.json["meshes"][0]["weights"] = {0.5};
  const Sequence sequence = bake(maker);
  EXPECT_EQ(sequence.vertex_count(), 5U);
  EXPECT_EQ(sequence.frames[0](0, 3), 2.5F) << "the mesh's own weight holds without an animation";
  EXPECT_EQ(sequence.rest.positions(0, 3), 2.0F);
}

// --- Nodes, clips, meshes.

TEST(ReadGltf, MovingNodesMoveTheirMeshes) {
  test::GltfMaker maker = test::triangle();
  maker.glb.json["nodes"][0]["translation"] = {0, 5, 0};
  maker.glb.json["nodes"].push_back({{"children", {0}}, {"scale", {2, 2, 2}}});
  maker.glb.json["scenes"][0]["nodes"] = {1};
  test::animate(maker, "go", 0, "translation", {0, 0.03125F, 0.0625F}, {0, 5, 0, 1, 5, 0, 1, 6, 0});
  const Sequence sequence = bake(maker);
  EXPECT_THAT(sequence.times, ElementsAre(0, 0.03125, 0.0625));
  EXPECT_THAT(numbers(sequence.rest.positions), ElementsAre(0, 10, 0, 4, 10, 0, 0, 12, 0));
  EXPECT_THAT(numbers(sequence.frames[2]), ElementsAre(2, 12, 0, 6, 12, 0, 2, 14, 0));
}

TEST(ReadGltf, MirroredNodesKeepTheirFacesOutside) {
  test::GltfMaker maker = test::triangle();
  maker.glb.json["nodes"][0]["scale"] = {-1, 1, 1};
  EXPECT_THAT(bake(maker).rest.corners, ElementsAre(0, 2, 1));
}

TEST(ReadGltf, ClipsAreChosenByNameOrNumber) {
  test::GltfMaker maker = test::triangle();
  test::animate(maker, "a", 0, "translation", {0, 0.04F}, {0, 0, 0, 1, 0, 0});
  test::animate(maker, "b", 0, "translation", {0, 0.04F, 0.08F}, {0, 0, 0, 2, 0, 0, 3, 0, 0});
  EXPECT_EQ(bake(maker).frame_count(), 5U);
  EXPECT_EQ(bake(maker).clips[1].first_frame, 2U);
  ReadOptions options;
  options.clip = "b";
  EXPECT_EQ(bake(maker, options).frame_count(), 3U);
  options.clip = "0";
  EXPECT_EQ(bake(maker, options).frame_count(), 2U);
  options.clip = "c";
  test::expect_error(ErrorKind::input, "no animation 'c'; there are 0 'a', 1 'b'", [&] { bake(maker, options); });
  test::animate(maker, "", 0, "translation", {0, 0.04F}, {0, 0, 0, 4, 0, 0});
  test::expect_error(ErrorKind::input, "there are 0 'a', 1 'b', 2 without a name", [&] { bake(maker, options); });
}

TEST(ReadGltf, OfKeysAtTheSameTimeTheLastCountsWithAWarning) {
  test::GltfMaker maker = test::triangle();
  test::animate(maker, "a", 0, "translation", {0, 0.02F, 0.02F, 0.04F}, {0, 0, 0, 7, 0, 0, 1, 0, 0, 3, 0, 0});
  std::string said;
  ReadOptions options;
  options.warn = [&](std::string_view sentence) { said += sentence; };
  const Sequence sequence = bake(maker, options);
  ASSERT_EQ(sequence.frame_count(), 3U);
  EXPECT_EQ(sequence.frames[1](0, 0), 1);
  EXPECT_THAT(said, HasSubstr("the last of them counts (1 left out)"));
}

TEST(ReadGltf, TracksWithDifferentKeysAreSampledAtARate) {
  test::GltfMaker maker = test::triangle();
  test::animate(maker, "a", 0, "translation", {0, 1}, {0, 0, 0, 1, 0, 0});
  auto& animation = maker.glb.json["animations"][0];
  const std::size_t input = maker.floats({0, 0.4F}, "SCALAR", 1);
  const std::size_t output = maker.floats({1, 1, 1, 2, 2, 2}, "VEC3", 3);
  animation["samplers"].push_back({{"input", input}, {"output", output}});
  animation["channels"].push_back({{"sampler", 1}, {"target", {{"node", 0}, {"path", "scale"}}}});
  EXPECT_EQ(bake(maker).frame_count(), 31U);
  ReadOptions options;
  options.frames_per_second = 4;
  const Sequence sequence = bake(maker, options);
  EXPECT_THAT(sequence.times, ElementsAre(0, 0.25, 0.5, 0.75, 1));
  EXPECT_FLOAT_EQ(sequence.frames[1](0, 1), 0.25F + 2 * 1.625F);
  options.frames_per_second = -1;
  test::expect_error(ErrorKind::usage, "-1 frames per second", [&] { bake(maker, options); });
}

TEST(ReadGltf, MeshesAreChosenByName) {
  test::GltfMaker maker = test::triangle();
  maker.glb.json["nodes"].push_back({{"mesh", 0}, {"name", "other"}, {"translation", {9, 0, 0}}});
  maker.glb.json["scenes"][0]["nodes"] = {0, 1};
  EXPECT_EQ(bake(maker).rest.pieces.size(), 2U);
  ReadOptions options;
  options.mesh = "oth*";
  EXPECT_EQ(bake(maker, options).rest.positions(0, 0), 9);
  options.mesh = "x?";
  test::expect_error(ErrorKind::input, "no mesh with vertices is called 'x?'", [&] { bake(maker, options); });
}

// --- Between keys.

TEST(ReadGltf, BetweenKeysThatAreFarApartFramesAreSampledToo) {
  test::GltfMaker maker = test::skinned_triangle();
  const auto half = static_cast<float>(std::sqrt(0.5));
  test::animate(maker, "turn", 2, "rotation", {0, 0.125F, 0.15F}, {0, 0, 0, 1, 0, 0, half, half, 0, 0, 1, 0});
  const Sequence sequence = bake(maker);
  EXPECT_THAT(sequence.times, ElementsAre(0, 0.03125, 0.0625, 0.09375, 0.125, static_cast<double>(0.15F)));
  EXPECT_EQ(parse_gltf_rig(maker.bytes(), {}).frame_count(), 6U) << "a rig has the same frames";
  maker.glb.json["animations"][0]["samplers"][0]["interpolation"] = "STEP";
  EXPECT_EQ(bake(maker).frame_count(), 3U) << "nothing moves between keys";
  maker.glb.json["animations"][0]["samplers"][0]["interpolation"] = "LINEAR";
  const Rig rig = parse_gltf_rig(maker.bytes(), {});
  EXPECT_EQ(parse_gltf_rig(glb_bytes(rig), {}).times, rig.times) << "files of our own are read at their keys";
}

TEST(ReadGltf, HalfwayBetweenKeysIsWherePlayersInterpolate) {
  test::GltfMaker maker = test::skinned_triangle();
  const auto half = static_cast<float>(std::sqrt(0.5));
  test::animate(maker, "turn", 2, "rotation", {0, 0.04F}, {0, 0, 0, 1, 0, 0, half, half});
  ReadOptions options;
  options.halfway = true;
  const Rig rig = parse_gltf_rig(maker.bytes(), {}, options);
  ASSERT_EQ(rig.frame_count(), 1U);
  const Sequence keys = bake(maker);
  const ErrorsBetween between = evaluate_between(rig, keys);
  EXPECT_EQ(between.places, 1U);
  // Vertex 2 turns by 90 degrees about (1, 0.5) at a distance r: half-way it is r (1 - cos 45°) off the straight line.
  const double r = std::hypot(1, 0.5);
  EXPECT_NEAR(between.max_percent, 100 * r * (1 - std::sqrt(0.5)) / std::sqrt(5.0), 1e-3);
}

// --- What is carried.

TEST(ReadGltf, TargetsThatNoFrameUsesAreCarriedAsShapes) {
  test::GltfMaker maker = test::triangle();
  const std::size_t smile = maker.floats({0, 0, 1, 0, 0, 2, 0, 0, 3}, "VEC3", 3);
  const std::size_t used = maker.floats({1, 0, 0, 0, 0, 0, 0, 0, 0}, "VEC3", 3);
  auto& mesh = maker.glb.json["meshes"][0];
  mesh["primitives"][0]["targets"] = {{{"POSITION", smile}}, {{"POSITION", used}}};
  mesh["extras"]["targetNames"] = {"smile", "used"};
  maker.glb.json["nodes"][0]["rotation"] = {0, 1, 0, 0};  // half a turn about y: z becomes -z
  test::animate(maker, "a", 0, "weights", {0, 0.03F}, {0, 0, 0, 1});
  const Sequence sequence = bake(maker);
  ASSERT_EQ(sequence.rest.shapes.size(), 1U);
  EXPECT_EQ(sequence.rest.shapes[0].name, "smile");
  EXPECT_THAT(numbers(sequence.rest.shapes[0].offsets), ElementsAre(0, 0, -1, 0, 0, -2, 0, 0, -3));
  // Through a rig with corrections and back.
  Rig rig;
  rig.rest = sequence.rest;
  rig.bones = {{"bone", -1, Vector3::Zero(), Vector3::UnitY()}};
  rig.weights = {1, {0, 0, 0}, {1, 1, 1}};
  rig.motion = Motion(2, 1);
  rig.times = {0, 1};
  rig.transforms = Transforms::rigid;
  rig.corrections = Corrections{{Points::Ones(3, 3)}, {}, Eigen::MatrixXf::Identity(2, 1)};
  for (const bool corrected : {true, false}) {
    if (!corrected) rig.corrections.reset();
    const Rig back = parse_gltf_rig(glb_bytes(rig), {});
    ASSERT_EQ(back.rest.shapes.size(), 1U);
    EXPECT_EQ(back.rest.shapes[0].name, "smile");
    EXPECT_EQ(back.rest.shapes[0].offsets, rig.rest.shapes[0].offsets);
    EXPECT_EQ(back.corrections.has_value(), corrected);
    EXPECT_EQ(pose_all(back).frames[0], pose_all(rig).frames[0]);
  }
}

TEST(ReadGltf, ExtensionsThatTexturesRequireStayRequiredAndUnknownOnesAreDroppedWithAWord) {
  test::GltfMaker maker = test::skinned_triangle();
  auto& json = maker.glb.json;
  json["extensionsUsed"] = {"KHR_texture_basisu", "KHR_materials_unlit", "ACME_sparkle"};
  json["extensionsRequired"] = {"KHR_texture_basisu"};
  json["images"] = {
      {{"bufferView", maker.view(std::vector<std::uint8_t>{0xAB, 'K', 'T', 'X'})}, {"mimeType", "image/ktx2"}}};
  json["textures"] = {{{"extensions", {{"KHR_texture_basisu", {{"source", 0}}}}}}};
  json["materials"] = {{{"pbrMetallicRoughness", {{"baseColorTexture", {{"index", 0}}}}},
                        {"extensions", {{"ACME_sparkle", {{"buffer", 7}}}, {"KHR_materials_unlit", Json::object()}}}}};
  json["meshes"][0]["primitives"][0]["material"] = 0;
  std::string said;
  ReadOptions options;
  options.warn = [&](std::string_view sentence) { said += sentence; };
  const Rig rig = parse_gltf_rig(maker.bytes(), {}, options);
  EXPECT_THAT(said, HasSubstr("not carried: ACME_sparkle"));
  const auto out = test::take_apart(glb_bytes(rig)).json;
  EXPECT_EQ(out["extensionsRequired"], Json({"KHR_texture_basisu"}));
  EXPECT_EQ(out["textures"][0]["extensions"]["KHR_texture_basisu"]["source"], 0);
  EXPECT_FALSE(out["materials"][0]["extensions"].contains("ACME_sparkle"));
  EXPECT_EQ(out.dump().find("ACME"), std::string::npos);
}

TEST(ReadGltf, AMeshWithoutNormalsStaysWithoutThem) {
  test::GltfMaker maker = test::skinned_triangle();
  Rig rig = parse_gltf_rig(maker.bytes(), {});
  EXPECT_TRUE(rig.rest.flat);
  const auto attributes = [](const Rig& r) {
    return test::take_apart(glb_bytes(r)).json["meshes"][0]["primitives"][0]["attributes"];
  };
  EXPECT_FALSE(attributes(rig).contains("NORMAL")) << "players draw it flat, as they did";
  EXPECT_TRUE(parse_gltf_rig(glb_bytes(rig), {}).rest.flat);
  rig.rest.flat = false;
  EXPECT_TRUE(attributes(rig).contains("NORMAL"));
  EXPECT_FALSE(parse_gltf_rig(glb_bytes(rig), {}).rest.flat);
}

TEST(ReadGltf, ASingleMeshKeepsItsName) {
  const auto json = test::take_apart(glb_bytes(parse_gltf_rig(test::skinned_triangle().bytes(), {}))).json;
  EXPECT_EQ(json["meshes"][0]["name"], "node");
}

// --- Skins.

TEST(ReadGltf, SkinnedVerticesFollowTheirJoints) {
  test::GltfMaker maker = test::skinned_triangle();
  maker.glb.json["nodes"][0]["translation"] = {100, 0, 0};  // ignored: the mesh has a skin
  const auto half = static_cast<float>(std::sqrt(0.5));
  test::animate(maker, "turn", 2, "rotation", {0, 0.04F}, {0, 0, 0, 1, 0, 0, half, half});
  const Sequence sequence = bake(maker);
  EXPECT_THAT(numbers(sequence.rest.positions), ElementsAre(0, 0, 0, 2, 0, 0, 0, 1, 0));
  const Points last = sequence.frames[1];
  EXPECT_LT((last.col(1) - Vector3(2 * 0.25F + 1.5F * 0.75F, 1.5F * 0.75F, 0)).norm(), 1e-6F);
  EXPECT_LT((last.col(2) - Vector3(0.5F, -0.5F, 0)).norm(), 1e-6F);
  const Rig rig = parse_gltf_rig(maker.bytes(), {});
  EXPECT_TRUE(rig.jointed);
  EXPECT_EQ(rig.transforms, Transforms::rigid);
  EXPECT_EQ(rig.bones[1].parent, 0);
  EXPECT_EQ(rig.bones[1].head, Vector3(1, 0.5F, 0));
  EXPECT_LT((pose_all(rig).frames[1] - last).norm(), 1e-6F);
}

TEST(ReadGltf, ParentsComeBeforeChildrenWhateverTheOrderOfJoints) {
  test::GltfMaker maker = test::skinned_triangle();
  maker.glb.json["skins"][0] = {{"joints", {2, 1}}};
  const Rig rig = parse_gltf_rig(maker.bytes(), {});
  EXPECT_EQ(rig.bones[0].name, "root");
  EXPECT_EQ(rig.weights.bones[0], 1U) << "joint 0 of the file is the tip";
}

TEST(ReadGltf, WeightsThatDoNotSumToOneAreScaledWithAWarning) {
  std::vector<std::string> warnings;
  ReadOptions options;
  options.warn = [&](std::string_view sentence) { warnings.emplace_back(sentence); };
  const auto bytes = test::skinned_triangle({0.5F, 0, 0, 0, 0.25F, 0.75F, 0, 0, 1, 1, 0, 0}).bytes();
  const Rig rig = parse_gltf_rig(bytes, {}, options);
  EXPECT_EQ(rig.weights.values[0], 1.0F);
  EXPECT_EQ(rig.weights.values[4], 0.5F);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings[0], HasSubstr("mesh 'tri': the weights of 2 vertices do not sum to 1 (vertex 0: 0.5)"));
}

// --- Files beside the file.

TEST(ReadGltf, BuffersAndImagesMayBeFilesOrDataUris) {
  const test::TemporaryFolder folder;
  test::GltfMaker maker = test::triangle();
  std::ofstream(folder / "numbers of it.bin", std::ios::binary)
      .write(reinterpret_cast<const char*>(maker.glb.binary.data()),
             static_cast<std::streamsize>(maker.glb.binary.size()));
  std::ofstream(folder / "skin.png") << "\x89PNG pretend";
  nlohmann::json json = maker.glb.json;
  json["buffers"] = {{{"byteLength", maker.glb.binary.size()}, {"uri", "numbers%20of%20it.bin"}}};
  json["images"] = {{{"uri", "skin.png"}}, {{"uri", "data:image/jpeg;base64,/9j/AA=="}}, {{"uri", "gone.png"}}};
  std::ofstream(folder / "a.gltf") << json.dump();
  std::vector<std::string> warnings;
  ReadOptions options;
  options.warn = [&](std::string_view sentence) { warnings.emplace_back(sentence); };
  const Sequence sequence = read_gltf_sequence(folder / "a.gltf", options);
  EXPECT_EQ(sequence.vertex_count(), 3U);
  const auto& images = sequence.rest.appearance.images;
  ASSERT_EQ(images.size(), 3U);
  EXPECT_EQ(images[0].mime_type, "image/png");
  EXPECT_THAT(images[1].bytes, ElementsAre(0xFF, 0xD8, 0xFF, 0x00));
  EXPECT_EQ(images[1].mime_type, "image/jpeg");
  EXPECT_TRUE(images[2].bytes.empty());
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings[0], HasSubstr("gone.png"));
  for (const char* outside : {"../a.bin", "/etc/passwd", "file:///etc/passwd", "sub/../../a.bin"}) {
    json["buffers"][0]["uri"] = outside;
    std::ofstream(folder / "a.gltf") << json.dump();
    test::expect_error(ErrorKind::input, "does not stay in the file's own folder",
                       [&] { read_gltf_sequence(folder / "a.gltf"); });
  }
}

// --- Models made elsewhere.

struct KnownModel {
  const char* file;
  std::size_t vertices;
  std::size_t frames;
  std::size_t clips;
  std::size_t bones;  // 0: no skin
  bool jointed;
};

TEST(ReadGltf, ModelsFromElsewhereAreReadAndPosedAlikeAsRigAndAsSequence) {
  SINEW_NEEDS_DATA();
  // Vertices: at most those of the file. Frames: the keys, and between those that are far apart. Fox's hip moves
  // relative to the joint above it, and joints of CesiumMan are not where its bind pose has them: neither is jointed.
  for (const KnownModel& known : {KnownModel{"AnimatedMorphCube.glb", 8, 127, 1, 0, false},
                                  {"CesiumMan.glb", 3273, 48, 1, 19, false},
                                  {"Fox.glb", 1728, 131, 3, 24, false},
                                  {"RiggedFigure.glb", 370, 39, 1, 19, true},
                                  {"RiggedSimple.glb", 160, 50, 1, 2, true},
                                  {"SimpleSkin.gltf", 10, 166, 1, 2, true}}) {
    const std::filesystem::path path = test::data_folder() / "gltf" / known.file;
    const Sequence sequence = read_gltf_sequence(path);
    EXPECT_EQ(sequence.frame_count(), known.frames) << known.file;
    EXPECT_EQ(sequence.clips.size(), known.clips) << known.file;
    EXPECT_LE(sequence.vertex_count(), known.vertices) << known.file;
    if (known.bones == 0) {
      test::expect_error(ErrorKind::input, "has no skin", [&] { read_gltf_rig(path); });
      continue;
    }
    const Rig rig = read_gltf_rig(path);
    EXPECT_EQ(rig.bone_count(), known.bones) << known.file;
    EXPECT_EQ(rig.jointed, known.jointed) << known.file;
    const float size = rig.rest.positions.cwiseAbs().maxCoeff();
    const Sequence posed = pose_all(rig);
    for (std::size_t f = 0; f < sequence.frame_count(); f += 7)
      ASSERT_LT((posed.frames[f] - sequence.frames[f]).cwiseAbs().maxCoeff(), 2e-6F * size) << known.file << " " << f;
    const Rig again = parse_gltf_rig(glb_bytes(rig), {});
    const Sequence twice = pose_all(again);
    for (std::size_t f = 0; f < sequence.frame_count(); f += 7)
      ASSERT_LT((twice.frames[f] - sequence.frames[f]).cwiseAbs().maxCoeff(), 5e-6F * size) << known.file << " " << f;
  }
}

}  // namespace
}  // namespace sinew
