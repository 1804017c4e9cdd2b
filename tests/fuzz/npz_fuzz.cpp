#include "fuzz.h"
#include "sinew/io/npz.h"

using namespace sinew;

/// An archive; or, where the bytes begin as one does, an array on its own.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::try_bytes(data, size, [](std::span<const std::byte> bytes) {
    if (!bytes.empty() && bytes[0] == std::byte{0x93}) {
      const NpyArray<double> array = parse_npy<double>(bytes, "input");
      fuzz::require(array.values.size() <= bytes.size(), "no values beyond the bytes");
    } else {
      parse_npz(bytes, "input").check();
    }
  });
}
