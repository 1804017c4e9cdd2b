#pragma once

#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "sinew/core/sequence.h"
#include "sinew/io/output_file.h"

namespace sinew::test {

/// A triangle, a quad and a pentagon in two pieces with two materials, one UV seam, normals and colours: 9 vertices, no
/// symmetry anywhere.
inline Mesh small_mesh() {
  Mesh mesh;
  mesh.positions.resize(3, 9);
  for (Eigen::Index v = 0; v < 9; ++v) {
    const auto x = static_cast<float>(v);
    mesh.positions.col(v) = Vector3(0.1F + x * x / 3, -1.25e-7F * x, 1e6F / (1 + x));
  }
  mesh.face_sizes = {4, 3, 5};
  mesh.corners = {0, 1, 2, 3, 3, 2, 0, 4, 5, 6, 7, 8};
  mesh.uv_sets.emplace_back();
  mesh.uv_sets[0].values = {0.125F, 0.75F, 0.5F, 0.0625F, 1, 0, 0.25F, 1};
  mesh.uv_sets[0].indices = {0, 1, 2, 3, 1, 2, 0, 3, 2, 1, 0, 3};
  mesh.normals.values = {0.6F, 0.8F, 0, 0, 0.28F, -0.96F};
  mesh.normals.indices = {0, 1, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1};
  mesh.color_sets.emplace_back();
  for (int v = 0; v < 9; ++v)
    for (const float c : {0.1F * static_cast<float>(v), 1 - 0.1F * static_cast<float>(v), 0.002F, 1.0F})
      mesh.color_sets[0].values.push_back(c);
  mesh.color_sets[0].indices = mesh.corners;
  mesh.face_materials = {1, -1, 0};
  mesh.appearance.materials = {{"skin", ""}, {"blue shirt", ""}};
  mesh.pieces = {{"body", 0, 4, 0, 2}, {"left arm", 4, 5, 2, 1}};
  return mesh;
}

inline Sequence small_sequence(std::size_t frames = 3) {
  Sequence sequence;
  sequence.name = "small";
  sequence.rest = small_mesh();
  sequence.frames = Frames(frames, 9);
  for (std::size_t i = 0; i < sequence.frames.data().size(); ++i)
    sequence.frames.data()[i] = std::sin(0.7F * static_cast<float>(i)) * 3.1F + static_cast<float>(i % 3);
  sequence.times = uniform_times(frames, 0.125);
  return sequence;
}

inline std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

/// The first `count` bytes in memory of exactly that size, so that a sanitizer sees a read past their end.
inline std::vector<std::byte> prefix(const std::vector<std::byte>& bytes, std::size_t count) {
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count)};
}

template <class T>
void put(std::vector<std::byte>& bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

inline void write_text(const std::filesystem::path& path, const std::string& text) {
  OutputFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace sinew::test
