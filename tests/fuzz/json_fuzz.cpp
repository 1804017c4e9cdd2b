#include <cstring>
#include <string>
#include <vector>

#include "fuzz.h"
#include "io/alembic/murmur3.h"
#include "sinew/io/checkpoint_file.h"
#include "sinew/io/two_layer_gltf.h"

using namespace sinew;

namespace {

/// The bytes as the header of a checkpoint over a few numbers, with the sizes and the digest that belong to it.
void read_checkpoint(std::span<const std::byte> header) {
  std::vector<std::byte> bytes(16);
  const std::uint64_t size = header.size();
  std::memcpy(bytes.data(), "SINEWCK1", 8);
  std::memcpy(bytes.data() + 8, &size, 8);
  bytes.insert(bytes.end(), header.begin(), header.end());
  for (const double number : {1.0, 0.0, -3.0, 1e300, 0.5, 2.0})
    for (std::size_t i = 0; i < 8; ++i) bytes.push_back(reinterpret_cast<const std::byte*>(&number)[i]);
  const Digest digest = murmur3(bytes);
  const auto* const tail = reinterpret_cast<const std::byte*>(&digest);
  bytes.insert(bytes.end(), tail, tail + sizeof digest);
  const ParsedCheckpoint parsed = parse_checkpoint(bytes, "input");
  const ParsedCheckpoint again = parse_checkpoint(format_checkpoint(parsed.state, parsed.identity), "written");
  fuzz::require(again.state.step == parsed.state.step && again.state.arrays.size() == parsed.state.arrays.size(),
                "what is written reads back equal");
}

/// The bytes as the JSON of a packed two-layer model.
void read_extension(std::span<const std::byte> json) {
  Rig rig;
  rig.rest.positions = Points::Zero(3, 12);
  rig.bones.resize(3);
  rig.motion = Motion(2, 3);
  const GltfExtension extension{kTwoLayerExtension,
                                {reinterpret_cast<const char*>(json.data()), json.size()},
                                {{"packed", GltfArray::Component::u8, 1, std::vector<std::byte>(64)}}};
  apply_two_layer_extension(extension, "input", rig);
  rig.two_layer->check(12, 3);
}

}  // namespace

/// JSON that is not glTF's own: headers of checkpoints and of packed models.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::try_bytes(data, size, read_checkpoint);
  return fuzz::try_bytes(data, size, read_extension);
}
