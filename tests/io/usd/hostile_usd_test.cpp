/// Layers that no program writes: each is refused with a sentence, none crashes or takes more memory than it accounts
/// for.
#include <fmt/format.h>

#include "io/small_sequence.h"
#include "io/usd/usd_rigs.h"
#include "sinew/io/usd.h"
#include "support/support.h"

namespace sinew {
namespace {

void expect_refused(const std::string& layer, const std::string& part) {
  test::expect_error(ErrorKind::input, part, [&] { parse_usd_sequence(test::bytes_of(layer), {}); });
  test::expect_error(ErrorKind::input, "", [&] { parse_usd_rig(test::bytes_of(layer), {}); });
}

/// A triangle whose parts can be replaced.
std::string triangle(const std::string& what, const std::string& with) {
  std::string layer = R"(#usda 1.0
def Mesh "m" ( )
{
    int[] faceVertexCounts = [3]
    int[] faceVertexIndices = [0, 1, 2]
    point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 2, 0)]
}
)";
  const std::size_t at = layer.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return layer.replace(at, what.size(), with);
}

std::vector<std::byte> written(const Rig& rig, const char* name) {
  const test::TemporaryFolder folder;
  write_usd_rig(folder / name, rig);
  return read_file(folder / name);
}

TEST(HostileUsd, EveryTruncatedPrefixIsRefused) {
  Rig rig = test::gltf_case("pieces");
  rig.corrections = Corrections{{0.5F * rig.rest.positions}, {}, Eigen::MatrixXf::Constant(4, 1, 0.25F)};
  const std::vector<std::byte> layer = written(rig, "rig.usda");
  for (std::size_t size = 0; size + 1 < layer.size(); ++size) {  // only the last line end can be missed
    const std::vector<std::byte> cut = test::prefix(layer, size);
    test::expect_error(ErrorKind::input, "USD: ", [&] { parse_usd_rig(cut, {}); });
    if (HasFailure()) FAIL() << "cut to " << size << " of " << layer.size();
  }
  const std::vector<std::byte> package = written(rig, "rig.usdz");
  for (std::size_t size = 0; size < package.size(); size += 7)
    test::expect_error(ErrorKind::input, "USD", [&] { parse_usd_rig(test::prefix(package, size), {}); });
}

TEST(HostileUsd, NoFlippedByteDoesMoreThanChangeOrRefuse) {
  std::vector<std::byte> bytes = written(test::gltf_case("corrected"), "rig.usda");
  ReadOptions options;
  options.max_bytes = 1 << 20;
  std::size_t refused = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::byte kept = bytes[i];
    bytes[i] ^= static_cast<std::byte>(1U << (i % 7));
    try {
      parse_usd_rig(bytes, {}, options).check();
      parse_usd_sequence(bytes, {}, options).check();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input) << error.what();
      ++refused;
    }
    bytes[i] = kept;
  }
  EXPECT_GT(refused, bytes.size() / 10);
}

TEST(HostileUsd, BinaryLayersAreRefusedWithTheCommandThatHelps) {
  expect_refused(std::string("PXR-USDC\0\0\0", 11), "usdcat IN -o OUT.usda");
  expect_refused("", "does not begin with #usda");
}

TEST(HostileUsd, WhatLiesInOtherFilesIsRefusedWithTheCommandThatHelps) {
  expect_refused(triangle("( )", "( references = @other.usda@</x> )"), "refers to @other.usda@");
  expect_refused(triangle("( )", "( payload = @other.usda@ )"), "usdcat --flatten");
  expect_refused(triangle("#usda 1.0", "#usda 1.0\n(subLayers = [@a.usda@])"), "made of other layers");
  expect_refused(triangle("( )", "( clips = { dictionary default = { asset[] assetPaths = [@a.usda@] } } )"), "clips");
  expect_refused(triangle("( )", "( references = </x> (offset = 1) )"), "at other times");
}

TEST(HostileUsd, ReferencesThatLeadNowhereOrInCirclesAreRefused) {
  expect_refused(triangle("( )", "( references = </x> )"), "which is not there");
  expect_refused(triangle("( )", "( inherits = </m> )"), "refers to itself");
  // Each prim holds two copies of the next: 2^40 of them.
  std::string layer = "#usda 1.0\n";
  for (int i = 0; i < 40; ++i)
    layer += fmt::format(
        "class \"c{0}\" {{ def \"a\" (references = </c{1}>) {{}}\n def \"b\" (references = </c{1}>) {{}} }}\n", i,
        i + 1);
  layer += "class \"c40\" {}\ndef \"top\" (references = </c0>) {}\n";
  expect_refused(layer, "more than 250000 prims");
}

TEST(HostileUsd, NestingHasAnEnd) {
  std::string prims = "#usda 1.0\n";
  for (int i = 0; i < 100000; ++i) prims += "def \"p\" {";
  expect_refused(prims, "nested deeper");
  expect_refused(triangle("[3]", std::string(100000, '[')), "nested deeper");
}

TEST(HostileUsd, FacesThatDoNotFitAreRefused) {
  expect_refused(triangle("[3]", "[4]"), "4 corners, there are 3");
  expect_refused(triangle("[3]", "[-3]"), "faceVertexCounts has -3");
  expect_refused(triangle("[0, 1, 2]", "[0, 1, 3]"), "faceVertexIndices has 3, expected 0 to 2");
  expect_refused(triangle("[0, 1, 2]", "[0, 1, 99999999999999999999]"), "does not fit");
}

TEST(HostileUsd, NumbersThatAreNoneAreRefusedWithTheirLine) {
  expect_refused(triangle("(1, 0, 0)", "(1, nan, 0)"), "line 6: a number that is not finite");
  expect_refused(triangle("(1, 0, 0)", "(1, 1e39, 0)"), "line 6: a number that is not finite");
  expect_refused(triangle("(1, 0, 0)", "(1, 0)"), "2 numbers between parentheses, 3 expected");
  expect_refused(triangle("(1, 0, 0)", "(1, x, 0)"), "line 6: a number is expected");
}

TEST(HostileUsd, TopologyThatChangesIsRefused) {
  expect_refused(triangle("int[] faceVertexCounts = [3]", "int[] faceVertexCounts.timeSamples = { 0: [3], 1: [1, 2] }"),
                 "topology changes");
  expect_refused(triangle("point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 2, 0)]",
                          "point3f[] points.timeSamples = { 0: [(0,0,0),(1,0,0),(0,2,0)], 1: [(0,0,0)] }"),
                 "time code 1; its topology may change");
}

TEST(HostileUsd, MoreFramesThanMemoryAreRefused) {
  const std::string layer = triangle("( )", "( )");
  ReadOptions options;
  options.max_bytes = 35;
  test::expect_error(ErrorKind::input, "more than the limit of 35 bytes",
                     [&] { parse_usd_sequence(test::bytes_of(layer), {}, options); });
  const std::string moving = triangle("( )\n{",
                                      "( )\n{ double3 xformOp:translate.timeSamples = { 0: (0,0,0), 1e9: (1,0,0) }\n"
                                      "uniform token[] xformOpOrder = [\"xformOp:translate\"]");
  options.frames_per_second = 1e6;
  test::expect_error(ErrorKind::input, "frames at that rate",
                     [&] { parse_usd_sequence(test::bytes_of(moving), {}, options); });
}

TEST(HostileUsd, ImagesOutsideTheFolderAreNotRead) {
  const test::TemporaryFolder folder;
  test::write_text(folder / "secret.png", "\x89PNG secret");
  std::filesystem::create_directory(folder / "in");
  for (const std::string& asset : {std::string("../secret.png"), (folder / "secret.png").string()}) {
    std::string full = triangle("( )\n{", "( )\n{ rel material:binding = </m/k>\n");
    full.insert(full.rfind('}'), fmt::format(R"(
def Material "k" {{ token outputs:surface.connect = </m/k/s.outputs:surface>
  def Shader "s" {{ uniform token info:id = "UsdPreviewSurface"
    color3f inputs:diffuseColor.connect = </m/k/t.outputs:rgb> }}
  def Shader "t" {{ uniform token info:id = "UsdUVTexture"
    asset inputs:file = @{}@ }} }}
)",
                                             asset));
    const Sequence back = parse_usd_sequence(test::bytes_of(full), folder / "in");
    ASSERT_EQ(back.rest.appearance.images.size(), 1U);
    EXPECT_TRUE(back.rest.appearance.images[0].bytes.empty());
  }
}

}  // namespace
}  // namespace sinew
