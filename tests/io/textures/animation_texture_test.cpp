#include "sinew/io/animation_texture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "io/gltf/gltf_rigs.h"
#include "io/gltf/write_mesh.h"
#include "support/support.h"

namespace sinew {
namespace {

using nlohmann::json;

AnimationTexture texture_of(const Rig& rig, const AnimationTextureOptions& options = {}) {
  return animation_texture(rig, options);
}

const float* texel(const ExrImage& image, std::size_t row, std::size_t column) {
  return image.texels.data() + 4 * (row * static_cast<std::size_t>(image.width) + column);
}

TEST(AnimationTexture, ARowOfTexelsHoldsTheRowsOfTheBonesOfAFrame) {
  const Rig rig = test::random_rig(5, 4, 3, 6, Transforms::affine);
  const AnimationTexture texture = texture_of(rig);
  EXPECT_EQ(texture.image.width, 12);
  EXPECT_EQ(texture.image.height, 6);
  for (std::size_t f = 0; f < 6; ++f)
    for (std::size_t b = 0; b < 4; ++b)
      for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 4; ++c)
          EXPECT_EQ(texel(texture.image, f, 3 * b + static_cast<std::size_t>(r))[c], rig.motion(f, b)(r, c));
}

TEST(AnimationTexture, LongFramesGoOnInTheNextRow) {
  const Rig rig = test::random_rig(5, 4, 3, 6, Transforms::affine);
  const AnimationTexture texture = texture_of(rig, {.max_width = 5});
  EXPECT_EQ(texture.image.width, 5);
  EXPECT_EQ(texture.image.height, 18);
  const json layout = json::parse(texture.layout);
  EXPECT_EQ(layout["rows_per_frame"], 3);
  for (std::size_t i = 0; i < 12; ++i)
    EXPECT_EQ(texel(texture.image, 3 * 4 + i / 5, i % 5)[3], rig.motion(4, i / 3)(static_cast<int>(i % 3), 3));
}

TEST(AnimationTexture, PositionsAndNormalsAreThoseOfThePose) {
  Rig rig = test::random_rig(5, 4, 3, 4, Transforms::affine);
  rig.corrections.emplace();
  rig.corrections->offsets.push_back(0.1F * Points::Random(3, rig.rest.positions.cols()));
  rig.corrections->coefficients = Eigen::MatrixXf::Random(4, 1);
  const AnimationTexture texture = texture_of(rig, {.positions = true, .max_width = 7});
  const json layout = json::parse(texture.layout);
  const std::size_t rows = layout["rows_per_frame"];
  const std::size_t first_normal = layout["first_row_of_normals"];
  const Points at_rest = gltf::smooth_normals(rig.rest, triangulate_corners(rig.rest));
  Points posed(3, rig.rest.positions.cols());
  Points normals = posed;
  for (std::size_t f = 0; f < 4; ++f) {
    pose(rig, f, posed);
    pose_normals(rig, f, at_rest, normals);
    for (std::size_t v = 0; v < rig.vertex_count(); ++v)
      for (int c = 0; c < 3; ++c) {
        const auto i = static_cast<Eigen::Index>(v);
        EXPECT_NEAR(texel(texture.image, f * rows + v / 7, v % 7)[c] + rig.rest.positions(c, i), posed(c, i), 1e-6F);
        EXPECT_EQ(texel(texture.image, first_normal + f * rows + v / 7, v % 7)[c], normals(c, i));
      }
  }
}

/// The largest distance of vertices, in % of the diagonal, that are posed by these transforms instead.
double percent_off(const Rig& rig, const Motion& motion) {
  Rig other = rig;
  other.motion = motion;
  return 100 * test::largest_difference(rig, other);
}

TEST(AnimationTexture, TheErrorOfHalvesIsThatOfARigWithRoundedTransforms) {
  const Rig rig = test::random_rig(9, 5, 3, 4, Transforms::affine);
  Motion rounded = rig.motion;
  for (std::size_t f = 0; f < rig.frame_count(); ++f)
    for (std::size_t b = 0; b < rig.bone_count(); ++b)
      for (float& x : rounded(f, b).reshaped()) x = rounded_to_half(x);
  const HalfError error = half_error_of_bones(rig);
  EXPECT_GT(error.rms_percent, 0);
  EXPECT_LT(error.rms_percent, error.max_percent);
  EXPECT_NEAR(error.max_percent, percent_off(rig, rounded), 1e-3 * error.max_percent);
}

TEST(AnimationTexture, HalvesAreTakenWhereTheyAreGoodEnough) {
  Rig rig = test::random_rig(5, 4, 3, 3, Transforms::rigid);
  const double error = half_error_of_bones(rig).max_percent;
  EXPECT_TRUE(texture_of(rig, {.max_error = 1.001 * error}).image.half);
  EXPECT_FALSE(texture_of(rig, {.max_error = 0.999 * error}).image.half);
  EXPECT_TRUE(texture_of(rig, {.precision = TexelPrecision::half, .max_error = 0}).image.half);
  EXPECT_FALSE(texture_of(rig, {.precision = TexelPrecision::full, .max_error = 100}).image.half);
  for (std::size_t b = 0; b < rig.bone_count(); ++b) rig.motion(1, b)(0, 3) += 1e5F;
  EXPECT_FALSE(texture_of(rig).image.half);
  EXPECT_TRUE(json::parse(texture_of(rig).layout)["half_error_percent"].is_null());
  test::expect_error(ErrorKind::output, "65504", [&] { texture_of(rig, {.precision = TexelPrecision::half}); });
}

TEST(AnimationTexture, OptionsOutOfRangeAndRigsWithoutFramesAreRefused) {
  const Rig rig = test::random_rig(5, 4, 3, 3, Transforms::rigid);
  test::expect_error(ErrorKind::usage, "width 0", [&] { texture_of(rig, {.max_width = 0}); });
  test::expect_error(ErrorKind::usage, "expected a number from 0", [&] { texture_of(rig, {.max_error = -1}); });
  test::expect_error(ErrorKind::usage, "auto, half or float", [] { texel_precision("double"); });
  test::expect_error(ErrorKind::output, "no frames", [] { texture_of(test::chain_rig(6, 5, 0)); });
}

/// A number of the file's pixels: channel 0 is A, 3 is R.
template <class T>
T stored(const std::vector<std::byte>& bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

TEST(WriteExr, LinesLieWhereTheirOffsetsSayWithChannelsInTheOrderOfTheirNames) {
  ExrImage image{3, 2, false, {}};
  for (int i = 0; i < 24; ++i) image.texels.push_back(static_cast<float>(i) + 0.5F);
  const std::vector<std::byte> bytes = exr_bytes(image);
  EXPECT_EQ(stored<std::int32_t>(bytes, 0), 20000630);
  const std::size_t pixels = 2 * (8 + 3 * 16);
  const std::size_t table = bytes.size() - pixels - 2 * 8;
  for (std::size_t y = 0; y < 2; ++y) {
    const auto line = stored<std::uint64_t>(bytes, table + 8 * y);
    EXPECT_EQ(stored<std::int32_t>(bytes, line), static_cast<std::int32_t>(y));
    EXPECT_EQ(stored<std::int32_t>(bytes, line + 4), 48);
    for (std::size_t x = 0; x < 3; ++x)
      for (std::size_t c = 0; c < 4; ++c)
        EXPECT_EQ(stored<float>(bytes, line + 8 + 4 * (3 * c + x)), image.texels[4 * (3 * y + x) + 3 - c]);
  }
}

TEST(WriteExr, ImagesThatAreNoneAndNumbersBeyondHalvesAreRefused) {
  test::expect_error(ErrorKind::output, "expected 2 x 2 x 4", [] { exr_bytes({2, 2, false, {1, 2, 3}}); });
  test::expect_error(ErrorKind::output, "expected 0 x 2", [] { exr_bytes({0, 2, false, {}}); });
  test::expect_error(ErrorKind::output, "expected -1 x 2", [] { exr_bytes({-1, 2, false, {}}); });
  test::expect_error(ErrorKind::output, "65504", [] { exr_bytes({1, 1, true, {1, 2, 7e4F, 4}}); });
  EXPECT_NO_THROW(exr_bytes({1, 1, true, {1, 2, 6.5e4F, 4}}));
}

}  // namespace
}  // namespace sinew
