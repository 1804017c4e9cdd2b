#include "sinew/pack/pack.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "io/gltf_cases.h"
#include "io/gltf_rigs.h"
#include "sinew/core/error.h"
#include "sinew/evaluate/vertex_match.h"
#include "sinew/io/gltf.h"
#include "sinew/pack/engines.h"
#include "support/support.h"

namespace sinew {
namespace {

Errors errors_of(const std::vector<std::byte>& bytes, const Sequence& target) {
  const Rig read = parse_gltf_rig(bytes, {}, {}, "packed");
  const VertexMatch match = match_vertices(read, target);
  const Sequence part = matched_part(target, match);
  return evaluate(in_order_of(read, match, part), part);
}

class Packed : public ::testing::TestWithParam<test::GltfCase> {};

TEST_P(Packed, StaysWithinWhatIsAllowed) {
  const Rig& rig = GetParam().rig;
  for (const PackQuality quality : {PackQuality::low, PackQuality::high}) {
    PackOptions options;
    options.quality = quality;
    options.threads = 1;
    PackReport report;
    const std::vector<std::byte> bytes = pack_glb(rig, nullptr, options, report);
    const Errors errors = errors_of(bytes, pose_all(rig));
    EXPECT_LE(errors.e_rms, report.allowed_e_rms);
    EXPECT_LE(errors.normal_degrees, report.allowed_normals);
    EXPECT_EQ(bytes.size(), report.bytes_after);
    std::size_t sum = 0;
    for (const PackedPart& part : report.parts) sum += part.after;
    EXPECT_EQ(sum, bytes.size());
  }
}

TEST_P(Packed, WithoutLossIsPosedAsBefore) {
  const Rig& rig = GetParam().rig;
  PackOptions options;
  options.lossless = true;
  PackReport report;
  const std::vector<std::byte> bytes = pack_glb(rig, nullptr, options, report);
  EXPECT_LT(errors_of(bytes, pose_all(rig)).max_percent, 100 * 1e-5);
}

std::vector<test::GltfCase> moving_cases() {
  std::vector<test::GltfCase> out;
  for (test::GltfCase& entry : test::gltf_cases())
    if (entry.rig.frame_count() > 0) out.push_back(std::move(entry));
  return out;
}
INSTANTIATE_TEST_SUITE_P(Rigs, Packed, ::testing::ValuesIn(moving_cases()),
                         [](const auto& one) { return one.param.name; });

TEST(Pack, SameBytesForOneTwoAndSevenThreads) {
  const Rig rig = test::random_rig(150, 5, 4, 6, Transforms::affine);
  PackReport report;
  PackOptions options;
  options.threads = 1;
  const std::vector<std::byte> bytes = pack_glb(rig, nullptr, options, report);
  for (const int threads : {2, 7}) {
    options.threads = threads;
    EXPECT_EQ(pack_glb(rig, nullptr, options, report), bytes);
  }
}

TEST(Pack, WeightsSumToOneExactly) {
  const Rig rig = test::random_rig(40, 6, 4, 6, Transforms::rigid);
  for (const PackQuality quality : {PackQuality::low, PackQuality::medium, PackQuality::high}) {
    PackOptions options;
    options.quality = quality;
    PackReport report;
    const Rig read = parse_gltf_rig(pack_glb(rig, nullptr, options, report), {}, {}, "packed");
    const auto slots = static_cast<std::size_t>(read.weights.influences);
    for (std::size_t v = 0; v < read.vertex_count(); ++v) {
      double sum = 0;
      for (std::size_t k = v * slots; k < (v + 1) * slots; ++k) sum += static_cast<double>(read.weights.values[k]);
      EXPECT_NEAR(sum, 1, 1e-7) << "vertex " << v;
    }
  }
}

TEST(Pack, ASmallerErrorMakesALargerFile) {
  const Rig rig = test::random_rig(60, 5, 4, 8, Transforms::rigid);
  std::size_t before = 0;
  for (const double error : {0.02, 0.5}) {
    PackOptions options;
    options.max_error = error;
    PackReport report;
    const std::vector<std::byte> bytes = pack_glb(rig, nullptr, options, report);
    EXPECT_LE(report.after.e_rms, error);
    if (before > 0) {
      EXPECT_LT(bytes.size(), before);
    }
    before = bytes.size();
  }
}

TEST(Pack, BonesThatNothingFollowsAndLoosePointsAreLeftOut) {
  Rig rig = test::random_rig(8, 4, 3, 5, Transforms::rigid);
  rig.bones.insert(rig.bones.begin() + 1, Bone{"idle", -1, Vector3(1, 2, 3), Vector3(1, 3, 3)});
  Motion motion(rig.frame_count(), 5);
  for (std::size_t f = 0; f < rig.frame_count(); ++f)
    for (std::size_t b = 0; b < 4; ++b) motion(f, b == 0 ? 0 : b + 1) = rig.motion(f, b);
  rig.motion = motion;
  for (std::size_t i = 0; i < rig.weights.values.size(); ++i)
    if (rig.weights.values[i] > 0 && rig.weights.bones[i] > 0) ++rig.weights.bones[i];
  PackReport report;
  const Rig read = parse_gltf_rig(pack_glb(rig, nullptr, {}, report), {}, {}, "packed");
  EXPECT_EQ(report.dropped_bones, 1U);
  EXPECT_EQ(read.bone_count(), 4U);
  EXPECT_LE(report.after.e_rms, report.allowed_e_rms);
}

TEST(Pack, WhatCannotBePackedIsRefused) {
  PackReport report;
  EXPECT_THROW(pack_glb(test::gltf_case("no_frames"), nullptr, {}, report), Error);
  Rig layered = test::random_rig(4, 3, 3, 3, Transforms::rigid);
  const std::size_t vertices = layered.vertex_count();
  layered.two_layer =
      TwoLayer{{1, {0, 1, 2}, {1, 1, 1}}, {1, std::vector<Index>(vertices, 0), std::vector<float>(vertices, 1)}};
  EXPECT_THROW(pack_glb(layered, nullptr, {}, report), Error);
  const Rig rig = test::random_rig(4, 3, 3, 3, Transforms::rigid);
  Sequence other = pose_all(rig);
  for (std::size_t f = 0; f < other.frame_count(); ++f) other.frames[f].array() += 0.1F;
  PackOptions options;
  options.max_error = 1e-3;  // far less than the rig's own
  EXPECT_THROW(pack_glb(rig, &other, options, report), Error);
}

TEST(Pack, EveryTruncatedPrefixOfAPackedFileIsRefused) {
  PackReport report;
  const std::vector<std::byte> bytes = pack_glb(test::random_rig(4, 3, 3, 3, Transforms::affine), nullptr, {}, report);
  for (std::size_t size = 0; size < bytes.size(); size += 7)
    EXPECT_THROW(parse_gltf_rig(std::span(bytes).first(size), {}, {}, "cut"), Error) << size;
}

TEST(Engines, AreTheOnesThatTheDocumentNames) {
  std::ifstream file(std::string(SINEW_SOURCE_DIR) + "/docs/shipping.md");
  std::stringstream text;
  text << file.rdbuf();
  for (const Engine& engine : engines()) {
    EXPECT_NE(text.str().find(fmt::format("| `{}` | {} |", engine.name, engine.influences)), std::string::npos)
        << engine.name;
    EXPECT_EQ(find_engine(engine.name), &engine);
  }
  EXPECT_EQ(find_engine("flash"), nullptr);
}

}  // namespace
}  // namespace sinew
