#include <cstring>

#include "runtime/kernels.h"
#include "runtime/skin_vertex.h"

// The oracle, and the floor that the vectorised kernels are measured against: one multiplication at a time. This file
// is compiled without automatic vectorisation, so that the comparison means what it says, and without contraction to
// fused operations, so that its bits are those of every instruction set.
namespace sinew::runtime {
namespace {

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

/// Row `row` of the weights, its bones picked from the palette.
struct WeightRow {
  const sinew_weights& weights;
  const float* palette;
  std::size_t first;  // slot
  float weight(std::size_t k) const { return weights.values[first + k]; }
  Matrix bone(std::size_t k) const {
    return matrix_of_columns(palette + kMatrixFloats * (weights.influences == 0 ? k : index_of(weights, first + k)));
  }
};

Matrix blended(const sinew_weights& weights, std::size_t bones, const float* palette, std::size_t row, int sums) {
  const std::size_t slots = weights.influences == 0 ? bones : static_cast<std::size_t>(weights.influences);
  return blend_row(WeightRow{weights, palette, row * slots}, slots, sums);
}

void skin(const SkinJob& job) {
  for (std::size_t v = 0; v < job.vertices; ++v) {
    const Matrix m = blended(job.weights, job.bones, job.palette, v, job.weights.influences > kUnrolled ? 2 : 1);
    store(job.positions_out, v, transform_point(m, load(job.positions, v)));
    if (job.normals_out.data != nullptr) store(job.normals_out, v, transform_normal(m, load(job.normals, v), job.rule));
  }
}

void blend(const BlendJob& job) {
  for (std::size_t row = 0; row < job.rows; ++row) {
    const Matrix m = blended(job.weights, job.bones, job.palette, row, job.weights.influences == 0 ? 1 : 2);
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
