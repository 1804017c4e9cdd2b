#include "io/gltf/meshopt.h"

#include <meshoptimizer.h>

#include <cstring>

#include "io/gltf/gltf_cases.h"
#include "io/gltf/gltf_edit.h"
#include "sinew/io/gltf.h"
#include "support/support.h"

namespace sinew {
namespace {

std::vector<std::byte> compressed(const std::vector<float>& values, std::size_t stride) {
  std::vector<unsigned char> out(meshopt_encodeVertexBufferBound(values.size() * 4 / stride, stride));
  out.resize(meshopt_encodeVertexBuffer(out.data(), out.size(), values.data(), values.size() * 4 / stride, stride));
  const auto bytes = std::as_bytes(std::span(out));
  return {bytes.begin(), bytes.end()};
}

/// The file with every view that holds floats of 12 bytes per element compressed, as gltfpack does.
std::vector<std::byte> with_compressed_views(test::Glb glb, const char* extension) {
  for (auto& accessor : glb.json["accessors"]) {
    if (accessor["type"] != "VEC3" || accessor["componentType"] != 5126) continue;
    auto& view = glb.json["bufferViews"][accessor["bufferView"].get<std::size_t>()];
    if (view.contains("extensions") || accessor.value("byteOffset", 0) != 0) continue;
    const auto offset = view.value("byteOffset", std::size_t{0});
    std::vector<float> values(view["byteLength"].get<std::size_t>() / 4);
    std::memcpy(values.data(), glb.binary.data() + offset, 4 * values.size());
    const std::vector<std::byte> bytes = compressed(values, 12);
    while (glb.binary.size() % 4 != 0) glb.binary.push_back(std::byte{0});
    view["extensions"][extension] = {
        {"buffer", 0},          {"byteOffset", glb.binary.size()}, {"byteLength", bytes.size()}, {"byteStride", 12},
        {"mode", "ATTRIBUTES"}, {"count", values.size() / 3}};
    glb.binary.insert(glb.binary.end(), bytes.begin(), bytes.end());
    // What is behind the view itself must not be read.
    std::memset(glb.binary.data() + offset, 0x55, 4 * values.size());
  }
  glb.json["extensionsRequired"] = {extension};
  while (glb.binary.size() % 4 != 0) glb.binary.push_back(std::byte{0});
  glb.json["buffers"][0]["byteLength"] = glb.binary.size();
  return test::put_together(glb);
}

TEST(GltfMeshopt, CompressedViewsReadAsTheyWere) {
  const std::vector<std::byte> plain = glb_bytes(test::gltf_case("painted"));
  const Sequence expected = parse_gltf_sequence(plain, {}, {});
  for (const char* extension : {"EXT_meshopt_compression", "KHR_meshopt_compression"}) {
    const std::vector<std::byte> packed = with_compressed_views(test::take_apart(plain), extension);
    const Sequence read = parse_gltf_sequence(packed, {}, {});
    EXPECT_EQ(read.rest.positions, expected.rest.positions);
    EXPECT_EQ(read.frames, expected.frames);
  }
}

TEST(GltfMeshopt, EveryTruncatedStreamIsRefused) {
  std::vector<float> values;
  for (int i = 0; i < 90; ++i) values.push_back(0.25F * static_cast<float>(i % 7) + static_cast<float>(i));
  const std::vector<std::byte> whole = compressed(values, 12);
  const gltf::CompressedView view{"ATTRIBUTES", "NONE", 30, 12};
  const std::vector<std::byte> back = gltf::decode_view(view, whole, "view");
  EXPECT_EQ(std::memcmp(back.data(), values.data(), back.size()), 0);
  for (std::size_t n = 0; n < whole.size(); ++n)
    test::expect_error(ErrorKind::input, "view", [&] { gltf::decode_view(view, std::span(whole).first(n), "view"); });
}

TEST(GltfMeshopt, WhatTheExtensionDoesNotAllowIsRefused) {
  const std::vector<std::byte> bytes = compressed(std::vector<float>(12, 1.5F), 12);
  const auto refused = [&](const gltf::CompressedView& view, const char* part) {
    test::expect_error(ErrorKind::input, part, [&] { gltf::decode_view(view, bytes, "view"); });
  };
  refused({"POINTS", "NONE", 4, 12}, "mode 'POINTS'");
  refused({"ATTRIBUTES", "NONE", 4, 13}, "elements of 13 bytes");
  refused({"ATTRIBUTES", "NONE", 4, 0}, "elements of 0 bytes");
  refused({"TRIANGLES", "NONE", 4, 2}, "4 compressed corners");
  refused({"ATTRIBUTES", "QUATERNION", 4, 12}, "filter 'QUATERNION'");
  refused({"ATTRIBUTES", "NONE", 1U << 30, 12}, "cannot hold");
}

TEST(GltfMeshopt, AFaceWithSlidersIsRead) {
  SINEW_NEEDS_DATA();
  const Sequence face = read_gltf_sequence(test::data_folder() / "gltf/facecap.glb");
  face.check();
  EXPECT_GT(face.vertex_count(), 1000U);
  EXPECT_GT(face.frame_count(), 10U);
}

}  // namespace
}  // namespace sinew
