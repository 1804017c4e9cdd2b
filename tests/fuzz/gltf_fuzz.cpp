#include "fuzz.h"
#include "sinew/io/gltf.h"

using namespace sinew;

/// GLB, or glTF JSON where the bytes do not begin as GLB does. No folder has this name: external files are not there.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::filesystem::path nowhere = "/nonexistent";
  ReadOptions options;
  options.max_bytes = std::size_t{4} << 20;
  fuzz::try_bytes(data, size,
                  [&](std::span<const std::byte> bytes) { parse_gltf_rig(bytes, nowhere, options).check(); });
  return fuzz::try_bytes(
      data, size, [&](std::span<const std::byte> bytes) { parse_gltf_sequence(bytes, nowhere, options).check(); });
}
