#include "fuzz.h"
#include "sinew/io/fbx.h"

using namespace sinew;

/// Binary FBX, or text where the bytes do not begin as binary files do.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ReadOptions options;
  options.max_bytes = std::size_t{4} << 20;
  fuzz::try_bytes(data, size, [&](std::span<const std::byte> bytes) { parse_fbx_rig(bytes, options).check(); });
  return fuzz::try_bytes(data, size,
                         [&](std::span<const std::byte> bytes) { parse_fbx_sequence(bytes, options).check(); });
}
