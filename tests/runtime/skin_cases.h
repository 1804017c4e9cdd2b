#pragma once

#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "sinew/runtime/skin.h"

/// Models of every shape with room for their results, for whoever plays them.
namespace sinew::runtime {

/// Buffers of exactly the size they need, so that the address sanitizer sees every byte too far, placed `shift` bytes
/// into an allocation of their own.
struct Bytes {
  Bytes(std::size_t count, std::size_t from) : size(count), shift(from), memory(new unsigned char[count + from]) {
    std::memset(memory.get(), 0x5A, count + from);
  }
  unsigned char* data() { return memory.get() + shift; }
  std::vector<unsigned char> bits() const { return {memory.get() + shift, memory.get() + shift + size}; }
  std::size_t size, shift;
  std::unique_ptr<unsigned char[]> memory;
};

struct Shape {
  std::size_t vertices = 37;
  std::size_t bones = 11;
  int influences = 4;  // 0: dense
  std::size_t virtual_bones = 0;
  std::size_t corrections = 0;
  std::size_t in_stride = 12, out_stride = 12;
  std::size_t shift = 0;
  std::size_t poses = 1;
  bool wide = false;
  bool normals = true;
  sinew_normal_rule rule = sinew_normals_linear;
};

/// A model with asymmetric random content, and room for its results.
struct Case {
  explicit Case(const Shape& shape, unsigned seed = 5)
      : s(shape),
        random(seed),
        rest(room(s.vertices, s.in_stride), s.shift),
        rest_normals(room(s.vertices, s.in_stride), s.shift),
        palettes(s.poses * s.bones * 64, 0),
        positions(s.poses * room(s.vertices, s.out_stride), s.shift),
        normals(s.poses * room(s.vertices, s.out_stride), s.shift),
        scratch(16 * s.virtual_bones) {
    fill(rest, s.vertices, s.in_stride);
    fill(rest_normals, s.vertices, s.in_stride);
    auto* palette = reinterpret_cast<float*>(palettes.data());
    for (std::size_t i = 0; i < s.poses * s.bones * 16; ++i) palette[i] = uniform(random);
    weights = rows(s.vertices, s.influences, s.virtual_bones != 0 ? s.virtual_bones : s.bones);
    if (s.virtual_bones != 0) dictionary = rows(s.virtual_bones, s.influences == 0 ? 0 : 3, s.bones);
    for (auto* offsets : {&position_offsets, &normal_offsets}) {
      offsets->resize(3 * s.corrections * s.vertices);
      for (float& x : *offsets) x = 0.1F * uniform(random);
    }
    coefficients.resize(s.corrections * s.poses);
    for (float& x : coefficients) x = uniform(random);
    connect();
  }

  static std::size_t room(std::size_t vertices, std::size_t stride) {
    return vertices == 0 ? 0 : (vertices - 1) * stride + 12;
  }

  void fill(Bytes& bytes, std::size_t count, std::size_t stride) {
    for (std::size_t v = 0; v < count; ++v) {
      const float p[3] = {uniform(random), 2 * uniform(random), uniform(random) - 0.5F};
      std::memcpy(bytes.data() + v * stride, p, 12);
    }
  }

  PackedWeights rows(std::size_t count, int slots, std::size_t bones) {
    PackedWeights out;
    out.influences = slots;
    const std::size_t width = slots == 0 ? bones : static_cast<std::size_t>(slots);
    for (std::size_t i = 0; i < count * width; ++i) {
      out.values.push_back(std::abs(uniform(random)) / static_cast<float>(width));
      const auto index = static_cast<std::uint32_t>(random() % bones);
      if (slots != 0 && s.wide) out.indices32.push_back(index);
      if (slots != 0 && !s.wide) out.indices16.push_back(static_cast<std::uint16_t>(index));
    }
    return out;
  }

  void connect() {
    model.vertices = s.vertices;
    model.bones = s.bones;
    model.positions = {rest.data(), s.in_stride};
    model.normals = {rest_normals.data(), s.in_stride};
    model.weights = weights.view();
    model.virtual_bones = s.virtual_bones;
    if (s.virtual_bones != 0) model.dictionary = dictionary.view();
    model.corrections = s.corrections;
    model.position_offsets = position_offsets.data();
    model.normal_offsets = normal_offsets.data();
    model.normal_rule = s.rule;
    poses.count = s.poses;
    poses.palettes = reinterpret_cast<float*>(palettes.data());
    poses.palette_stride = s.bones * 64;
    poses.coefficients = coefficients.data();
    poses.positions = {positions.data(), s.out_stride, room(s.vertices, s.out_stride)};
    if (s.normals) poses.normals = {normals.data(), s.out_stride, room(s.vertices, s.out_stride)};
    poses.scratch = scratch.data();
  }

  float result(Bytes& from, std::size_t pose, std::size_t v, int axis) const {
    float x = 0;
    std::memcpy(&x, from.data() + pose * room(s.vertices, s.out_stride) + v * s.out_stride + 4 * axis, 4);
    return x;
  }

  Shape s;
  std::mt19937 random;
  std::uniform_real_distribution<float> uniform{-1, 1};
  Bytes rest, rest_normals, palettes, positions, normals;
  PackedWeights weights, dictionary;
  std::vector<float> position_offsets, normal_offsets, coefficients, scratch;
  sinew_model model{};
  sinew_poses poses{};
};

}  // namespace sinew::runtime
