#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sinew/runtime/sinew_runtime.h"

/// What an instruction set has to provide. The scalar kernels are the oracle: every other set follows their order of
/// operations, without fused ones, and gives the same bits.
namespace sinew::runtime {

inline constexpr int kUnrolled = 8;               // influences with a kernel of their own; longer rows have two sums
inline constexpr std::size_t kMatrixFloats = 16;  // a palette entry: four columns of four

/// One pose of a contiguous run of vertices.
struct SkinJob {
  std::size_t vertices;
  std::size_t bones;      // columns of dense weights
  sinew_weights weights;  // its pointers start at the run's first vertex
  const float* palette;   // bones × 16
  sinew_input positions;  // at the run's first vertex
  sinew_input normals;    // data null: none
  sinew_normal_rule rule;
  sinew_output positions_out;
  sinew_output normals_out;
};

/// Rows of a palette blended from another one.
struct BlendJob {
  std::size_t rows;
  std::size_t bones;
  sinew_weights weights;
  const float* palette;  // bones × 16
  float* out;            // rows × 16
};

struct Kernels {
  const char* name;
  void (*skin)(const SkinJob&);
  void (*blend)(const BlendJob&);
  void (*add_scaled)(float* out, const float* in, float factor, std::size_t floats);  // out += factor·in
};

const Kernels& scalar_kernels();

/// The best set that this processor has; decided at the first call.
const Kernels& best_kernels();

/// Every compiled set that this processor has, for tests and benchmarks. Not thread-safe.
std::vector<const Kernels*> all_simd_kernels();

/// What sinew_skin refuses, before it does anything.
sinew_status check_arguments(const sinew_model& model, const sinew_poses& poses);

/// sinew_skin with a given set.
sinew_status skin_with(const Kernels& kernels, const sinew_model& model, const sinew_poses& poses);

}  // namespace sinew::runtime
