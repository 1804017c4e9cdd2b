#pragma once

#include <cmath>

namespace sinew {

/// sRGB, in which programs that write vertex colours into OBJ and PLY give them, to linear light.
inline float linear_from_srgb(float c) {
  return c <= 0.04045F ? c / 12.92F : std::pow((c + 0.055F) / 1.055F, 2.4F);
}

inline float srgb_from_linear(float c) {
  return c <= 0.0031308F ? c * 12.92F : 1.055F * std::pow(c, 1 / 2.4F) - 0.055F;
}

}  // namespace sinew
