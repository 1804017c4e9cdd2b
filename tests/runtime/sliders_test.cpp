#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "sinew/runtime/sinew_sliders.h"

namespace {

/// Three bones and two sliders: bone 0 follows both, bone 2 the second.
struct Face {
  std::vector<float> heads{1, 2, 3, 0, 0, 0, -1, 0.5F, 0};
  std::vector<std::uint32_t> bones{0, 0, 2};
  std::vector<std::uint32_t> sliders{0, 1, 1};
  std::vector<float> by;
  sinew_sliders map{};

  explicit Face(bool affine) {
    by.assign(affine ? 36 : 18, 0);
    for (std::size_t i = 0; i < by.size(); ++i) by[i] = 0.05F * static_cast<float>(i % 7) - 0.1F;
    map.bones = 3;
    map.sliders = 2;
    map.heads = heads.data();
    map.affine = affine ? 1 : 0;
    map.entries = 3;
    map.entry_bones = bones.data();
    map.entry_sliders = sliders.data();
    map.entry_by = by.data();
  }

  std::array<float, 48> posed(float a, float b) const {
    std::array<float, 48> palette{};
    palette.fill(-7);
    const std::array<float, 2> values{a, b};
    EXPECT_EQ(sinew_pose_sliders(&map, values.data(), palette.data()), sinew_ok);
    return palette;
  }
};

TEST(RuntimeSliders, AtZeroAreIdentitiesToTheBit) {
  for (const bool affine : {false, true}) {
    const auto palette = Face(affine).posed(0, 0);
    for (std::size_t i = 0; i < 48; ++i) EXPECT_EQ(palette[i], i % 16 % 5 == 0 ? 1 : 0) << i;
  }
}

TEST(RuntimeSliders, TheHeadGoesByTheFirstThreeNumbersOfTheSum) {
  for (const bool affine : {false, true}) {
    const Face face(affine);
    const std::size_t width = affine ? 12 : 6;
    const auto palette = face.posed(0.5F, 2);
    for (std::size_t i = 0; i < 3; ++i) {
      float at = palette[12 + i];
      for (std::size_t c = 0; c < 3; ++c) at += palette[4 * c + i] * face.heads[c];
      EXPECT_NEAR(at, face.heads[i] + 0.5F * face.by[i] + 2 * face.by[width + i], 1e-5F);
    }
  }
}

TEST(RuntimeSliders, RigidBonesTurnByARotationVectorAndAffineOnesByASum) {
  const auto rigid = Face(false).posed(1, -3);
  for (const std::size_t b : {std::size_t{0}, std::size_t{2}})
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 3; ++j) {
        float dot = 0;
        for (std::size_t c = 0; c < 3; ++c) dot += rigid[16 * b + 4 * i + c] * rigid[16 * b + 4 * j + c];
        EXPECT_NEAR(dot, i == j ? 1 : 0, 1e-5F);
      }
  Face turn(false);
  turn.by.assign(18, 0);
  turn.by[6 + 5] = 0.4F;  // slider 1 turns bone 0 about z
  EXPECT_NEAR(turn.posed(0, 2)[1], std::sin(0.8F), 1e-6F);
  const Face affine(true);
  const auto whole = affine.posed(1, 1);
  EXPECT_NEAR(whole[4], affine.by[6] + affine.by[18], 1e-6F) << "columns of the linear part follow the way";
}

TEST(RuntimeSliders, BonesThatNothingMovesRest) {
  const auto palette = Face(false).posed(3, -2);
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(palette[16 + i], i % 5 == 0 ? 1 : 0);
}

TEST(RuntimeSliders, CheckRefusesWhatIsMissingOrOutOfRange) {
  EXPECT_EQ(sinew_check_sliders(nullptr), sinew_missing_buffer);
  EXPECT_EQ(sinew_pose_sliders(nullptr, nullptr, nullptr), sinew_missing_buffer);
  Face face(false);
  EXPECT_EQ(sinew_check_sliders(&face.map), sinew_ok);
  face.bones[2] = 3;
  EXPECT_EQ(sinew_check_sliders(&face.map), sinew_bad_index);
  face.bones = {0, 2, 0};
  face.map.entry_bones = face.bones.data();
  EXPECT_EQ(sinew_check_sliders(&face.map), sinew_bad_index);
  face.bones = {0, 0, 2};
  face.map.entry_bones = face.bones.data();
  face.sliders[0] = 2;
  EXPECT_EQ(sinew_check_sliders(&face.map), sinew_bad_index);
  face.map.entry_by = nullptr;
  EXPECT_EQ(sinew_check_sliders(&face.map), sinew_missing_buffer);
  face.map.bones = 0;
  EXPECT_EQ(sinew_check_sliders(&face.map), sinew_bad_size);
}

}  // namespace
