#include "io/gltf/two_layer_code.h"

#include <cmath>
#include <cstdint>
#include <random>

#include "io/gltf/range_coder.h"
#include "sinew/core/error.h"
#include "support/support.h"

namespace sinew::gltf {
namespace {

TEST(RangeCoder, NumbersComeBackAsTheyWere) {
  std::mt19937 random(3);
  std::vector<std::int32_t> values;
  for (int i = 0; i < 5000; ++i)
    values.push_back(static_cast<std::int32_t>(random() % (1U << (1 + random() % 22))) * (i % 3 == 0 ? -1 : 1));
  range::Encoder to;
  range::SignedNumber writing;
  for (const std::int32_t value : values) {
    writing.put(value, to);
    to.put_evenly(static_cast<std::uint32_t>(value) & 7U, 3);
  }
  const std::vector<std::byte> bytes = to.finish();
  range::Decoder from(bytes);
  range::SignedNumber reading;
  for (const std::int32_t value : values) {
    ASSERT_EQ(reading.take(from), value);
    ASSERT_EQ(from.take_evenly(3), static_cast<std::uint32_t>(value) & 7U);
  }
  EXPECT_TRUE(from.at_end());
}

TEST(RangeCoder, WhatRepeatsCostsNextToNothing) {
  range::Encoder to;
  range::Number model;
  for (int i = 0; i < 10000; ++i) model.put(i % 100 == 0 ? 5 : 0, to);
  EXPECT_LT(to.finish().size(), 400U);
}

struct Model {
  TwoLayer layers;
  Motion motion;
  PackedSizes sizes{};
};

/// Random rows over 40 virtual bones, of which some are never used.
Model random_model(unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> real(-0.2F, 1);
  Model out;
  out.layers.dictionary.slots = 3;
  out.layers.coefficients.slots = 2;
  for (int j = 0; j < 40; ++j) {
    const float a = real(random);
    const float b = j % 4 == 0 ? 0 : real(random);
    for (const float w : {a, b, 1 - a - b}) out.layers.dictionary.values.push_back(w);
    for (unsigned k = 0; k < 3; ++k) out.layers.dictionary.columns.push_back((static_cast<unsigned>(j) + k * 2) % 7);
  }
  for (int v = 0; v < 300; ++v) {
    const float a = v % 5 == 0 ? 1 : real(random);
    for (const float w : {a, 1 - a}) out.layers.coefficients.values.push_back(w);
    for (unsigned k = 0; k < 2; ++k)
      out.layers.coefficients.columns.push_back((static_cast<unsigned>(v) / 9 + 11 * k) % 38);
  }
  out.motion = Motion(12, 7);
  for (std::size_t f = 0; f < 12; ++f)
    for (std::size_t b = 0; b < 7; ++b)
      for (int e = 0; e < 12; ++e)
        out.motion(f, b).data()[e] = std::sin(0.3F * static_cast<float>(f) + static_cast<float>(b)) + real(random) / 50;
  return out;
}

Model rounded(Model model, const TwoLayerSteps& steps) {
  model.layers = in_order_of_use(rounded_to(steps, model.layers));
  model.motion = rounded_to(steps, model.motion);
  model.sizes = {300, 7, 12, model.layers.virtual_bone_count(), 3, 2};
  return model;
}

Model decoded(std::span<const std::byte> bytes, const PackedSizes& sizes) {
  Model out;
  decode_two_layer(bytes, sizes, "test", out.layers, out.motion);
  return out;
}

const TwoLayerSteps kSteps{11, 9, 12, -10};

TEST(TwoLayerCode, ARoundedModelComesBackToTheBit) {
  const Model model = rounded(random_model(1), kSteps);
  EXPECT_LT(model.layers.virtual_bone_count(), 40U);
  const Model back = decoded(code_two_layer(model.layers, model.motion, kSteps), model.sizes);
  EXPECT_EQ(back.layers.dictionary.columns, model.layers.dictionary.columns);
  EXPECT_EQ(back.layers.dictionary.values, model.layers.dictionary.values);
  EXPECT_EQ(back.layers.coefficients.columns, model.layers.coefficients.columns);
  EXPECT_EQ(back.layers.coefficients.values, model.layers.coefficients.values);
  for (std::size_t f = 0; f < 12; ++f)
    for (std::size_t b = 0; b < 7; ++b) EXPECT_EQ(back.motion(f, b), model.motion(f, b));
  EXPECT_NO_THROW(back.layers.check(300, 7));
}

TEST(TwoLayerCode, RoundingMovesNoWeightByMoreThanItsStep) {
  const Model before = random_model(2);
  const TwoLayer after = rounded_to(kSteps, before.layers);
  const auto dense = [](const BlendRows& rows, std::size_t row, Index column) {
    double sum = 0;
    for (std::size_t k = row * static_cast<std::size_t>(rows.slots);
         k < (row + 1) * static_cast<std::size_t>(rows.slots); ++k)
      if (rows.columns[k] == column) sum += static_cast<double>(rows.values[k]);
    return sum;
  };
  for (std::size_t v = 0; v < 300; ++v)
    for (Index j = 0; j < 40; ++j)
      EXPECT_NEAR(dense(after.coefficients, v, j), dense(before.layers.coefficients, v, j), std::ldexp(1.0, -10))
          << v << ' ' << j;
}

TEST(TwoLayerCode, TruncatedAndDamagedBytesAreRefusedOrHarmless) {
  const Model model = rounded(random_model(3), kSteps);
  const std::vector<std::byte> bytes = code_two_layer(model.layers, model.motion, kSteps);
  for (std::size_t size = 0; size < bytes.size(); size += 3)
    EXPECT_THROW(decoded(std::span(bytes).first(size), model.sizes), Error) << size;
  std::mt19937 random(4);
  for (int i = 0; i < 300; ++i) {
    std::vector<std::byte> damaged = bytes;
    damaged[random() % damaged.size()] ^= static_cast<std::byte>(1U << (random() % 8));
    try {
      const Model back = decoded(damaged, model.sizes);
      for (const Index column : back.layers.coefficients.columns) EXPECT_LT(column, model.sizes.virtual_bones);
      for (const Index column : back.layers.dictionary.columns) EXPECT_LT(column, model.sizes.bones);
    } catch (const Error&) {
    }
  }
  PackedSizes huge = model.sizes;
  huge.vertices = std::size_t{1} << 40;
  EXPECT_THROW(decoded(bytes, huge), Error);
}

}  // namespace
}  // namespace sinew::gltf
