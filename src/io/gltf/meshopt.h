#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

/// Buffer views compressed by EXT_meshopt_compression (or KHR_meshopt_compression).
namespace sinew::gltf {

/// What the extension says about a view.
struct CompressedView {
  std::string mode;        // ATTRIBUTES, TRIANGLES or INDICES
  std::string filter;      // NONE, OCTAHEDRAL, QUATERNION or EXPONENTIAL
  std::size_t count = 0;   // elements
  std::size_t stride = 0;  // bytes of each
};

/// The bytes of the view, count·stride of them. Throws Error{input} with a sentence that starts with `where` for
/// anything that is not a valid stream.
std::vector<std::byte> decode_view(const CompressedView& view, std::span<const std::byte> bytes,
                                   const std::string& where);

/// The inverse: count·stride bytes, on which the filter has been applied already, as a stream that decode_view() and
/// every other reader of the extension takes. Triangles are 4 bytes per corner here, whatever the stride of the view.
std::vector<std::byte> encode_view(const CompressedView& view, std::span<const std::byte> bytes);

}  // namespace sinew::gltf
