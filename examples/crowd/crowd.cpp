// A crowd of 10,000 animated instances of one character, skinned on one core, frames per second printed.
//
// The character is a tentacle of rings, bent and twisted by a chain of bones; every instance is in its own phase. Each
// frame makes all palettes, then skins positions and normals of every instance. One buffer is reused for a batch of
// instances, as an engine would upload it and go on.
//   crowd [--instances N] [--seconds S]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "sinew/runtime/skin.h"

namespace {

constexpr std::size_t kRings = 48, kSides = 12, kVertices = kRings * kSides;
constexpr std::size_t kBones = 16;
constexpr std::size_t kBatch = 64;
constexpr float kLength = 4;

struct Character {
  std::vector<float> positions, normals;
  sinew::runtime::PackedWeights weights;
};

Character make_character() {
  Character c;
  std::vector<std::uint32_t> bones(4 * kVertices);
  std::vector<float> values(4 * kVertices);
  for (std::size_t v = 0; v < kVertices; ++v) {
    const float along = static_cast<float>(v / kSides) / (kRings - 1);
    const float angle = 6.2831853F * static_cast<float>(v % kSides) / kSides;
    const float radius = 0.4F - 0.3F * along;
    for (const float x : {radius * std::cos(angle), kLength * along, radius * std::sin(angle)})
      c.positions.push_back(x);
    for (const float x : {std::cos(angle), 0.0F, std::sin(angle)}) c.normals.push_back(x);
    // The four nearest bones, a cubic fall-off.
    const float place = along * (kBones - 1);
    const auto first = static_cast<std::size_t>(std::fmin(std::fmax(place - 1, 0.0F), kBones - 4.0F));
    float sum = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      const float near = std::fmax(0.0F, 1 - std::abs(place - static_cast<float>(first + k)) / 2);
      bones[4 * v + k] = static_cast<std::uint32_t>(first + k);
      sum += values[4 * v + k] = near * near * near;
    }
    for (std::size_t k = 0; k < 4; ++k) values[4 * v + k] /= sum;
  }
  c.weights = sinew::runtime::pack_weights(bones.data(), values.data(), kVertices, 4, kBones);
  return c;
}

/// Rest-to-posed matrices of a chain that waves: each joint turns about z and the turns add up.
void make_pose(float phase, std::size_t instance, float* palette) {
  constexpr float kStep = kLength / (kBones - 1);
  float x = 3 * static_cast<float>(instance % 100), y = 0, angle = 0;
  for (std::size_t b = 0; b < kBones; ++b) {
    angle += 0.15F * std::sin(phase + 0.4F * static_cast<float>(b));
    const float c = std::cos(angle), s = std::sin(angle);
    const float rest = kStep * static_cast<float>(b);
    const float z = 3 * static_cast<float>(instance / 100);
    const float m[16] = {c, s, 0, 0, -s, c, 0, 0, 0, 0, 1, 0, x + s * rest, y - c * rest, z, 1};
    std::memcpy(palette + 16 * b, m, sizeof m);
    x -= s * kStep;
    y += c * kStep;
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t instances = 10000;
  double wanted_seconds = 3;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string(argv[i]) == "--instances") instances = std::stoul(argv[i + 1]);
    if (std::string(argv[i]) == "--seconds") wanted_seconds = std::stod(argv[i + 1]);
  }
  const Character character = make_character();
  std::vector<float> palettes(16 * kBones * kBatch), positions(3 * kVertices * kBatch), normals(3 * kVertices * kBatch);

  sinew_model model{};
  model.vertices = kVertices;
  model.bones = kBones;
  model.positions = {character.positions.data(), 12};
  model.normals = {character.normals.data(), 12};
  model.weights = character.weights.view();
  if (sinew_check_model(&model) != sinew_ok) return 1;
  sinew_poses poses{};
  poses.palettes = palettes.data();
  poses.palette_stride = 16 * kBones * sizeof(float);
  poses.positions = {positions.data(), 12, 12 * kVertices};
  poses.normals = {normals.data(), 12, 12 * kVertices};

  const auto start = std::chrono::steady_clock::now();
  double seconds = 0, checksum = 0;
  int frames = 0;
  for (; seconds < wanted_seconds; ++frames) {
    for (std::size_t first = 0; first < instances; first += kBatch) {
      poses.count = std::min(kBatch, instances - first);
      for (std::size_t i = 0; i < poses.count; ++i)
        make_pose(0.1F * static_cast<float>(frames) + static_cast<float>((first + i) % 628) / 100, first + i,
                  palettes.data() + 16 * kBones * i);
      if (sinew_skin(&model, &poses) != sinew_ok) return 1;
      checksum += positions[1];
    }
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  std::printf("%zu instances x %zu vertices x %d frames in %.2f s on one core (%s)\n", instances, kVertices, frames,
              seconds, sinew_runtime_target());
  std::printf("%.2f frames per second, %.0f million vertices per second, checksum %.6g\n", frames / seconds,
              1e-6 * static_cast<double>(instances * kVertices) * frames / seconds, checksum);
  return 0;
}
