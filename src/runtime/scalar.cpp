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

/// The three upper rows of a palette entry, column by column, held in registers.
struct Matrix {
  Float3 x{0, 0, 0}, y{0, 0, 0}, z{0, 0, 0}, t{0, 0, 0};
};

void add(Float3& sum, float w, const float* column) {
  sum.x += w * column[0];
  sum.y += w * column[1];
  sum.z += w * column[2];
}

/// Row `row` of the weights times the palette.
Matrix blend_row(const sinew_weights& weights, std::size_t bones, const float* palette, std::size_t row) {
  Matrix sum;
  const std::size_t slots = weights.influences == 0 ? bones : static_cast<std::size_t>(weights.influences);
  for (std::size_t k = 0; k < slots; ++k) {
    const std::size_t slot = row * slots + k;
    const float* bone = palette + kMatrixFloats * (weights.influences == 0 ? k : index_of(weights, slot));
    const float w = weights.values[slot];
    add(sum.x, w, bone);
    add(sum.y, w, bone + 4);
    add(sum.z, w, bone + 8);
    add(sum.t, w, bone + 12);
  }
  return sum;
}

Float3 transform_point(const Matrix& m, const Float3& p) {
  return {m.x.x * p.x + m.y.x * p.y + m.z.x * p.z + m.t.x, m.x.y * p.x + m.y.y * p.y + m.z.y * p.z + m.t.y,
          m.x.z * p.x + m.y.z * p.y + m.z.z * p.z + m.t.z};
}

Float3 cross(const Float3& a, const Float3& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

/// Cofactors times the normal, unit length.
Float3 transform_normal(const Matrix& m, const Float3& n) {
  const Float3 yz = cross(m.y, m.z);
  const Float3 zx = cross(m.z, m.x);
  const Float3 xy = cross(m.x, m.y);
  const Float3 r = {yz.x * n.x + zx.x * n.y + xy.x * n.z, yz.y * n.x + zx.y * n.y + xy.y * n.z,
                    yz.z * n.x + zx.z * n.y + xy.z * n.z};
  const float squared = r.x * r.x + r.y * r.y + r.z * r.z;
  if (!(squared > 0)) return {0, 0, 0};
  const float length = std::sqrt(squared);
  return {r.x / length, r.y / length, r.z / length};
}

void skin(const SkinJob& job) {
  for (std::size_t v = 0; v < job.vertices; ++v) {
    const Matrix m = blend_row(job.weights, job.bones, job.palette, v);
    store(job.positions_out, v, transform_point(m, load(job.positions, v)));
    if (job.normals_out.data != nullptr) store(job.normals_out, v, transform_normal(m, load(job.normals, v)));
  }
}

void blend(const BlendJob& job) {
  for (std::size_t row = 0; row < job.rows; ++row) {
    const Matrix m = blend_row(job.weights, job.bones, job.palette, row);
    float* out = job.out + kMatrixFloats * row;
    for (const Float3* column : {&m.x, &m.y, &m.z, &m.t}) {
      std::memcpy(out, column, sizeof *column);
      out[3] = 0;
      out += 4;
    }
  }
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
