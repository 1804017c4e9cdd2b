#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

/// OpenEXR out: the plainest kind, for textures that hold numbers.
namespace sinew {

/// An image of four channels.
struct ExrImage {
  int width = 0;
  int height = 0;
  bool half = false;          // 16 bits a number instead of 32
  std::vector<float> texels;  // height×width×4: R, G, B, A, the top row first
};

/// A scan-line file without compression, which every reader of OpenEXR takes. Throws Error{output} when the texels are
/// not height×width×4, there are none, or a number is larger than a half float where those are asked for.
std::vector<std::byte> exr_bytes(const ExrImage& image);

}  // namespace sinew
