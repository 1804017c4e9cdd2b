#pragma once

#include <cstddef>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

/// GLB files taken apart and put together, and small glTF files made by hand.
namespace sinew::test {

struct Glb {
  nlohmann::json json;
  std::vector<std::byte> binary;
};

inline Glb take_apart(std::span<const std::byte> bytes) {
  std::uint32_t length = 0;
  std::memcpy(&length, bytes.data() + 12, 4);
  const auto* text = reinterpret_cast<const char*>(bytes.data()) + 20;
  const auto binary = bytes.subspan(20 + length + 8);
  return {nlohmann::json::parse(text, text + length), {binary.begin(), binary.end()}};
}

inline std::vector<std::byte> put_together(const Glb& glb) {
  std::string text = glb.json.dump();
  text.resize((text.size() + 3) / 4 * 4, ' ');
  std::vector<std::byte> out;
  const auto word = [&](std::size_t value) {
    for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<std::byte>(value >> shift & 0xFFU));
  };
  const std::size_t total = 12 + 8 + text.size() + 8 + glb.binary.size();
  for (const std::size_t value : {std::size_t{0x46546C67}, std::size_t{2}, total, text.size(), std::size_t{0x4E4F534A}})
    word(value);
  for (const char c : text) out.push_back(static_cast<std::byte>(c));
  word(glb.binary.size());
  word(0x004E4942);
  out.insert(out.end(), glb.binary.begin(), glb.binary.end());
  return out;
}

/// A file under construction: numbers go to the binary chunk.
struct GltfMaker {
  Glb glb{{{"asset", {{"version", "2.0"}}}}, {}};

  template <class T>
  std::size_t view(const std::vector<T>& values) {
    while (glb.binary.size() % 4 != 0) glb.binary.push_back(std::byte{0});
    glb.json["bufferViews"].push_back(
        {{"buffer", 0}, {"byteOffset", glb.binary.size()}, {"byteLength", values.size() * sizeof(T)}});
    const auto bytes = std::as_bytes(std::span(values));
    glb.binary.insert(glb.binary.end(), bytes.begin(), bytes.end());
    return glb.json["bufferViews"].size() - 1;
  }
  template <class T>
  std::size_t accessor(const std::vector<T>& values, int component, const char* type, std::size_t width) {
    glb.json["accessors"].push_back(
        {{"bufferView", view(values)}, {"componentType", component}, {"count", values.size() / width}, {"type", type}});
    return glb.json["accessors"].size() - 1;
  }
  std::size_t floats(const std::vector<float>& values, const char* type, std::size_t width) {
    return accessor(values, 5126, type, width);
  }
  std::vector<std::byte> bytes() {
    glb.json["buffers"] = {{{"byteLength", glb.binary.size()}}};
    return put_together(glb);
  }
};

/// A triangle (0,0,0) (2,0,0) (0,1,0) shown by node 0.
inline GltfMaker triangle() {
  GltfMaker maker;
  const std::size_t positions = maker.floats({0, 0, 0, 2, 0, 0, 0, 1, 0}, "VEC3", 3);
  maker.glb.json["meshes"] = {{{"name", "tri"}, {"primitives", {{{"attributes", {{"POSITION", positions}}}}}}}};
  maker.glb.json["nodes"] = {{{"mesh", 0}, {"name", "node"}}};
  maker.glb.json["scenes"] = {{{"nodes", {0}}}};
  return maker;
}

/// The triangle with a skin of two joints; node 0 shows it, nodes 1 and 2 (its child) are the joints.
inline GltfMaker skinned_triangle(const std::vector<float>& weights = {1, 0, 0, 0, 0.25F, 0.75F, 0, 0, 0, 1, 0, 0}) {
  GltfMaker maker = triangle();
  auto& attributes = maker.glb.json["meshes"][0]["primitives"][0]["attributes"];
  attributes["JOINTS_0"] =
      maker.accessor(std::vector<std::uint8_t>{0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0}, 5121, "VEC4", 4);
  attributes["WEIGHTS_0"] = maker.floats(weights, "VEC4", 4);
  maker.glb.json["nodes"][0]["skin"] = 0;
  maker.glb.json["nodes"].push_back({{"name", "root"}, {"children", {2}}});
  maker.glb.json["nodes"].push_back({{"name", "tip"}, {"translation", {1, 0.5, 0}}});
  maker.glb.json["scenes"][0]["nodes"] = {0, 1};
  const std::vector<float> binds = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0,  0,     0, 1,
                                    1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, -1, -0.5F, 0, 1};
  maker.glb.json["skins"] = {{{"joints", {1, 2}}, {"inverseBindMatrices", maker.floats(binds, "MAT4", 16)}}};
  return maker;
}

/// Adds an animation with one channel.
inline void animate(GltfMaker& maker, const std::string& name, std::size_t node, const char* path,
                    const std::vector<float>& times, const std::vector<float>& values,
                    const char* interpolation = "LINEAR") {
  const std::string p = path;
  const std::size_t width = p == "rotation" ? 4 : p == "weights" ? 1 : 3;
  const std::size_t input = maker.floats(times, "SCALAR", 1);
  const std::size_t output = maker.floats(values, width == 4 ? "VEC4" : width == 3 ? "VEC3" : "SCALAR", width);
  maker.glb.json["animations"].push_back(
      {{"name", name},
       {"samplers", {{{"input", input}, {"output", output}, {"interpolation", interpolation}}}},
       {"channels", {{{"sampler", 0}, {"target", {{"node", node}, {"path", path}}}}}}});
}

}  // namespace sinew::test
