#include "fuzz.h"
#include "sinew/io/alembic.h"

using namespace sinew;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::try_bytes(data, size, [](std::span<const std::byte> bytes) {
    ReadOptions options;
    options.max_bytes = std::size_t{4} << 20;
    const Sequence sequence = parse_alembic(bytes, "input", options);
    fuzz::require(sequence.frames.data().size() * sizeof(float) <= options.max_bytes, "no frames beyond the limit");
    sequence.check();
  });
}
