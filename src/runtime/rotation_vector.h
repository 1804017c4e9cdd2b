#pragma once

#include <cmath>

namespace sinew::runtime {

/// The rotation matrix of a rotation vector, 9 floats column by column.
inline void rotation_of(const float* v, float* out) {
  const float angle = std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
  const float sine = angle > 1e-6F ? std::sin(angle) / angle : 1.0F;
  const float half = 0.5F * angle;
  const float half_sine = half > 1e-6F ? std::sin(half) / half : 1.0F;
  const float cosine = 0.5F * half_sine * half_sine;  // (1 − cos angle) / angle²
  const float c = 1 - cosine * angle * angle;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) out[3 * j + i] = cosine * v[i] * v[j] + (i == j ? c : 0.0F);
  out[1] += sine * v[2];
  out[2] -= sine * v[1];
  out[3] -= sine * v[2];
  out[5] += sine * v[0];
  out[6] += sine * v[1];
  out[7] -= sine * v[0];
}

}  // namespace sinew::runtime
