#include <cmath>
#include <cstring>

#include "runtime/kernels.h"

// The oracle, and the floor that the vectorised kernels are measured against: one multiplication at a time. This file
// is compiled without automatic vectorisation, so that the comparison means what it says.
namespace sinew::runtime {
namespace {

struct Float3 {
  float x, y, z;
};

Float3 load(const sinew_input& in, std::size_t v) {
  Float3 p;
  std::memcpy(&p, static_cast<const unsigned char*>(in.data) + v * in.stride, sizeof p);
  return p;
}

void store(const sinew_output& out, std::size_t v, const Float3& p) {
  std::memcpy(static_cast<unsigned char*>(out.data) + v * out.stride, &p, sizeof p);
}

std::size_t index_of(const sinew_weights& weights, std::size_t slot) {
  return weights.indices16 != nullptr ? weights.indices16[slot] : weights.indices32[slot];
}

/// Row `row` of the weights times the palette: columns of four floats, the last row of each matrix left out.
void blend_row(const sinew_weights& weights, std::size_t bones, const float* palette, std::size_t row, float out[16]) {
  for (int e = 0; e < 16; ++e) out[e] = 0;
  const std::size_t slots = weights.influences == 0 ? bones : static_cast<std::size_t>(weights.influences);
  for (std::size_t k = 0; k < slots; ++k) {
    const std::size_t slot = row * slots + k;
    const float* bone = palette + kMatrixFloats * (weights.influences == 0 ? k : index_of(weights, slot));
    const float w = weights.values[slot];
    for (int column = 0; column < 4; ++column) {
      out[4 * column] += w * bone[4 * column];
      out[4 * column + 1] += w * bone[4 * column + 1];
      out[4 * column + 2] += w * bone[4 * column + 2];
    }
  }
}

Float3 transform_point(const float m[16], const Float3& p) {
  return {m[0] * p.x + m[4] * p.y + m[8] * p.z + m[12], m[1] * p.x + m[5] * p.y + m[9] * p.z + m[13],
          m[2] * p.x + m[6] * p.y + m[10] * p.z + m[14]};
}

Float3 cross(const float* a, const float* b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

/// Cofactors times the normal, unit length.
Float3 transform_normal(const float m[16], const Float3& n) {
  const Float3 yz = cross(m + 4, m + 8);
  const Float3 zx = cross(m + 8, m);
  const Float3 xy = cross(m, m + 4);
  const Float3 r = {yz.x * n.x + zx.x * n.y + xy.x * n.z, yz.y * n.x + zx.y * n.y + xy.y * n.z,
                    yz.z * n.x + zx.z * n.y + xy.z * n.z};
  const float squared = r.x * r.x + r.y * r.y + r.z * r.z;
  if (!(squared > 0)) return {0, 0, 0};
  const float length = std::sqrt(squared);
  return {r.x / length, r.y / length, r.z / length};
}

void skin(const SkinJob& job) {
  for (std::size_t v = 0; v < job.vertices; ++v) {
    float m[16];
    blend_row(job.weights, job.bones, job.palette, v, m);
    store(job.positions_out, v, transform_point(m, load(job.positions, v)));
    if (job.normals_out.data != nullptr) store(job.normals_out, v, transform_normal(m, load(job.normals, v)));
  }
}

void blend(const BlendJob& job) {
  for (std::size_t row = 0; row < job.rows; ++row)
    blend_row(job.weights, job.bones, job.palette, row, job.out + kMatrixFloats * row);
}

void add_scaled(float* out, const float* in, float factor, std::size_t floats) {
  for (std::size_t i = 0; i < floats; ++i) out[i] += factor * in[i];
}

}  // namespace

const Kernels& scalar_kernels() {
  static constexpr Kernels kKernels{"scalar", skin, blend, add_scaled};
  return kKernels;
}

}  // namespace sinew::runtime
