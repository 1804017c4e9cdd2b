#include "sinew/view/crowd.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "io/gltf/gltf_rigs.h"
#include "support/support.h"
#include "view/crowd_data.h"
#include "view/page_parts.h"

namespace sinew {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

#define SINEW_NEEDS_PAGE() \
  if (!has_page()) GTEST_SKIP() << "the viewer is not built in"

Rig dense_rig(int frames = 4) {
  return test::random_rig(9, 6, 0, frames, Transforms::affine);
}

Rig two_layer_rig() {
  Rig rig = dense_rig();
  TwoLayer& model = rig.two_layer.emplace();
  model.dictionary = {2, {0, 1, 2, 3, 4, 5}, {0.75F, 0.25F, 1.5F, -0.5F, 0.5F, 0.5F}};
  model.coefficients.slots = 2;
  for (std::size_t v = 0; v < rig.vertex_count(); ++v) {
    model.coefficients.columns.insert(model.coefficients.columns.end(), {static_cast<Index>(v % 3), 2});
    model.coefficients.values.insert(model.coefficients.values.end(), {0.25F, 0.75F});
  }
  return rig;
}

std::string page_of(const std::vector<CrowdCharacter>& characters, const CrowdOptions& options = {}) {
  CrowdReport report;
  return crowd_page(characters, options, report);
}

bool has_page() {
  try {
    page_of({{"rig", {dense_rig()}}});
  } catch (const Error& error) {
    return std::string(error.what()).find("no viewer") == std::string::npos;
  }
  return true;
}

/// The facts of a page.
json facts_of(const std::string& page) {
  const std::string start = R"(<script id="sinew-crowd" type="application/json">)";
  const std::size_t at = page.find(start) + start.size();
  return json::parse(page.substr(at, page.find("</script>", at) - at));
}

TEST(Crowd, ThePageSaysWhatItCarries) {
  SINEW_NEEDS_PAGE();
  CrowdReport report;
  const std::vector<CrowdCharacter> characters{{"one", {dense_rig(), dense_rig()}}, {"two", {two_layer_rig()}}};
  const json facts = facts_of(crowd_page(characters, {.name = "both", .count = 123}, report));
  EXPECT_EQ(facts["name"], "both");
  EXPECT_EQ(facts["count"], 123);
  ASSERT_EQ(facts["characters"].size(), 2U);
  EXPECT_EQ(facts["characters"][0]["levels"].size(), 2U);
  EXPECT_EQ(facts["characters"][1]["firstTexel"], 4 * 6 * 3);
  EXPECT_EQ(facts["characters"][1]["virtualBones"]["count"], 3);
  EXPECT_EQ(facts["motion"]["count"], 2 * 4 * 6 * 12);
  EXPECT_THAT(report.characters[0].methods, ElementsAre("dense", "lbs4"));
  EXPECT_THAT(report.characters[1].methods, ElementsAre("dense", "lbs4", "two_layer"));
  EXPECT_EQ(report.characters[0].bytes_of_motion, std::size_t{4} * 6 * 12 * (report.half ? 2 : 4));
}

TEST(Crowd, SameInputSameBytes) {
  SINEW_NEEDS_PAGE();
  EXPECT_EQ(page_of({{"rig", {two_layer_rig()}}}), page_of({{"rig", {two_layer_rig()}}}));
}

TEST(Crowd, NamesAreDataNeverMarkup) {
  SINEW_NEEDS_PAGE();
  const std::string page = page_of({{"</script><img src=x>", {dense_rig()}}}, {.name = "<b>"});
  EXPECT_THAT(page, Not(HasSubstr("<img src=x")));
  EXPECT_THAT(page, HasSubstr(R"(\u003c/script>\u003cimg)"));
}

TEST(Crowd, HalvesAreTakenByErrorAndTheReportSaysWhatTheyCost) {
  SINEW_NEEDS_PAGE();
  CrowdReport report;
  const std::vector<CrowdCharacter> characters{{"rig", {dense_rig()}}};
  crowd_page(characters, {}, report);
  const double error = report.characters[0].half_error.max_percent;
  EXPECT_GT(error, 0);
  crowd_page(characters, {.max_error = 1.01 * error}, report);
  EXPECT_TRUE(report.half);
  crowd_page(characters, {.max_error = 0.99 * error}, report);
  EXPECT_FALSE(report.half);
}

TEST(Crowd, MovingAndScalingTheRigChangesNothingButRounding) {
  SINEW_NEEDS_PAGE();
  const Rig rig = dense_rig();
  Rig moved = rig;  // every coordinate x becomes 8x + shift
  const Vector3 shift(16, -4, 2);
  moved.rest.positions = (8 * rig.rest.positions).colwise() + shift;
  for (std::size_t f = 0; f < rig.frame_count(); ++f)
    for (std::size_t b = 0; b < rig.bone_count(); ++b) {
      Affine& T = moved.motion(f, b);
      T.col(3) = 8 * T.col(3) - T.leftCols<3>() * shift + shift;
    }
  const json a = facts_of(page_of({{"rig", {rig}}}))["characters"][0]["clips"][0];
  const json b = facts_of(page_of({{"rig", {moved}}}))["characters"][0]["clips"][0];
  EXPECT_NEAR(a["radius"].get<double>(), b["radius"].get<double>(), 1e-4);
  EXPECT_NEAR(a["floor"].get<double>(), b["floor"].get<double>(), 1e-4);
}

TEST(Crowd, TheSphereOfAClipHoldsEveryVertexOfEveryLevel) {
  const Rig rig = dense_rig(6);
  Rig wide = rig;
  wide.rest.positions *= 1.3F;
  const std::vector<Rig> levels{rig, wide};
  const json clip = crowd::clips_json(levels)[0];
  const Vector3 center(clip["center"][0], clip["center"][1], clip["center"][2]);
  float farthest = 0;
  float lowest = 1e9F;
  for (const Rig& level : levels)
    for (std::size_t f = 0; f < level.frame_count(); ++f) {
      Points posed(3, level.rest.positions.cols());
      pose(level, f, posed);
      farthest = std::max(farthest, (posed.colwise() - center).colwise().norm().maxCoeff());
      lowest = std::min(lowest, posed.row(1).minCoeff());
    }
  EXPECT_LT(farthest, clip["radius"].get<float>());
  EXPECT_GT(1.05F * farthest, clip["radius"].get<float>());
  EXPECT_EQ(lowest, clip["floor"].get<float>());
}

TEST(Crowd, FourBonesAreTheLargestAndSumToOne) {
  crowd::Arrays arrays;
  const Rig rig = dense_rig();
  const json level = crowd::level_json(rig, arrays);
  const json& four = level["methods"]["lbs4"];
  const auto* weights =
      reinterpret_cast<const float*>(arrays.bytes().data() + four["weights"]["at"].get<std::size_t>());
  const auto* source = reinterpret_cast<const Index*>(arrays.bytes().data() + level["source"]["at"].get<std::size_t>());
  for (std::size_t v = 0; v < level["vertices"]; ++v) {
    EXPECT_NEAR(weights[4 * v] + weights[4 * v + 1] + weights[4 * v + 2] + weights[4 * v + 3], 1, 1e-5F);
    const float* all = rig.weights.values.data() + source[v] * static_cast<std::size_t>(rig.weights.influences);
    EXPECT_NEAR(weights[4 * v + 3] / weights[4 * v], all[3] / all[0], 1e-5F);
  }
}

TEST(Crowd, NoMoreLevelsThanDrawCallsAllowAndTheNotesSaySo) {
  SINEW_NEEDS_PAGE();
  CrowdReport report;
  const std::vector<Rig> five(5, dense_rig());
  const std::vector<CrowdCharacter> characters{{"a", five}, {"b", five}, {"c", {dense_rig()}}};
  crowd_page(characters, {}, report);
  std::size_t levels = 0;
  for (const CrowdCharacterReport& said : report.characters) levels += said.levels;
  EXPECT_EQ(levels, kMostCrowdLevels);
  EXPECT_EQ(report.characters[2].levels, 1U);
  ASSERT_EQ(report.notes.size(), 2U);
  EXPECT_THAT(report.notes[0], HasSubstr("a: 3 of its 5 levels"));
}

TEST(Crowd, WhatCannotBeShownIsRefused) {
  const auto refused = [](ErrorKind kind, const std::string& part, const std::vector<CrowdCharacter>& characters,
                          const CrowdOptions& options = {}) {
    test::expect_error(kind, part, [&] { page_of(characters, options); });
  };
  const CrowdCharacter good{"rig", {dense_rig()}};
  refused(ErrorKind::usage, "no rig", {});
  refused(ErrorKind::usage, "7 rigs", std::vector<CrowdCharacter>(7, good));
  refused(ErrorKind::usage, "0 instances", {good}, {.count = 0});
  refused(ErrorKind::usage, "100001 instances", {good}, {.count = kMostInstances + 1});
  refused(ErrorKind::usage, "MB", {good}, {.max_bytes = 1000});
  refused(ErrorKind::input, "no frames", {{"still", {dense_rig(0)}}});
  refused(ErrorKind::input, "differ", {{"rig", {dense_rig(4), dense_rig(5)}}});
  Rig point = dense_rig();
  point.rest.positions.colwise() = Vector3(1, 2, 3);
  refused(ErrorKind::input, "no extent", {{"point", {point}}});
  Rig cloud = dense_rig();
  cloud.rest.face_sizes.clear();
  cloud.rest.corners.clear();
  refused(ErrorKind::input, "no faces", {{"cloud", {cloud}}});
}

}  // namespace
}  // namespace sinew
