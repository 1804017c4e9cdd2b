#include "sinew/io/two_layer_gltf.h"

#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "io/gltf/two_layer_code.h"
#include "io/gltf/two_layer_pack.h"
#include "io/json_text.h"
#include "sinew/core/error.h"

namespace sinew {
namespace {

using gltf::PackedSizes;

using Json = nlohmann::json;

template <class T, class U>
GltfArray array_of(const char* name, GltfArray::Component component, int width, const std::vector<U>& values) {
  GltfArray out{name, component, width, std::vector<std::byte>(values.size() * sizeof(T))};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<T>(values[i]);
    std::memcpy(out.bytes.data() + i * sizeof(T), &value, sizeof value);
  }
  return out;
}

GltfArray indices(const char* name, const std::vector<Index>& values, std::size_t columns) {
  if (columns <= 0x10000) return array_of<std::uint16_t>(name, GltfArray::Component::u16, 1, values);
  return array_of<std::uint32_t>(name, GltfArray::Component::u32, 1, values);
}

std::vector<float> motion_numbers(const Motion& motion) {
  std::vector<float> out;
  for (std::size_t f = 0; f < motion.frame_count(); ++f)
    for (std::size_t b = 0; b < motion.bone_count(); ++b)
      out.insert(out.end(), motion(f, b).data(), motion(f, b).data() + 12);
  return out;
}

/// The extension as the file has it, read with care.
struct ExtensionReader {
  const GltfExtension& extension;
  const std::string& name;
  Json json;

  [[noreturn]] void refuse(const std::string& sentence) const {
    throw Error(ErrorKind::input, fmt::format("{}: {}: {}", name, kTwoLayerExtension, sentence));
  }
  std::size_t count(const char* key, std::size_t most) const {
    const Json value = json.value(key, Json());
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() < 1 || value.get<std::uint64_t>() > most)
      refuse(fmt::format("{} is {}, expected 1 to {}", key, json_text(value), most));
    return value.get<std::size_t>();
  }
  const GltfArray* find(const char* key) const {
    for (const GltfArray& array : extension.arrays)
      if (array.name == key) return &array;
    return nullptr;
  }
  const GltfArray& array(const char* key, GltfArray::Component component, std::size_t bytes) const {
    const GltfArray* out = find(key);
    if (out == nullptr) refuse(fmt::format("has no {}", key));
    if (out->component != component) refuse(fmt::format("{} has the wrong component type", key));
    if (out->bytes.size() != bytes) refuse(fmt::format("{} has {} bytes, expected {}", key, out->bytes.size(), bytes));
    return *out;
  }
  std::vector<float> floats(const char* key, std::size_t count) const {
    const GltfArray& from = array(key, GltfArray::Component::f32, 4 * count);
    std::vector<float> out(count);
    if (count > 0) std::memcpy(out.data(), from.bytes.data(), 4 * count);
    return out;
  }
  std::vector<Index> indices(const char* key, std::size_t count) const {
    const GltfArray* from = find(key);
    if (from != nullptr && from->component == GltfArray::Component::u32) {
      array(key, GltfArray::Component::u32, 4 * count);
      std::vector<Index> out(count);
      if (count > 0) std::memcpy(out.data(), from->bytes.data(), 4 * count);
      return out;
    }
    const GltfArray& words = array(key, GltfArray::Component::u16, 2 * count);
    std::vector<Index> out(count);
    for (std::size_t i = 0; i < count; ++i) {
      std::uint16_t value = 0;
      std::memcpy(&value, words.bytes.data() + 2 * i, 2);
      out[i] = value;
    }
    return out;
  }
};

void read_plain(const ExtensionReader& reader, const PackedSizes& sizes, TwoLayer& model, Motion& motion) {
  const std::size_t D = sizes.virtual_bones * static_cast<std::size_t>(sizes.masters_per_virtual);
  const std::size_t A = sizes.vertices * static_cast<std::size_t>(sizes.virtual_per_vertex);
  model.dictionary = {sizes.masters_per_virtual, reader.indices("dictionaryBones", D),
                      reader.floats("dictionaryWeights", D)};
  model.coefficients = {sizes.virtual_per_vertex, reader.indices("vertexVirtualBones", A),
                        reader.floats("vertexWeights", A)};
  const std::vector<float> numbers = reader.floats("motion", 12 * sizes.frames * sizes.bones);
  motion = Motion(sizes.frames, sizes.bones);
  for (std::size_t f = 0; f < sizes.frames; ++f)
    for (std::size_t b = 0; b < sizes.bones; ++b)
      std::memcpy(motion(f, b).data(), numbers.data() + 12 * (f * sizes.bones + b), 12 * sizeof(float));
}

}  // namespace

GltfExtension two_layer_extension(const Rig& rig, bool pack) {
  const TwoLayer& model = *rig.two_layer;
  const Json json = {{"version", 1},
                     {"vertices", rig.vertex_count()},
                     {"bones", rig.bone_count()},
                     {"frames", rig.frame_count()},
                     {"virtualBones", model.virtual_bone_count()},
                     {"bonesPerVirtualBone", model.dictionary.slots},
                     {"virtualBonesPerVertex", model.coefficients.slots}};
  GltfExtension out{kTwoLayerExtension, json_text(json), {}};
  if (pack) {
    out.arrays.push_back({"packed", GltfArray::Component::u8, 1, gltf::pack_two_layer(model, rig.motion)});
    return out;
  }
  using Component = GltfArray::Component;
  out.arrays.push_back(indices("dictionaryBones", model.dictionary.columns, rig.bone_count()));
  out.arrays.push_back(array_of<float>("dictionaryWeights", Component::f32, 1, model.dictionary.values));
  out.arrays.push_back(indices("vertexVirtualBones", model.coefficients.columns, model.virtual_bone_count()));
  out.arrays.push_back(array_of<float>("vertexWeights", Component::f32, 1, model.coefficients.values));
  if (rig.frame_count() > 0)
    out.arrays.push_back(array_of<float>("motion", Component::f32, 3, motion_numbers(rig.motion)));
  return out;
}

void apply_two_layer_extension(const GltfExtension& extension, const std::string& name, Rig& rig) {
  ExtensionReader reader{extension, name, parse_json(extension.json)};
  if (!reader.json.is_object()) reader.refuse("is not an object");
  if (reader.json.value("version", Json()) != 1) reader.refuse("has a version that is not 1");
  const PackedSizes sizes{rig.vertex_count(),
                          rig.bone_count(),
                          rig.frame_count(),
                          reader.count("virtualBones", 0xFFFFFFFF),
                          static_cast<int>(reader.count("bonesPerVirtualBone", rig.bone_count())),
                          static_cast<int>(reader.count("virtualBonesPerVertex", 64))};
  for (const auto& [key, have] : {std::pair<const char*, std::size_t>{"vertices", sizes.vertices},
                                  {"bones", sizes.bones},
                                  {"frames", sizes.frames}})
    if (reader.json.value(key, Json()) != have)
      reader.refuse(fmt::format("is for {} {}, the rig has {}", json_text(reader.json.value(key, Json())), key, have));
  TwoLayer model;
  Motion motion = rig.motion;
  const GltfArray* packed = reader.find("packed");
  const GltfArray* coded = reader.find("coded");
  // An array cannot hold more rows than the file has bytes for, so this is checked before anything is allocated.
  std::size_t bytes = 0;
  for (const GltfArray& array : extension.arrays) bytes += array.bytes.size();
  if (packed != nullptr || coded != nullptr) {
    if (sizes.virtual_bones > sizes.vertices * static_cast<std::size_t>(sizes.virtual_per_vertex))
      reader.refuse(fmt::format("has {} virtual bones for {} vertices", sizes.virtual_bones, sizes.vertices));
    if (coded != nullptr)
      gltf::decode_two_layer(coded->bytes, sizes, name, model, motion);
    else
      gltf::unpack_two_layer(packed->bytes, sizes, name, model, motion);
  } else {
    if (sizes.virtual_bones > bytes) reader.refuse(fmt::format("{} virtual bones do not fit", sizes.virtual_bones));
    read_plain(reader, sizes, model, motion);
  }
  model.check(sizes.vertices, sizes.bones);
  rig.two_layer = std::move(model);
  if (reader.json.value("normals", Json()) == "computed") rig.rest.flat = false;
  // A file of the model alone: its skin stands still.
  if (coded != nullptr) rig.transforms = Transforms::affine;
  // Rigid bones stay exactly rigid: their motion is the skin's own, which rounding to 16 bits would spoil.
  if (rig.transforms == Transforms::affine) rig.motion = std::move(motion);
}

}  // namespace sinew
