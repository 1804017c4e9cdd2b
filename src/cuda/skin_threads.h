#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/skin_vertex.h"

/// What one GPU thread does to skin a tile of vertices in a run of poses, cut at the barriers. The kernels of skin.cu
/// call the pieces with barriers between them; host_blocks.h calls each piece for one thread after another, which is
/// how machines without a GPU test this text.
///
/// A block holds kTile vertices in registers while a run of poses passes: weights and rest positions are read once per
/// run. Palettes that fit are laid out in shared memory as three rows of four floats, so that an influence costs three
/// loads of 16 bytes. Results go through shared memory too, a warp at a time: 12-byte vertices then leave in whole
/// 128-byte lines.
namespace sinew::cuda {

using runtime::blend_row;
using runtime::Float3;
using runtime::Matrix;

inline constexpr int kThreads = 256;  // of a block
inline constexpr int kWarp = 32;
inline constexpr int kPerThread = 2;  // vertices that a thread holds
inline constexpr int kTile = kThreads * kPerThread;
inline constexpr int kHeld = 8;  // influences that a thread can hold; longer rows are read anew for every pose

/// A row of a 3×4 matrix: one load.
struct alignas(16) Row {
  float x, y, z, t;
};
inline constexpr std::size_t kRows = 3;                      // of a matrix in this form
inline constexpr std::size_t kRowFloats = kRows * 4;         // a matrix in scratch and in shared memory
inline constexpr std::size_t kOutFloats = 2 * kThreads * 3;  // shared memory for results

SINEW_HOST_DEVICE Matrix matrix_of_rows(const Row* m) {
  const Row a = m[0], b = m[1], c = m[2];
  return {{a.x, b.x, c.x}, {a.y, b.y, c.y}, {a.z, b.z, c.z}, {a.t, b.t, c.t}};
}

/// A palette entry as four aligned loads.
SINEW_HOST_DEVICE Matrix matrix_of_aligned_columns(const float* m) {
  const Row* column = reinterpret_cast<const Row*>(m);
  const Row a = column[0], b = column[1], c = column[2], d = column[3];
  return {{a.x, a.y, a.z}, {b.x, b.y, b.z}, {c.x, c.y, c.z}, {d.x, d.y, d.z}};
}

/// Where matrices are read from: the form is known when a kernel is compiled.
enum class Form { columns, rows };

template <Form form>
SINEW_HOST_DEVICE Matrix matrix_at(const float* palette, std::size_t bone) {
  if (form == Form::rows) return matrix_of_rows(reinterpret_cast<const Row*>(palette + kRowFloats * bone));
  return matrix_of_aligned_columns(palette + 16 * bone);
}

/// One call, as the kernels see it. `weights` refer to `palettes`.
struct SkinCall {
  std::size_t vertices;
  std::size_t bones;
  std::size_t poses;
  std::size_t poses_per_block;
  sinew_weights weights;
  const char* palettes;
  std::size_t palette_stride;  // bytes
  sinew_input positions, normals;
  sinew_normal_rule rule;
  std::size_t corrections;
  const float* position_offsets;
  const float* normal_offsets;
  const float* coefficients;
  sinew_output positions_out, normals_out;
};

/// The same for the first layer: rows of the dictionary blended into `out`, poses × rows × 12.
struct BlendCall {
  std::size_t rows;
  std::size_t bones;
  std::size_t poses;
  sinew_weights weights;
  const char* palettes;
  std::size_t palette_stride;
  float* out;
};

SINEW_HOST_DEVICE std::size_t index_at(const sinew_weights& weights, std::size_t slot) {
  return weights.indices16 != nullptr ? weights.indices16[slot] : weights.indices32[slot];
}

SINEW_HOST_DEVICE Float3 load(const sinew_input& in, std::size_t v) {
  const float* p = reinterpret_cast<const float*>(static_cast<const char*>(in.data) + v * in.stride);
  return {p[0], p[1], p[2]};
}

SINEW_HOST_DEVICE const float* palette_of(const char* palettes, std::size_t stride, std::size_t pose) {
  return reinterpret_cast<const float*>(palettes + pose * stride);
}

/// Lays a palette out as rows in shared memory; each thread brings some of it.
template <Form form>
SINEW_HOST_DEVICE void stage_palette(const float* palette, std::size_t bones, int thread, float* shared) {
  const Row* from = reinterpret_cast<const Row*>(palette);
  if constexpr (form == Form::rows) {
    for (std::size_t i = static_cast<std::size_t>(thread); i < kRows * bones; i += kThreads)
      reinterpret_cast<Row*>(shared)[i] = from[i];
  } else {
    for (std::size_t i = static_cast<std::size_t>(thread); i < 4 * bones; i += kThreads) {
      const Row column = from[i];
      float* to = shared + kRowFloats * (i / 4) + i % 4;
      to[0] = column.x;
      to[4] = column.y;
      to[8] = column.z;
    }
  }
}

/// A row of weights in global memory.
template <Form form>
struct ReadRow {
  const sinew_weights& weights;
  const float* palette;
  std::size_t first;  // slot
  SINEW_HOST_DEVICE float weight(std::size_t k) const { return weights.values[first + k]; }
  SINEW_HOST_DEVICE Matrix bone(std::size_t k) const {
    return matrix_at<form>(palette, weights.influences == 0 ? k : index_at(weights, first + k));
  }
};

/// A row of weights in registers.
template <int K, Form form>
struct HeldRow {
  const float* weights;
  const std::uint32_t* bones;
  const float* palette;
  SINEW_HOST_DEVICE float weight(std::size_t k) const { return weights[k]; }
  SINEW_HOST_DEVICE Matrix bone(std::size_t k) const { return matrix_at<form>(palette, bones[k]); }
};

/// Four dense weights come with one load where the rows allow it; the order of the sum stays.
template <Form form>
SINEW_HOST_DEVICE Matrix blend_dense(const float* weights, std::size_t bones, const float* palette) {
  if (bones % 4 != 0 || reinterpret_cast<std::uintptr_t>(weights) % 16 != 0) {
    Matrix sum = scaled(weights[0], matrix_at<form>(palette, 0));
    for (std::size_t b = 1; b < bones; ++b) add(sum, weights[b], matrix_at<form>(palette, b));
    return sum;
  }
  const Row first = *reinterpret_cast<const Row*>(weights);
  Matrix sum = scaled(first.x, matrix_at<form>(palette, 0));
  add(sum, first.y, matrix_at<form>(palette, 1));
  add(sum, first.z, matrix_at<form>(palette, 2));
  add(sum, first.t, matrix_at<form>(palette, 3));
  for (std::size_t b = 4; b < bones; b += 4) {
    const Row four = *reinterpret_cast<const Row*>(weights + b);
    add(sum, four.x, matrix_at<form>(palette, b));
    add(sum, four.y, matrix_at<form>(palette, b + 1));
    add(sum, four.z, matrix_at<form>(palette, b + 2));
    add(sum, four.t, matrix_at<form>(palette, b + 3));
  }
  return sum;
}

/// One thread of the skinning kernel. K: influences held in registers, or 0 for rows of any length.
template <int K, Form form>
struct SkinThread {
  static constexpr int kSlots = K == 0 ? 1 : K;
  std::size_t first;  // vertex of the block's tile
  int thread;
  Float3 rest[kPerThread], normal[kPerThread];
  float weights[kPerThread][kSlots];
  std::uint32_t bones[kPerThread][kSlots];

  SINEW_HOST_DEVICE std::size_t vertex(int i) const { return first + static_cast<std::size_t>(i * kThreads + thread); }

  SINEW_HOST_DEVICE void hold(const SkinCall& call, std::size_t tile, int number) {
    first = tile * kTile;
    thread = number;
    SINEW_UNROLL
    for (int i = 0; i < kPerThread; ++i) {
      const std::size_t v = vertex(i);
      if (v >= call.vertices) break;
      rest[i] = load(call.positions, v);
      if (call.normals_out.data != nullptr) normal[i] = load(call.normals, v);
      SINEW_UNROLL
      for (int k = 0; k < K; ++k) {
        const std::size_t slot = v * K + static_cast<std::size_t>(k);
        weights[i][k] = call.weights.values[slot];
        bones[i][k] = static_cast<std::uint32_t>(index_at(call.weights, slot));
      }
    }
  }

  SINEW_HOST_DEVICE Matrix blended(const SkinCall& call, const float* palette, int i) const {
    if (K != 0) return blend_row(HeldRow<kSlots, form>{weights[i], bones[i], palette}, kSlots, 1);
    if (call.weights.influences == 0)
      return blend_dense<form>(call.weights.values + vertex(i) * call.bones, call.bones, palette);
    const auto slots = static_cast<std::size_t>(call.weights.influences);
    return blend_row(ReadRow<form>{call.weights, palette, vertex(i) * slots}, slots, slots > kHeld ? 2 : 1);
  }

  SINEW_HOST_DEVICE Float3 corrected(const SkinCall& call, std::size_t pose, const float* offsets, Float3 value,
                                     int i) const {
    if (offsets == nullptr) return value;
    const float* coefficients = call.coefficients + pose * call.corrections;
    for (std::size_t r = 0; r < call.corrections; ++r) {
      const float* offset = offsets + 3 * (r * call.vertices + vertex(i));
      add(value, coefficients[r], {offset[0], offset[1], offset[2]});
    }
    return value;
  }

  /// Puts a result where its own warp finds it, or straight into memory where results are not packed.
  SINEW_HOST_DEVICE void put(const sinew_output& out, std::size_t pose, int i, const Float3& value,
                             float* shared) const {
    float* to = shared + 3 * thread;
    if (out.stride != sizeof(Float3))
      to = reinterpret_cast<float*>(static_cast<char*>(out.data) + pose * out.pose_stride + vertex(i) * out.stride);
    to[0] = value.x;
    to[1] = value.y;
    to[2] = value.z;
  }

  /// Skins the thread's vertex i; results may wait in `shared` (kOutFloats).
  SINEW_HOST_DEVICE void skin(const SkinCall& call, std::size_t pose, const float* palette, int i,
                              float* shared) const {
    if (vertex(i) >= call.vertices) return;
    const Matrix m = blended(call, palette, i);
    put(call.positions_out, pose, i, transform_point(m, corrected(call, pose, call.position_offsets, rest[i], i)),
        shared);
    if (call.normals_out.data != nullptr)
      put(call.normals_out, pose, i,
          transform_normal(m, corrected(call, pose, call.normal_offsets, normal[i], i), call.rule),
          shared + 3 * kThreads);
  }

  /// Writes what the warp's threads have put: lane after lane, word after word.
  SINEW_HOST_DEVICE void flush(const SkinCall& call, const sinew_output& out, std::size_t pose, int i,
                               const float* shared) const {
    if (out.data == nullptr || out.stride != sizeof(Float3)) return;
    const int lane = thread % kWarp;
    const std::size_t warp_first = vertex(i) - static_cast<std::size_t>(lane);
    if (warp_first >= call.vertices) return;
    const std::size_t left = call.vertices - warp_first;
    const int words = left < kWarp ? static_cast<int>(3 * left) : 3 * kWarp;
    float* to = reinterpret_cast<float*>(static_cast<char*>(out.data) + pose * out.pose_stride) + 3 * warp_first;
    const float* from = shared + 3 * (thread - lane);
    SINEW_UNROLL
    for (int r = 0; r < 3; ++r)
      if (kWarp * r + lane < words) store_streaming(to + kWarp * r + lane, from[kWarp * r + lane]);
  }

  /// Results are not read again by the kernel: they should not push weights out of the cache.
  SINEW_HOST_DEVICE static void store_streaming(float* to, float value) {
#ifdef __CUDA_ARCH__
    __stcs(to, value);
#else
    *to = value;
#endif
  }
};

/// One virtual bone in one pose.
template <Form form>
SINEW_HOST_DEVICE void blend_virtual_bone(const BlendCall& call, std::size_t pose, std::size_t row,
                                          const float* palette) {
  if (row >= call.rows) return;
  Matrix m;
  if (call.weights.influences == 0) {
    m = blend_dense<form>(call.weights.values + row * call.bones, call.bones, palette);
  } else {
    const auto slots = static_cast<std::size_t>(call.weights.influences);
    m = blend_row(ReadRow<form>{call.weights, palette, row * slots}, slots, 2);
  }
  Row* out = reinterpret_cast<Row*>(call.out + kRowFloats * (pose * call.rows + row));
  out[0] = {m.x.x, m.y.x, m.z.x, m.t.x};
  out[1] = {m.x.y, m.y.y, m.z.y, m.t.y};
  out[2] = {m.x.z, m.y.z, m.z.z, m.t.z};
}

}  // namespace sinew::cuda
