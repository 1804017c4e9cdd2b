#include <cmath>
#include <cstring>

#include "runtime/kernels.h"

// The oracle, and the floor that the vectorised kernels are measured against: one multiplication at a time. This file
// is compiled without automatic vectorisation, so that the comparison means what it says, and without contraction to
// fused operations, so that its bits are those of every instruction set.
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

Float3 scaled(float w, const float* column) {
  return {w * column[0], w * column[1], w * column[2]};
}

void add(Float3& sum, float w, const float* column) {
  sum.x += w * column[0];
  sum.y += w * column[1];
  sum.z += w * column[2];
}

Matrix scaled_matrix(float w, const float* bone) {
  return {scaled(w, bone), scaled(w, bone + 4), scaled(w, bone + 8), scaled(w, bone + 12)};
}

void add(Matrix& sum, float w, const float* bone) {
  add(sum.x, w, bone);
  add(sum.y, w, bone + 4);
  add(sum.z, w, bone + 8);
  add(sum.t, w, bone + 12);
}

void add(Matrix& sum, const Matrix& other) {
  add(sum.x, 1, &other.x.x);
  add(sum.y, 1, &other.y.x);
  add(sum.z, 1, &other.z.x);
  add(sum.t, 1, &other.t.x);
}

/// Row `row` of the weights times the palette, in one sum, or the odd slots in a second one as kernels for rows of any
/// length do.
Matrix blend_row(const sinew_weights& weights, std::size_t bones, const float* palette, std::size_t row, int sums) {
  const std::size_t slots = weights.influences == 0 ? bones : static_cast<std::size_t>(weights.influences);
  const float* values = weights.values + row * slots;
  const auto bone = [&](std::size_t k) {
    return palette + kMatrixFloats * (weights.influences == 0 ? k : index_of(weights, row * slots + k));
  };
  Matrix sum = scaled_matrix(values[0], bone(0));
  std::size_t k = 1;
  if (sums == 2) {
    Matrix odd;
    for (; k + 2 <= slots; k += 2) {
      add(odd, values[k], bone(k));
      add(sum, values[k + 1], bone(k + 1));
    }
    add(sum, odd);
  }
  for (; k < slots; ++k) add(sum, values[k], bone(k));
  return sum;
}

Float3 transform_point(const Matrix& m, const Float3& p) {
  return {(m.x.x * p.x + m.z.x * p.z) + (m.y.x * p.y + m.t.x), (m.x.y * p.x + m.z.y * p.z) + (m.y.y * p.y + m.t.y),
          (m.x.z * p.x + m.z.z * p.z) + (m.y.z * p.y + m.t.z)};
}

Float3 cross(const Float3& a, const Float3& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

/// The linear part times the normal; the translation, times nothing, is there for the order of operations.
Float3 turned_linearly(const Matrix& m, const Float3& n) {
  return {(m.x.x * n.x + m.z.x * n.z) + (m.y.x * n.y + m.t.x * 0),
          (m.x.y * n.x + m.z.y * n.z) + (m.y.y * n.y + m.t.y * 0),
          (m.x.z * n.x + m.z.z * n.z) + (m.y.z * n.y + m.t.z * 0)};
}

/// Cofactors times the normal.
Float3 turned_by_cofactors(const Matrix& m, const Float3& n) {
  const Float3 yz = cross(m.y, m.z);
  const Float3 zx = cross(m.z, m.x);
  const Float3 xy = cross(m.x, m.y);
  return {yz.x * n.x + zx.x * n.y + xy.x * n.z, yz.y * n.x + zx.y * n.y + xy.y * n.z,
          yz.z * n.x + zx.z * n.y + xy.z * n.z};
}

Float3 transform_normal(const Matrix& m, const Float3& n, sinew_normal_rule rule) {
  const Float3 r = rule == sinew_normals_linear ? turned_linearly(m, n) : turned_by_cofactors(m, n);
  const float squared = r.x * r.x + r.y * r.y + r.z * r.z;
  if (!(squared > 0)) return {0, 0, 0};
  const float inverse = 1 / std::sqrt(squared);
  return {r.x * inverse, r.y * inverse, r.z * inverse};
}

void skin(const SkinJob& job) {
  for (std::size_t v = 0; v < job.vertices; ++v) {
    const Matrix m = blend_row(job.weights, job.bones, job.palette, v, job.weights.influences > kUnrolled ? 2 : 1);
    store(job.positions_out, v, transform_point(m, load(job.positions, v)));
    if (job.normals_out.data != nullptr) store(job.normals_out, v, transform_normal(m, load(job.normals, v), job.rule));
  }
}

void blend(const BlendJob& job) {
  for (std::size_t row = 0; row < job.rows; ++row) {
    const Matrix m = blend_row(job.weights, job.bones, job.palette, row, job.weights.influences == 0 ? 1 : 2);
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
