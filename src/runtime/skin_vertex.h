#pragma once

#include <cmath>
#include <cstddef>

#include "sinew/runtime/sinew_runtime.h"

/// The arithmetic of one vertex, in one text for the scalar kernels, which are the oracle, and for the GPU. Whoever
/// includes this compiles without contraction to fused operations, so that the bits are those of every instruction set.
/// C++17, so that every nvcc takes it.
#ifdef __CUDACC__
#define SINEW_HOST_DEVICE __host__ __device__ __forceinline__
#define SINEW_UNROLL _Pragma("unroll")
#define SINEW_NO_UNROLL _Pragma("unroll 1")
#else
#define SINEW_HOST_DEVICE inline
#define SINEW_UNROLL
#define SINEW_NO_UNROLL
#endif

namespace sinew::runtime {

struct Float3 {
  float x, y, z;
};

/// The three upper rows of a palette entry, column by column, held in registers.
struct Matrix {
  Float3 x{0, 0, 0}, y{0, 0, 0}, z{0, 0, 0}, t{0, 0, 0};
};

/// A palette entry: four columns of four floats.
SINEW_HOST_DEVICE Matrix matrix_of_columns(const float* m) {
  return {{m[0], m[1], m[2]}, {m[4], m[5], m[6]}, {m[8], m[9], m[10]}, {m[12], m[13], m[14]}};
}

SINEW_HOST_DEVICE Float3 scaled(float w, const Float3& column) {
  return {w * column.x, w * column.y, w * column.z};
}

SINEW_HOST_DEVICE void add(Float3& sum, float w, const Float3& column) {
  sum.x += w * column.x;
  sum.y += w * column.y;
  sum.z += w * column.z;
}

SINEW_HOST_DEVICE Matrix scaled(float w, const Matrix& bone) {
  return {scaled(w, bone.x), scaled(w, bone.y), scaled(w, bone.z), scaled(w, bone.t)};
}

SINEW_HOST_DEVICE void add(Matrix& sum, float w, const Matrix& bone) {
  add(sum.x, w, bone.x);
  add(sum.y, w, bone.y);
  add(sum.z, w, bone.z);
  add(sum.t, w, bone.t);
}

/// A row of weights times the palette, in one sum, or the odd slots in a second one as kernels for rows of any length
/// do. row.weight(k) and row.bone(k) give slot k.
template <class Row>
SINEW_HOST_DEVICE Matrix blend_row(const Row& row, std::size_t slots, int sums) {
  Matrix sum = scaled(row.weight(0), row.bone(0));
  std::size_t k = 1;
  if (sums == 2) {
    Matrix odd;
    for (; k + 2 <= slots; k += 2) {
      add(odd, row.weight(k), row.bone(k));
      add(sum, row.weight(k + 1), row.bone(k + 1));
    }
    add(sum, 1, odd);
  }
  SINEW_UNROLL
  for (; k < slots; ++k) add(sum, row.weight(k), row.bone(k));
  return sum;
}

SINEW_HOST_DEVICE Float3 transform_point(const Matrix& m, const Float3& p) {
  return {(m.x.x * p.x + m.z.x * p.z) + (m.y.x * p.y + m.t.x), (m.x.y * p.x + m.z.y * p.z) + (m.y.y * p.y + m.t.y),
          (m.x.z * p.x + m.z.z * p.z) + (m.y.z * p.y + m.t.z)};
}

SINEW_HOST_DEVICE Float3 cross(const Float3& a, const Float3& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

/// The linear part times the normal; the translation, times nothing, is there for the order of operations.
SINEW_HOST_DEVICE Float3 turned_linearly(const Matrix& m, const Float3& n) {
  return {(m.x.x * n.x + m.z.x * n.z) + (m.y.x * n.y + m.t.x * 0),
          (m.x.y * n.x + m.z.y * n.z) + (m.y.y * n.y + m.t.y * 0),
          (m.x.z * n.x + m.z.z * n.z) + (m.y.z * n.y + m.t.z * 0)};
}

/// Cofactors times the normal.
SINEW_HOST_DEVICE Float3 turned_by_cofactors(const Matrix& m, const Float3& n) {
  const Float3 yz = cross(m.y, m.z);
  const Float3 zx = cross(m.z, m.x);
  const Float3 xy = cross(m.x, m.y);
  return {yz.x * n.x + zx.x * n.y + xy.x * n.z, yz.y * n.x + zx.y * n.y + xy.y * n.z,
          yz.z * n.x + zx.z * n.y + xy.z * n.z};
}

SINEW_HOST_DEVICE Float3 transform_normal(const Matrix& m, const Float3& n, sinew_normal_rule rule) {
  const Float3 r = rule == sinew_normals_linear ? turned_linearly(m, n) : turned_by_cofactors(m, n);
  const float squared = r.x * r.x + r.y * r.y + r.z * r.z;
  if (!(squared > 0)) return {0, 0, 0};
  const float inverse = 1 / std::sqrt(squared);
  return {r.x * inverse, r.y * inverse, r.z * inverse};
}

}  // namespace sinew::runtime
