/// Bytes that no exporter writes: each is refused with a sentence, none crashes or allocates more than the file
/// accounts for.
#include <fmt/format.h>

#include <limits>

#include "io/gltf/gltf_cases.h"
#include "io/gltf/gltf_edit.h"
#include "sinew/io/gltf.h"
#include "support/support.h"

namespace sinew {
namespace {

void expect_refused(test::GltfMaker maker, const std::string& part) {
  const auto bytes = maker.bytes();
  test::expect_error(ErrorKind::input, part, [&] { parse_gltf_sequence(bytes, {}); });
  // A rig is read by the same steps; it may also be refused for having no skin.
  test::expect_error(ErrorKind::input, "", [&] { parse_gltf_rig(bytes, {}); });
}

nlohmann::json& accessor(test::GltfMaker& maker, std::size_t index) {
  return maker.glb.json["accessors"][index];
}

TEST(HostileGltf, EveryTruncatedPrefixIsRefused) {
  const std::vector<std::byte> bytes = glb_bytes(test::gltf_case("corrected"));
  for (std::size_t size = 0; size < bytes.size(); ++size)
    test::expect_error(ErrorKind::input, "glTF: ", [&] { parse_gltf_rig(std::span(bytes).first(size), {}); });
}

TEST(HostileGltf, EveryTruncatedPrefixOfJsonIsRefused) {
  const std::string text = test::triangle().glb.json.dump();
  for (std::size_t size = 0; size < text.size(); ++size)
    test::expect_error(ErrorKind::input,
                       "glTF: ", [&] { parse_gltf_sequence(std::as_bytes(std::span(text)).first(size), {}); });
}

TEST(HostileGltf, NoFlippedByteDoesMoreThanChangeOrRefuse) {
  std::vector<std::byte> bytes = glb_bytes(test::gltf_case("one_frame"));
  std::size_t refused = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::byte kept = bytes[i];
    bytes[i] ^= static_cast<std::byte>(1U << (i % 8));
    try {
      parse_gltf_rig(bytes, {}).check();
      parse_gltf_sequence(bytes, {}).check();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input) << error.what();
      ++refused;
    }
    bytes[i] = kept;
  }
  EXPECT_GT(refused, bytes.size() / 10);
}

TEST(HostileGltf, CountsBeyondTheFileAreRefusedWithoutAllocating) {
  for (const double count : {4.0, 1e6, 4e9, 1e15}) {
    test::GltfMaker maker = test::triangle();
    accessor(maker, 0)["count"] = static_cast<std::uint64_t>(count);
    expect_refused(maker, "do not fit its view of 36 bytes");
    accessor(maker, 0).erase("bufferView");
    if (count > 1e5) expect_refused(maker, "the whole file has");
  }
  test::GltfMaker maker = test::triangle();
  accessor(maker, 0)["count"] = -1;
  expect_refused(maker, "count is not a whole number");
  accessor(maker, 0)["count"] = std::numeric_limits<std::uint64_t>::max();
  expect_refused(maker, "do not fit");
  accessor(maker, 0) = {{"bufferView", 0},
                        {"byteOffset", std::numeric_limits<std::uint64_t>::max() - 3},
                        {"componentType", 5126},
                        {"count", 1},
                        {"type", "VEC3"}};
  expect_refused(maker, "do not fit");
  maker = test::triangle();
  maker.glb.json["bufferViews"][0]["byteLength"] = 4096;
  expect_refused(maker, "buffer view 0: 4096 bytes from 0");
}

TEST(HostileGltf, AnAccessorUsedOverAndOverIsRefused) {
  test::GltfMaker maker = test::triangle();
  accessor(maker, 0) = {{"bufferView", maker.view(std::vector<float>(30000, 1.0F))},
                        {"componentType", 5126},
                        {"count", 10000},
                        {"type", "VEC3"}};
  auto& primitives = maker.glb.json["meshes"][0]["primitives"];
  for (int i = 0; i < 2000; ++i) primitives.push_back({{"attributes", {{"POSITION", 0}, {fmt::format("_X{}", i), 0}}}});
  expect_refused(maker, "are used so often");
}

TEST(HostileGltf, ReferencesOutOfRangeAreRefused) {
  test::GltfMaker maker = test::triangle();
  maker.glb.json["meshes"][0]["primitives"][0]["attributes"]["POSITION"] = 7;
  expect_refused(maker, "refers to entry 7 of accessors, there are 1");
  maker = test::triangle();
  maker.glb.json["nodes"][0]["mesh"] = 1;
  expect_refused(maker, "refers to entry 1 of meshes");
  maker = test::triangle();
  maker.glb.json["meshes"][0]["primitives"][0]["indices"] =
      maker.accessor(std::vector<std::uint16_t>{0, 1, 3}, 5123, "SCALAR", 1);
  expect_refused(maker, "index 3, there are 3 vertices");
  maker = test::triangle();
  maker.glb.json["meshes"][0]["primitives"][0]["material"] = 0;
  expect_refused(maker, "refers to entry 0 of materials, there are 0");
  maker = test::triangle();
  accessor(maker, 0)["sparse"] = {
      {"count", 1},
      {"indices", {{"bufferView", maker.view(std::vector<std::uint16_t>{3})}, {"componentType", 5123}}},
      {"values", {{"bufferView", maker.view(std::vector<float>{7, 8, 9})}}}};
  expect_refused(maker, "sparse element 3, there are 3");
}

TEST(HostileGltf, CyclicSharedAndDeepNodesAreRefusedOrWalked) {
  test::GltfMaker maker = test::triangle();
  maker.glb.json["nodes"] = {{{"mesh", 0}, {"children", {1}}}, {{"children", {0}}}};
  expect_refused(maker, "is its own ancestor");
  maker.glb.json["nodes"] = {{{"mesh", 0}, {"children", {0}}}};
  expect_refused(maker, "is its own ancestor");
  maker.glb.json["nodes"] = {{{"children", {2}}}, {{"children", {2}}}, {{"mesh", 0}}};
  expect_refused(maker, "node 2 is a child of nodes 0 and 1");
  maker.glb.json["nodes"] = nlohmann::json::array();
  for (int i = 0; i < 20000; ++i) maker.glb.json["nodes"].push_back({{"children", {i + 1}}});
  maker.glb.json["nodes"].push_back({{"mesh", 0}});
  EXPECT_EQ(parse_gltf_sequence(maker.bytes(), {}).vertex_count(), 3U);
}

TEST(HostileGltf, DeeplyNestedJsonIsRefused) {
  const std::string text = std::string(100000, '[') + std::string(100000, ']');
  test::expect_error(ErrorKind::input, "nested deeper than",
                     [&] { parse_gltf_sequence(std::as_bytes(std::span(text)), {}); });
}

TEST(HostileGltf, NumbersThatAreNotFiniteAreRefused) {
  test::GltfMaker maker = test::triangle();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  accessor(maker, 0)["bufferView"] = maker.view(std::vector<float>{0, 0, 0, 1, nan, 0, 0, 1, 0});
  expect_refused(maker, "element 1 of accessor 0 is not finite");
  maker = test::triangle();
  maker.glb.json["nodes"][0]["translation"] = {0, "x", 0};
  expect_refused(maker, "not a finite number");
  maker = test::triangle();
  maker.glb.json["nodes"][0]["scale"] = {1e300, 1e300, 1};
  expect_refused(maker, "not finite");
}

TEST(HostileGltf, SkinsThatDoNotFitAreRefused) {
  const auto joints = [](std::uint8_t joint) {
    test::GltfMaker maker = test::skinned_triangle();
    auto& attributes = maker.glb.json["meshes"][0]["primitives"][0]["attributes"];
    attributes["JOINTS_0"] =
        maker.accessor(std::vector<std::uint8_t>{0, 0, 0, 0, 0, joint, 0, 0, 0, 1, 0, 0}, 5121, "VEC4", 4);
    return maker;
  };
  expect_refused(joints(2), "vertex 1 refers to joint 2, its skin has 2");
  expect_refused(test::skinned_triangle({1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0}), "the weights of vertex 1 sum to 0");
  expect_refused(test::skinned_triangle({1, 0, 0, 0, 2, -1, 0, 0, 1, 0, 0, 0}), "vertex 1 has weight -1");
  test::GltfMaker maker = test::skinned_triangle();
  maker.glb.json["skins"][0]["joints"] = {1, 9};
  expect_refused(maker, "skin 0, joint 1 refers to entry 9 of nodes");
  maker.glb.json["skins"][0]["joints"] = {1, 2, 0};
  expect_refused(maker, "2 inverse bind matrices for 3 joints");
  maker.glb.json["skins"][0]["joints"] = nlohmann::json::array();
  expect_refused(maker, "has no joints");
}

TEST(HostileGltf, AnimationsThatDoNotFitAreRefused) {
  test::GltfMaker maker = test::triangle();
  test::animate(maker, "a", 0, "translation", {0, 1}, {0, 0, 0});
  expect_refused(maker, "3 numbers for 2 keys, expected 6");
  maker = test::triangle();
  test::animate(maker, "a", 0, "translation", {1, 0.5F}, {0, 0, 0, 0, 0, 0});
  expect_refused(maker, "is not after the key before it");
  maker = test::triangle();
  test::animate(maker, "a", 0, "weights", {0, 1}, {0, 0});
  expect_refused(maker, "has no morph targets");
  maker = test::triangle();
  test::animate(maker, "a", 5, "translation", {0, 1}, {0, 0, 0, 1, 0, 0});
  expect_refused(maker, "refers to entry 5 of nodes");
  maker = test::triangle();
  test::animate(maker, "long", 0, "translation", {0, 1e9F}, {0, 0, 0, 1, 0, 0});
  ReadOptions options;
  options.frames_per_second = 30;
  test::expect_error(ErrorKind::input, "more than", [&] { parse_gltf_sequence(maker.bytes(), {}, options); });
}

TEST(HostileGltf, CompressionThatIsNotReadIsRefusedInWords) {
  test::GltfMaker maker = test::triangle();
  maker.glb.json["extensionsRequired"] = {"KHR_draco_mesh_compression"};
  expect_refused(maker, "compressed with KHR_draco_mesh_compression");
  maker.glb.json["extensionsRequired"] = {"VENDOR_new_geometry"};
  expect_refused(maker, "requires extension VENDOR_new_geometry");
}

TEST(HostileGltf, FactsOfOurOwnAreBelievedOnlyWhereTheyFit) {
  test::Glb glb = test::take_apart(glb_bytes(test::gltf_case("painted")));
  auto& facts = glb.json["asset"]["extras"]["sinew"];
  facts["influences"] = 1000000000;
  facts["jointed"] = true;
  facts["bones"][0]["parent"] = 3;
  facts["bones"][1] = 7;
  facts["pieces"] = "many";
  facts["uv_names"] = {1, 2, 3};
  glb.json["animations"][0]["extras"]["sinew"]["times"] = {{"start", 9}, {"step", -1}};
  const Rig rig = parse_gltf_rig(test::put_together(glb), {});
  EXPECT_EQ(rig.weights.influences, 3);
  EXPECT_EQ(rig.bones[0].parent, -1);
  EXPECT_EQ(rig.times[0], 0);
  facts["transforms"] = "rigid";
  glb.json["nodes"][glb.json["skins"][0]["joints"][0].get<std::size_t>()]["scale"] = {2, 1, 1};
  EXPECT_EQ(parse_gltf_rig(test::put_together(glb), {}).transforms, Transforms::affine);
  auto& attributes = glb.json["meshes"][0]["primitives"];
  for (auto& primitive : attributes) primitive["attributes"]["_CONTROL_POINT"] = primitive["attributes"]["TEXCOORD_0"];
  test::expect_error(ErrorKind::input, "numbers per element", [&] { parse_gltf_rig(test::put_together(glb), {}); });
}

}  // namespace
}  // namespace sinew
