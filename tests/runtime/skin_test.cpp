#include "sinew/runtime/skin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "runtime/kernels.h"
#include "runtime/skin_cases.h"

namespace sinew::runtime {
namespace {

void expect_same(const Case& got, const Case& expected, const std::string& what) {
  ASSERT_EQ(got.positions.bits(), expected.positions.bits()) << what;
  if (got.s.normals) {
    ASSERT_EQ(got.normals.bits(), expected.normals.bits()) << what << ", normals";
  }
}

// Every compiled instruction set against the oracle, on buffers without a spare byte.
void expect_all_sets_equal_scalar(Shape shape, sinew_normal_rule rule) {
  shape.rule = rule;
  Case expected(shape);
  ASSERT_EQ(skin_with(scalar_kernels(), expected.model, expected.poses), sinew_ok);
  for (const Kernels* kernels : all_simd_kernels()) {
    Case got(shape);
    ASSERT_EQ(skin_with(*kernels, got.model, got.poses), sinew_ok);
    expect_same(
        got, expected,
        std::string(kernels->name) + " K=" + std::to_string(shape.influences) + " V=" + std::to_string(shape.vertices));
  }
}

void expect_all_sets_equal_scalar(const Shape& shape) {
  for (const sinew_normal_rule rule : {sinew_normals_linear, sinew_normals_cofactors})
    expect_all_sets_equal_scalar(shape, rule);
}

TEST(Runtime, EverySetGivesTheBitsOfScalarForEveryInfluenceCountAndSizesAroundEveryLaneCount) {
  for (const int influences : {1, 2, 3, 4, 5, 6, 7, 8, 13, 0})
    for (const std::size_t vertices : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65})
      for (const bool wide : {false, true}) {
        Shape shape;
        shape.influences = influences;
        shape.vertices = vertices;
        shape.wide = wide;
        expect_all_sets_equal_scalar(shape);
      }
}

TEST(Runtime, EverySetGivesTheBitsOfScalarOnMisalignedAndInterleavedBuffers) {
  for (const std::size_t shift : {1, 2, 4, 12, 15})
    for (const std::size_t in_stride : {12, 13, 16, 32})
      for (const std::size_t out_stride : {12, 14, 16, 20, 48}) {
        Shape shape;
        shape.vertices = 19;
        shape.shift = shift;
        shape.in_stride = in_stride;
        shape.out_stride = out_stride;
        expect_all_sets_equal_scalar(shape);
        shape.influences = 0;
        expect_all_sets_equal_scalar(shape);
      }
}

TEST(Runtime, EverySetGivesTheBitsOfScalarForTwoLayersAndCorrectionsInSeveralPoses) {
  for (const int influences : {0, 2, 4})
    for (const std::size_t virtual_bones : {0, 1, 3, 4, 5, 23})
      for (const std::size_t corrections : {0, 1, 3}) {
        Shape shape;
        shape.influences = influences;
        shape.virtual_bones = virtual_bones;
        shape.corrections = corrections;
        shape.poses = 3;
        shape.vertices = 259;  // more than one block of corrections
        expect_all_sets_equal_scalar(shape);
      }
}

TEST(Runtime, ScalarSkinsByTheFormula) {
  Shape shape;
  shape.virtual_bones = 7;
  shape.corrections = 2;
  shape.poses = 2;
  Case c(shape);
  ASSERT_EQ(skin_with(scalar_kernels(), c.model, c.poses), sinew_ok);
  const auto* palette = reinterpret_cast<const float*>(c.palettes.data());
  for (std::size_t pose = 0; pose < 2; ++pose)
    for (std::size_t v = 0; v < shape.vertices; ++v) {
      float rest[3];
      std::memcpy(rest, c.rest.data() + 12 * v, 12);
      double p[4] = {rest[0], rest[1], rest[2], 1};
      for (std::size_t r = 0; r < 2; ++r)
        for (int axis = 0; axis < 3; ++axis)
          p[axis] += c.coefficients[2 * pose + r] *
                     c.position_offsets[3 * (r * shape.vertices + v) + static_cast<std::size_t>(axis)];
      for (int axis = 0; axis < 3; ++axis) {
        double sum = 0;
        for (std::size_t k = 0; k < 4; ++k) {
          const std::size_t j = c.weights.indices16[4 * v + k];
          for (std::size_t i = 0; i < 3; ++i) {
            const float* m = palette + 16 * (pose * shape.bones + c.dictionary.indices16[3 * j + i]);
            for (int column = 0; column < 4; ++column)
              sum += static_cast<double>(c.weights.values[4 * v + k]) * c.dictionary.values[3 * j + i] *
                     m[4 * column + axis] * p[column];
          }
        }
        EXPECT_NEAR(c.result(c.positions, pose, v, axis), sum, 1e-6) << pose << " " << v;
      }
    }
}

TEST(Runtime, NormalsFollowTheLinearPartAfterTheirOffsetsAsGltfPlayersHaveIt) {
  Shape shape;
  shape.corrections = 2;
  Case c(shape);
  ASSERT_EQ(skin_with(scalar_kernels(), c.model, c.poses), sinew_ok);
  const auto* palette = reinterpret_cast<const float*>(c.palettes.data());
  for (std::size_t v = 0; v < shape.vertices; ++v) {
    float rest[3];
    std::memcpy(rest, c.rest_normals.data() + 12 * v, 12);
    double n[3], posed[3] = {0, 0, 0};
    for (std::size_t axis = 0; axis < 3; ++axis)
      n[axis] = rest[axis] + c.coefficients[0] * c.normal_offsets[3 * v + axis] +
                c.coefficients[1] * c.normal_offsets[3 * (shape.vertices + v) + axis];
    for (std::size_t axis = 0; axis < 3; ++axis)
      for (std::size_t k = 0; k < 4; ++k)
        for (std::size_t column = 0; column < 3; ++column)
          posed[axis] += c.weights.values[4 * v + k] *
                         palette[16UL * c.weights.indices16[4 * v + k] + 4 * column + axis] * n[column];
    const double length = std::hypot(posed[0], posed[1], posed[2]);
    for (int axis = 0; axis < 3; ++axis)
      EXPECT_NEAR(c.result(c.normals, 0, v, axis), posed[axis] / length, 1e-5) << "vertex " << v;
  }
}

TEST(Runtime, ResultsBetweenOtherDataLeaveItAlone) {
  for (const Kernels* kernels : all_simd_kernels()) {
    Shape shape;
    shape.out_stride = 20;
    Case c(shape);
    ASSERT_EQ(skin_with(*kernels, c.model, c.poses), sinew_ok);
    for (std::size_t v = 0; v + 1 < shape.vertices; ++v)
      for (std::size_t byte = 12; byte < 20; ++byte) {
        ASSERT_EQ(c.positions.data()[20 * v + byte], 0x5A) << kernels->name << " vertex " << v;
        ASSERT_EQ(c.normals.data()[20 * v + byte], 0x5A) << kernels->name << " vertex " << v;
      }
  }
}

TEST(Runtime, NormalsStayPerpendicularUnderShearAndNonUniformScale) {
  const float p[6] = {0, 0, 0, 1, 2, 3};
  const float n[6] = {0, 0.6F, 0.8F, 1, 0, 0};
  const float affine[12] = {2, 0.3F, 0, -0.5F, 1, 0.7F, 0.1F, 0, 3, 4, 5, 6};
  float palette[16];
  sinew_make_palette(affine, 1, palette);
  const std::uint16_t index[2] = {0, 0};
  const float one[2] = {1, 1};
  float out[6], normals[6];
  sinew_model model{};
  model.vertices = 2;
  model.bones = 1;
  model.positions = {p, 12};
  model.normals = {n, 12};
  model.normal_rule = sinew_normals_cofactors;
  model.weights = {1, index, nullptr, one};
  sinew_poses poses{};
  poses.count = 1;
  poses.palettes = palette;
  poses.positions = {out, 12, 24};
  poses.normals = {normals, 12, 24};
  ASSERT_EQ(sinew_skin(&model, &poses), sinew_ok);
  // (1, 0, 0) and (0, 0.8, -0.6) are tangents at the first vertex.
  const float* x = affine;
  float t[3];
  for (int axis = 0; axis < 3; ++axis) t[axis] = 0.8F * affine[3 + axis] - 0.6F * affine[6 + axis];
  EXPECT_NEAR(normals[0] * x[0] + normals[1] * x[1] + normals[2] * x[2], 0, 1e-6);
  EXPECT_NEAR(normals[0] * t[0] + normals[1] * t[1] + normals[2] * t[2], 0, 1e-6);
  EXPECT_NEAR(normals[3] * normals[3] + normals[4] * normals[4] + normals[5] * normals[5], 1, 1e-6);
}

TEST(Runtime, AVanishingNormalIsWrittenAsZero) {
  Shape shape;
  for (const Kernels* kernels : all_simd_kernels()) {
    Case c(shape);
    std::memset(c.palettes.data(), 0, c.palettes.size);
    ASSERT_EQ(skin_with(*kernels, c.model, c.poses), sinew_ok);
    for (std::size_t v = 0; v < shape.vertices; ++v) ASSERT_EQ(c.result(c.normals, 0, v, 1), 0) << kernels->name;
  }
}

TEST(Runtime, ManyPosesInOneCallEqualOneCallPerPose) {
  Shape shape;
  shape.poses = 5;
  shape.vertices = 5000;  // more than one block
  Case all(shape), single(shape);
  ASSERT_EQ(sinew_skin(&all.model, &all.poses), sinew_ok);
  for (std::size_t pose = 0; pose < shape.poses; ++pose) {
    sinew_poses one = single.poses;
    one.count = 1;
    one.palettes = single.poses.palettes + 16 * shape.bones * pose;
    one.positions.data = single.positions.data() + pose * one.positions.pose_stride;
    one.normals.data = single.normals.data() + pose * one.normals.pose_stride;
    ASSERT_EQ(sinew_skin(&single.model, &one), sinew_ok);
  }
  EXPECT_EQ(std::memcmp(all.positions.data(), single.positions.data(), all.positions.size), 0);
  EXPECT_EQ(std::memcmp(all.normals.data(), single.normals.data(), all.normals.size), 0);
}

TEST(Runtime, MissingBuffersBadSizesAndBadIndicesAreNamed) {
  Shape shape;
  Case c(shape);
  EXPECT_EQ(sinew_skin(nullptr, &c.poses), sinew_missing_buffer);
  EXPECT_EQ(sinew_check_model(&c.model), sinew_ok);
  sinew_model model = c.model;
  model.weights.indices16 = nullptr;
  EXPECT_EQ(sinew_skin(&model, &c.poses), sinew_missing_buffer);
  model = c.model;
  model.positions.stride = 8;
  EXPECT_EQ(sinew_skin(&model, &c.poses), sinew_bad_size);
  model = c.model;
  model.virtual_bones = 4;
  EXPECT_EQ(sinew_skin(&model, &c.poses), sinew_missing_buffer);
  c.weights.indices16[17] = 11;
  EXPECT_EQ(sinew_check_model(&c.model), sinew_bad_index);
}

TEST(Runtime, TheChosenSetIsTheFirstOfThoseAvailable) {
  EXPECT_STREQ(sinew_runtime_target(), all_simd_kernels().front()->name);
}

TEST(PackWeights, DropsEmptySlotsAndGoesDenseOnlyWhenItPays) {
  const std::uint32_t bones[8] = {3, 0, 1, 0, 2, 5, 0, 0};
  const float values[8] = {0.7F, 0, 0.3F, 0, 0.25F, 0.75F, 0, 0};
  const PackedWeights packed = pack_weights(bones, values, 2, 4, 6);
  EXPECT_EQ(packed.influences, 2);
  EXPECT_THAT(packed.indices16, testing::ElementsAre(3, 1, 2, 5));
  EXPECT_THAT(packed.values, testing::ElementsAre(0.7F, 0.3F, 0.25F, 0.75F));
  EXPECT_TRUE(pack_weights(bones, values, 2, 4, 70000).indices16.empty());
  std::vector<std::uint32_t> many(12);
  std::vector<float> shares(12, 1.0F / 12);
  for (std::uint32_t b = 0; b < 12; ++b) many[b] = 11 - b;
  EXPECT_EQ(pack_weights(many.data(), shares.data(), 1, 12, 12).influences, 0);
}

}  // namespace
}  // namespace sinew::runtime
