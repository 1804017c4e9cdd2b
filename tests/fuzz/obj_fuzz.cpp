#include "fuzz.h"
#include "sinew/io/obj.h"

using namespace sinew;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::try_bytes(data, size, [](std::span<const std::byte> bytes) {
    const Mesh mesh = parse_obj(bytes, "input");
    mesh.check();
    fuzz::require(parse_obj_frame(bytes, "input", mesh) == mesh.positions, "a mesh is a frame of itself");
    const std::string text = format_obj(mesh);
    const Mesh back = parse_obj(std::as_bytes(std::span(text)), "written");
    fuzz::require(
        back.positions == mesh.positions && back.face_sizes == mesh.face_sizes && back.corners == mesh.corners,
        "what is written reads back equal");
    fuzz::require(back.pieces.size() == mesh.pieces.size(), "pieces survive");
    fuzz::require(back.uv_sets.size() == mesh.uv_sets.size() && back.normals.empty() == mesh.normals.empty(),
                  "attributes survive");
  });
}
