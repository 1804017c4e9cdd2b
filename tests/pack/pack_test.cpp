#include "sinew/pack/pack.h"

#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <sstream>

#include "io/gltf/gltf_cases.h"
#include "io/gltf/gltf_rigs.h"
#include "io/gltf/meshopt.h"
#include "pack/cheap_rounding.h"
#include "sinew/core/bounds.h"
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

nlohmann::json json_of(const std::vector<std::byte>& glb) {
  const auto size =
      static_cast<std::ptrdiff_t>(std::to_integer<unsigned>(glb[12]) | (std::to_integer<unsigned>(glb[13]) << 8U) |
                                  (std::to_integer<unsigned>(glb[14]) << 16U));
  const auto* const text = reinterpret_cast<const char*>(glb.data()) + 20;
  return nlohmann::json::parse(text, text + size);
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

/// Bones that swing slowly, sampled often.
Rig swinging_rig(std::size_t frames) {
  Rig rig = test::random_rig(30, 4, 3, static_cast<int>(frames), Transforms::rigid);
  for (std::size_t f = 0; f < frames; ++f)
    for (std::size_t b = 0; b < 4; ++b) {
      const float angle = std::sin(0.04F * static_cast<float>(f) + static_cast<float>(b));
      const Eigen::Matrix3f A = Eigen::AngleAxisf(angle, Vector3(1, 2, static_cast<float>(b)).normalized()).matrix();
      rig.motion(f, b).leftCols<3>() = A;
      rig.motion(f, b).col(3) = rig.bones[b].head - A * rig.bones[b].head;
    }
  return rig;
}

TEST(Pack, KeysThatInterpolationReplacesAreLeftOut) {
  const Rig rig = swinging_rig(200);
  PackReport report;
  const std::vector<std::byte> bytes = pack_glb(rig, nullptr, {}, report);
  EXPECT_LE(report.after.e_rms, report.allowed_e_rms);
  const auto keys = std::find_if(report.parts.begin(), report.parts.end(),
                                 [](const PackedPart& part) { return part.name == "key times"; });
  ASSERT_NE(keys, report.parts.end());
  EXPECT_NE(keys->precision, "all keys");
  const Rig read = parse_gltf_rig(bytes, {}, {}, "packed");
  EXPECT_EQ(read.frame_count(), rig.frame_count());
  EXPECT_LE(errors_of(bytes, pose_all(rig)).e_rms, report.allowed_e_rms);
  // A movement that jumps from frame to frame needs nearly all of them.
  const Rig wild = test::random_rig(30, 4, 3, 40, Transforms::rigid);
  pack_glb(wild, nullptr, {}, report);
  for (const PackedPart& part : report.parts)
    if (part.name == "key times") {
      EXPECT_EQ(part.precision, "all keys");
    }
}

/// Names of the nodes that animations change, with the path.
std::vector<std::string> animated(const nlohmann::json& root) {
  std::vector<std::string> out;
  for (const auto& animation : root["animations"])
    for (const auto& channel : animation["channels"])
      out.push_back(root["nodes"][channel["target"]["node"].get<std::size_t>()]["name"].get<std::string>() + " " +
                    channel["target"]["path"].get<std::string>());
  return out;
}

TEST(Pack, ChildrenStayChildrenWhereJointsSlide) {
  Rig rig = test::chain_rig(40, 4, 9);
  for (std::size_t f = 0; f < rig.frame_count(); ++f)
    rig.motion(f, 2).col(3) += 0.1F * static_cast<float>(f) * Vector3(1, 0.5F, 0.2F);
  rig.jointed = false;
  rig.check();
  PackReport report;
  const std::vector<std::byte> bytes = pack_glb(rig, nullptr, {}, report);
  const std::vector<std::byte> plain = glb_bytes(rig);
  for (const auto* file : {&bytes, &plain}) {
    const nlohmann::json root = json_of(*file);
    for (std::size_t b = 1; b < 4; ++b) {
      const nlohmann::json& joints = root["skins"][0]["joints"];
      const auto& holder = root["nodes"][joints[static_cast<std::size_t>(rig.bones[b].parent)].get<std::size_t>()];
      const auto& children = holder["children"];
      EXPECT_NE(std::find(children.begin(), children.end(), joints[b]), children.end()) << "bone " << b;
    }
    const std::vector<std::string> tracks = animated(root);
    const auto slides = [&](std::size_t b) {
      return std::count(tracks.begin(), tracks.end(), rig.bones[b].name + " translation");
    };
    EXPECT_EQ(slides(2), 1);
    const Rig read = parse_gltf_rig(*file, {}, {}, "written");
    for (std::size_t b = 0; b < 4; ++b) EXPECT_EQ(read.bones[b].parent, rig.bones[b].parent);
  }
  EXPECT_LE(errors_of(bytes, pose_all(rig)).e_rms, report.allowed_e_rms);
  EXPECT_LT(test::largest_difference(parse_gltf_rig(plain, {}, {}, "written"), rig), 1e-5);
}

TEST(Pack, ShearThatFloatsLeaveIsNone) {
  Rig rig = test::chain_rig(40, 4, 9);
  rig.jointed = false;
  rig.transforms = Transforms::affine;
  PackReport report;
  const std::size_t tracks = animated(json_of(pack_glb(rig, nullptr, {}, report))).size();
  std::uint32_t x = 1;
  for (std::size_t f = 0; f < rig.frame_count(); ++f)
    for (std::size_t b = 0; b < 4; ++b)
      for (Eigen::Index i = 0; i < 9; ++i) {
        x = x * 1664525U + 1013904223U;
        rig.motion(f, b)(i % 3, i / 3) += 2e-6F * (static_cast<float>(x >> 8U) / 8388608.0F - 1);
      }
  const std::vector<std::byte> bytes = pack_glb(rig, nullptr, {}, report);
  EXPECT_EQ(animated(json_of(bytes)).size(), tracks);
  EXPECT_LE(errors_of(bytes, pose_all(rig)).e_rms, report.allowed_e_rms);
}

TEST(Pack, TracksThatOnlyTrembleStandStillWhereThatShowsLittle) {
  Rig rig = test::random_rig(60, 4, 3, 12, Transforms::rigid);
  const Affine at = rig.motion(0, 2);
  for (std::size_t f = 0; f < 12; ++f) {
    rig.motion(f, 2) = at;
    rig.motion(f, 2).leftCols<3>() =
        at.leftCols<3>() * Eigen::AngleAxisf(2e-3F * static_cast<float>(f % 3), Vector3(1, 2, 2).normalized()).matrix();
  }
  PackReport report;
  PackOptions options;
  options.quality = PackQuality::low;
  const std::vector<std::byte> bytes = pack_glb(rig, nullptr, options, report);
  EXPECT_LE(errors_of(bytes, pose_all(rig)).e_rms, report.allowed_e_rms);
  for (const std::string& track : animated(json_of(bytes))) EXPECT_NE(track, rig.bones[2].name + " rotation");
}

TEST(Pack, TracksThatStandStillHaveOneKey) {
  Rig rig = test::random_rig(30, 4, 3, 12, Transforms::rigid);
  const auto turned = [&](std::size_t b, float angle) {
    Affine out;
    out.leftCols<3>() = Eigen::AngleAxisf(angle, Vector3(1, 2, 2).normalized()).matrix();
    out.col(3) = rig.bones[b].head - out.leftCols<3>() * rig.bones[b].head;
    return out;
  };
  // What floats leave of a motion that is none.
  for (std::size_t f = 0; f < 12; ++f) rig.motion(f, 2) = turned(2, 0.5F + 1e-6F * static_cast<float>(f % 3));
  PackReport report;
  const std::vector<std::byte> bytes = pack_glb(rig, nullptr, {}, report);
  const nlohmann::json root = json_of(bytes);
  for (const auto& channel : root["animations"][0]["channels"]) {
    if (root["nodes"][channel["target"]["node"].get<std::size_t>()]["name"] != rig.bones[2].name) continue;
    const auto& sampler = root["animations"][0]["samplers"][channel["sampler"].get<std::size_t>()];
    EXPECT_EQ(root["accessors"][sampler["output"].get<std::size_t>()]["count"], 1) << channel;
  }
  EXPECT_LE(errors_of(bytes, pose_all(rig)).e_rms, report.allowed_e_rms);
}

TEST(Pack, WhatAllClipsHoldStillIsWhereTheNodeRests) {
  Rig rig = test::random_rig(30, 4, 3, 12, Transforms::rigid);
  rig.clips = {{"a", 0, 4}, {"b", 4, 4}, {"c", 8, 4}};
  const auto turn = [&](std::size_t f, std::size_t b, float angle) {
    const Eigen::Matrix3f A = Eigen::AngleAxisf(angle, Vector3(1, 2, 2).normalized()).matrix();
    rig.motion(f, b).leftCols<3>() = A;
    rig.motion(f, b).col(3) = rig.bones[b].head - A * rig.bones[b].head;
  };
  for (std::size_t f = 0; f < 12; ++f) {
    turn(f, 1, 0.7F);
    turn(f, 2, f < 8 ? 0.0F : 0.1F * static_cast<float>(f));
  }
  for (const bool lossless : {false, true}) {
    PackOptions options;
    options.lossless = lossless;
    PackReport report;
    const std::vector<std::byte> bytes = pack_glb(rig, nullptr, options, report);
    const std::vector<std::string> tracks = animated(json_of(bytes));
    const auto count = [&](std::size_t b) {
      return std::count(tracks.begin(), tracks.end(), rig.bones[b].name + " rotation");
    };
    EXPECT_EQ(count(0), 3);
    EXPECT_EQ(count(1), 0);
    EXPECT_EQ(count(2), 3) << "what one clip moves all of them set";
    const Rig read = parse_gltf_rig(bytes, {}, {}, "packed");
    const double size = bounding_box_diagonal(rig.rest.positions);
    EXPECT_NEAR((read.bones[1].head - rig.bones[1].head).norm(), 0, 1e-2 * size);
    EXPECT_LE(errors_of(bytes, pose_all(rig)).e_rms, std::max(1e-4, report.allowed_e_rms));
  }
}

TEST(Pack, TracksThatAreAlikeAreWrittenOnce) {
  Rig rig = test::random_rig(30, 4, 3, 6, Transforms::rigid);
  for (std::size_t f = 0; f < 6; ++f)
    for (std::size_t b = 1; b < 4; ++b) {
      const Eigen::Matrix3f A = rig.motion(f, 0).leftCols<3>();
      rig.motion(f, b).leftCols<3>() = A;
      rig.motion(f, b).col(3) = rig.bones[b].head - A * rig.bones[b].head;
    }
  PackReport report;
  const std::vector<std::byte> bytes = pack_glb(rig, nullptr, {}, report);
  const nlohmann::json root = json_of(bytes);
  std::set<std::size_t> rotations;
  for (const auto& channel : root["animations"][0]["channels"])
    if (channel["target"]["path"] == "rotation") rotations.insert(channel["sampler"].get<std::size_t>());
  EXPECT_EQ(rotations.size(), 1U);
  EXPECT_LE(errors_of(bytes, pose_all(rig)).e_rms, report.allowed_e_rms);
}

TEST(Pack, MeshesThatFollowTooManyBonesAreCut) {
  Rig rig = test::random_rig(100, 150, 2, 3, Transforms::rigid);
  const auto slots = static_cast<std::size_t>(rig.weights.influences);
  for (std::size_t v = 0; v < rig.vertex_count(); ++v) {  // bones along the bar
    rig.weights.bones[v * slots] = static_cast<Index>(v * 149 / rig.vertex_count());
    rig.weights.bones[v * slots + 1] = rig.weights.bones[v * slots] + 1;
  }
  PackOptions options;
  options.bones_per_mesh = 64;
  PackReport report;
  const std::vector<std::byte> bytes = pack_glb(rig, nullptr, options, report);
  EXPECT_GE(report.skins, 3U);
  EXPECT_LE(report.skins, 6U);
  const nlohmann::json root = json_of(bytes);
  ASSERT_EQ(root["skins"].size(), report.skins);
  for (const auto& skin : root["skins"]) EXPECT_LE(skin["joints"].size(), 64U);
  EXPECT_LE(errors_of(bytes, pose_all(rig)).e_rms, report.allowed_e_rms);
  EXPECT_EQ(parse_gltf_rig(bytes, {}, {}, "packed").bone_count(), rig.bone_count());
  options.bones_per_mesh = 63;
  EXPECT_THROW(pack_glb(rig, nullptr, options, report), Error);
}

TEST(Pack, VerticesThatRoundingWouldJoinStayApart) {
  Rig rig = test::random_rig(40, 4, 1, 6, Transforms::rigid);
  const Vector3 near = rig.rest.positions.col(8) + Vector3(1e-6F, 0, 0);
  rig.rest.positions.col(9) = near;
  rig.weights.bones[9] = rig.weights.bones[8];
  PackOptions options;
  options.quality = PackQuality::low;
  PackReport report;
  const std::vector<std::byte> bytes = pack_glb(rig, nullptr, options, report);
  EXPECT_EQ(parse_gltf_rig(bytes, {}, {}, "packed").vertex_count(), rig.vertex_count());
  EXPECT_LE(errors_of(bytes, pose_all(rig)).e_rms, report.allowed_e_rms);
}

TEST(Pack, TheRestPoseIsFittedToTheExamples) {
  const Rig exact = test::random_rig(200, 5, 4, 12, Transforms::rigid);
  const Sequence examples = pose_all(exact);
  Rig rig = exact;
  const double size = bounding_box_diagonal(rig.rest.positions);
  for (Eigen::Index v = 0; v < rig.rest.positions.cols(); ++v)
    rig.rest.positions(v % 3, v) += static_cast<float>((v % 2 == 0 ? 4e-4 : -4e-4) * size);
  PackReport report;
  const std::vector<std::byte> bytes = pack_glb(rig, &examples, {}, report);
  EXPECT_LT(report.fitted.e_rms, 0.5 * report.before.e_rms);
  EXPECT_LE(errors_of(bytes, examples).e_rms, report.allowed_e_rms);
}

TEST(CheapRounding, TakesFewerBytesThanACoarserStepWouldForWhatItMisses) {
  std::vector<double> x;
  for (int i = 0; i < 4000; ++i) x.push_back(20 * std::sin(0.02 * i) + 0.45 * std::sin(1.7 * i * i));
  const std::vector<int> cheap = pack::cheap_rounding(x, 1, 127, 5);
  std::vector<std::uint8_t> nearest_bytes, cheap_bytes;
  double nearest_missed = 0;
  double cheap_missed = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_LE(std::abs(cheap[i] - x[i]), 1.5);
    cheap_missed += std::pow(cheap[i] - x[i], 2);
    nearest_missed += std::pow(std::round(x[i]) - x[i], 2);
    for (const int value : {cheap[i], 0, 0, 0}) cheap_bytes.push_back(static_cast<std::uint8_t>(value));
    for (const int value : {static_cast<int>(std::lround(x[i])), 0, 0, 0})
      nearest_bytes.push_back(static_cast<std::uint8_t>(value));
  }
  const auto coded = [](const std::vector<std::uint8_t>& bytes) {
    return static_cast<double>(
        gltf::encode_view({"ATTRIBUTES", "", bytes.size() / 4, 4}, std::as_bytes(std::span(bytes))).size());
  };
  const double coarser = static_cast<double>(x.size()) / 8 * 0.5 * std::log2(cheap_missed / nearest_missed);
  EXPECT_LT(coded(cheap_bytes), coded(nearest_bytes) - coarser);
}

TEST(CheapRounding, KeepsToItsStepAndItsLimit) {
  const std::vector<double> x = {-400, 3.2, 90.1, 127.4, 6, 0};
  for (const int step : {1, 6, 50})
    for (const int value : pack::cheap_rounding(x, step, 127, 0)) {
      EXPECT_EQ(value % step, 0);
      EXPECT_LE(std::abs(value), 127);
    }
  EXPECT_TRUE(pack::cheap_rounding({}, 1, 127, 0).empty());
}

TEST(Pack, StopsWhenProgressSaysSo) {
  PackReport report;
  double last = 0;
  const Rig rig = test::random_rig(10, 3, 3, 4, Transforms::rigid);
  const Progress stop = [&](std::string_view, double fraction) {
    EXPECT_GE(fraction, last);
    last = fraction;
    return fraction < 0.4;
  };
  EXPECT_TRUE(pack_glb(rig, nullptr, {}, report, stop).empty());
  EXPECT_TRUE(report.cancelled);
  EXPECT_LT(last, 0.6);
  // Also where all is measured and files are tried.
  const Progress late = [](std::string_view, double fraction) { return fraction < 1; };
  EXPECT_TRUE(pack_glb(rig, nullptr, {}, report, late).empty());
  EXPECT_TRUE(report.cancelled);
}

/// A rig of affine bones with two layers over them.
Rig layered_rig() {
  Rig rig = test::random_rig(60, 6, 4, 12, Transforms::affine);
  TwoLayer layers;
  layers.dictionary = {2, {}, {}};
  for (Index j = 0; j < 30; ++j) {
    for (const Index b : {j % 6, (j + 1) % 6}) layers.dictionary.columns.push_back(b);
    const float w = 0.5F + 0.01F * static_cast<float>(j);
    for (const float x : {w, 1 - w}) layers.dictionary.values.push_back(x);
  }
  layers.coefficients = {2, {}, {}};
  for (Index v = 0; v < rig.vertex_count(); ++v) {
    for (const Index j : {v / 9 % 30, (v / 9 + 4) % 30}) layers.coefficients.columns.push_back(j);
    const float w = 0.003F * static_cast<float>(v % 300);
    for (const float x : {w, 1 - w}) layers.coefficients.values.push_back(x);
  }
  rig.two_layer = layers;
  rig.rest.normals = {};
  return rig;
}

TEST(PackTwoLayers, TheModelAloneIsPosedAsItsReportSays) {
  const Rig rig = layered_rig();
  rig.check();
  std::size_t largest = 0;
  for (const PackQuality quality : {PackQuality::high, PackQuality::low}) {
    PackOptions options;
    options.only_two_layer = true;
    options.quality = quality;
    PackReport report;
    const std::vector<std::byte> bytes = pack_glb(rig, nullptr, options, report);
    const Rig read = parse_gltf_rig(bytes, {}, {}, "packed");
    ASSERT_TRUE(read.two_layer.has_value());
    EXPECT_FALSE(read.rest.flat);
    EXPECT_EQ(read.frame_count(), rig.frame_count());
    EXPECT_EQ(read.vertex_count(), rig.vertex_count());
    const Errors errors = errors_of(bytes, pose_all(rig));
    EXPECT_LE(errors.e_rms, report.allowed_e_rms);
    EXPECT_EQ(errors.e_rms, report.after.e_rms);
    EXPECT_LT(bytes.size(), report.bytes_before / 3);
    if (largest > 0) {
      EXPECT_LT(bytes.size(), largest);
    }
    largest = bytes.size();
    options.threads = 3;
    EXPECT_EQ(pack_glb(rig, nullptr, options, report), bytes);
  }
}

TEST(PackTwoLayers, BonesThatStretchFarFit) {
  Rig rig = layered_rig();
  for (std::size_t f = 0; f < rig.frame_count(); ++f) rig.motion(f, 2) = 70 * rig.motion(f, 2);
  PackOptions options;
  options.only_two_layer = true;
  options.quality = PackQuality::low;
  PackReport report;
  const std::vector<std::byte> bytes = pack_glb(rig, nullptr, options, report);
  EXPECT_LE(errors_of(bytes, pose_all(rig)).e_rms, report.allowed_e_rms);
}

TEST(PackTwoLayers, OneOrTheOtherIsAskedForOrRefused) {
  PackReport report;
  PackOptions options;
  options.only_two_layer = true;
  EXPECT_THROW(pack_glb(test::random_rig(8, 3, 3, 3, Transforms::rigid), nullptr, options, report), Error);
  options.lossless = true;
  EXPECT_THROW(pack_glb(layered_rig(), nullptr, options, report), Error);
}

TEST(PackTwoLayers, EveryTruncatedPrefixIsRefused) {
  PackOptions options;
  options.only_two_layer = true;
  PackReport report;
  const std::vector<std::byte> bytes = pack_glb(layered_rig(), nullptr, options, report);
  for (std::size_t size = 0; size < bytes.size(); size += 97)
    EXPECT_THROW(parse_gltf_rig(std::span(bytes).first(size), {}, {}, "cut"), Error) << size;
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
