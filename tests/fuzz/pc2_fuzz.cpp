#include "fuzz.h"
#include "sinew/io/pc2.h"

using namespace sinew;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::try_bytes(data, size, [](std::span<const std::byte> bytes) {
    const PointCache cache = parse_pc2(bytes, "input");
    fuzz::require(cache.frames.data().size() * 4 <= bytes.size(), "no frames beyond the bytes");
    Sequence sequence;
    sequence.rest.positions = cache.frames[0];
    sequence.frames = cache.frames;
    sequence.times = cache.times;
    sequence.check();
  });
}
