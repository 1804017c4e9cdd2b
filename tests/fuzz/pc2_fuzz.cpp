#include "point_cache.h"
#include "sinew/io/pc2.h"

using namespace sinew;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::try_bytes(data, size,
                         [](std::span<const std::byte> bytes) { fuzz::check_cache(parse_pc2(bytes, "input"), bytes); });
}
