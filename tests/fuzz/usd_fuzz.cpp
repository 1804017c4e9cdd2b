#include "fuzz.h"
#include "sinew/io/usd.h"

using namespace sinew;

/// A text layer or a package. No folder has this name: images beside it are not there.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::filesystem::path nowhere = "/nonexistent";
  ReadOptions options;
  options.max_bytes = std::size_t{4} << 20;
  fuzz::try_bytes(data, size,
                  [&](std::span<const std::byte> bytes) { parse_usd_rig(bytes, nowhere, options).check(); });
  return fuzz::try_bytes(data, size, [&](std::span<const std::byte> bytes) {
    const Sequence sequence = parse_usd_sequence(bytes, nowhere, options);
    fuzz::require(sequence.frames.data().size() * sizeof(float) <= options.max_bytes, "no frames beyond the limit");
    sequence.check();
  });
}
