#include "fuzz.h"
#include "sinew/io/ply.h"

using namespace sinew;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::try_bytes(data, size, [](std::span<const std::byte> bytes) {
    const Mesh mesh = parse_ply(bytes, "input");
    mesh.check();
    fuzz::require(parse_ply_frame(bytes, "input", mesh) == mesh.positions, "a mesh is a frame of itself");
  });
}
