#include <vector>

#include "fuzz.h"
#include "sinew/io/two_layer_gltf.h"

using namespace sinew;

/// The bytes as the packed and as the coded model of a rig of 12 vertices, 3 bones and 2 frames, and once more with the
/// sizes that the first bytes name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Rig rig;
  rig.rest.positions = Points::Zero(3, 12);
  rig.bones.resize(3);
  rig.motion = Motion(2, 3);
  const auto read = [&](const char* array, unsigned atoms, unsigned masters, unsigned slots,
                        std::span<const std::byte> bytes) {
    const std::string json = R"({"version":1,"vertices":12,"bones":3,"frames":2,"virtualBones":)" +
                             std::to_string(atoms) + R"(,"bonesPerVirtualBone":)" + std::to_string(masters) +
                             R"(,"virtualBonesPerVertex":)" + std::to_string(slots) + "}";
    const GltfExtension extension{
        kTwoLayerExtension, json, {{array, GltfArray::Component::u8, 1, {bytes.begin(), bytes.end()}}}};
    Rig copy = rig;
    apply_two_layer_extension(extension, "fuzz", copy);
    copy.two_layer->check(12, 3);
  };
  for (const char* array : {"packed", "coded"}) {
    if (size >= 3)
      fuzz::try_bytes(data, size, [&](std::span<const std::byte> bytes) {
        read(array, data[0], data[1], data[2], bytes.subspan(3));
      });
    fuzz::try_bytes(data, size, [&](std::span<const std::byte> bytes) { read(array, 4, 3, 2, bytes); });
  }
  return 0;
}
