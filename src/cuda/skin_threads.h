#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/skin_vertex.h"

/// What one GPU thread does to skin a vertex in a run of poses, cut at the barriers. The kernels of skin.cu call the
/// pieces with barriers between them; host_blocks.h calls each piece for one thread after another, which is how
/// machines without a GPU test this text.
///
/// A block holds kThreads vertices in registers while a run of poses passes: weights and rest positions are read once
/// per run. Palettes that fit are laid out in shared memory as three rows of four floats, so that an influence costs
/// three loads of 16 bytes; those of a few poses are laid out while the few before are skinned. Results go through
/// shared memory too, a warp at a time: 12-byte vertices then leave in whole 128-byte lines.
namespace sinew::cuda {

using runtime::blend_row;
using runtime::Float3;
using runtime::Matrix;

inline constexpr int kThreads = 256;       // of a block of vertices
inline constexpr int kBlendThreads = 128;  // of a block of virtual bones
inline constexpr int kWarp = 32;
inline constexpr int kHeld = 8;  // influences that a thread can hold; longer rows are read anew for every pose

/// A row of a 3×4 matrix: one load.
struct alignas(16) Row {
  float x, y, z, t;
};
inline constexpr int kRowsPerWarp = 3 * kWarp / 4;     // results of a warp
inline constexpr int kOutRows = 2 * 3 * kThreads / 4;  // shared memory for results: positions, then normals
inline constexpr int kMatrixRows = 3;                  // a matrix in scratch and in shared memory
inline constexpr std::size_t kMatrixBytes = kMatrixRows * sizeof(Row);

/// How matrices lie in memory: known when a kernel is compiled.
enum class Form { columns, rows };

template <Form form>
SINEW_HOST_DEVICE std::uint32_t matrix_offset(std::size_t bone) {
  return static_cast<std::uint32_t>(bone * (form == Form::rows ? kMatrixBytes : 4 * sizeof(Row)));
}

template <Form form>
SINEW_HOST_DEVICE Matrix matrix_at(const void* palette, std::uint32_t offset) {
  const Row* m = reinterpret_cast<const Row*>(static_cast<const char*>(palette) + offset);
  const Row a = m[0], b = m[1], c = m[2];
  if constexpr (form == Form::rows) return {{a.x, b.x, c.x}, {a.y, b.y, c.y}, {a.z, b.z, c.z}, {a.t, b.t, c.t}};
  const Row d = m[3];
  return {{a.x, a.y, a.z}, {b.x, b.y, b.z}, {c.x, c.y, c.z}, {d.x, d.y, d.z}};
}

/// One call, as the kernels see it. `weights` refer to `palettes`.
struct SkinCall {
  std::uint32_t vertices;
  std::uint32_t bones;
  std::size_t poses;
  std::size_t poses_per_block;
  std::uint32_t poses_at_once;  // whose palettes are laid out together; 0: none are
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
  bool plain;  // results are packed and aligned, normals follow the linear rule, and there are no corrections
};

/// The same for the first layer: rows of the dictionary blended into `out`, poses × rows matrices.
struct BlendCall {
  std::uint32_t rows;
  std::uint32_t bones;
  std::size_t poses;
  std::size_t poses_per_block;
  sinew_weights weights;
  const char* palettes;
  std::size_t palette_stride;
  Row* out;
};

SINEW_HOST_DEVICE std::uint32_t index_at(const sinew_weights& weights, std::size_t slot) {
  return weights.indices16 != nullptr ? weights.indices16[slot] : weights.indices32[slot];
}

SINEW_HOST_DEVICE std::uint32_t slots_of(const sinew_weights& weights, std::uint32_t bones) {
  return weights.influences == 0 ? bones : static_cast<std::uint32_t>(weights.influences);
}

SINEW_HOST_DEVICE Float3 load(const sinew_input& in, std::size_t v) {
  const float* p = reinterpret_cast<const float*>(static_cast<const char*>(in.data) + v * in.stride);
  return {p[0], p[1], p[2]};
}

/// Lays palettes out as rows in shared memory, one after the other; each thread brings some of them.
template <Form form, int threads>
SINEW_HOST_DEVICE void stage_palette(const char* palette, std::uint32_t bones, int thread, Row* shared) {
  constexpr std::uint32_t kPieces = form == Form::rows ? kMatrixRows : 4;  // of a matrix in memory
  SINEW_NO_UNROLL
  for (auto i = static_cast<std::uint32_t>(thread); i < kPieces * bones; i += threads) {
    const Row piece = reinterpret_cast<const Row*>(palette)[i];
    if constexpr (form == Form::rows) {
      shared[i] = piece;
    } else {
      float* to = reinterpret_cast<float*>(shared + kMatrixRows * (i / 4)) + i % 4;
      to[0] = piece.x;
      to[4] = piece.y;
      to[8] = piece.z;
    }
  }
}

/// A row of weights in global memory.
template <Form form>
struct ReadRow {
  const sinew_weights& weights;
  const void* palette;
  std::size_t first;  // slot
  SINEW_HOST_DEVICE float weight(std::size_t k) const { return weights.values[first + k]; }
  SINEW_HOST_DEVICE Matrix bone(std::size_t k) const {
    return matrix_at<form>(palette, matrix_offset<form>(weights.influences == 0 ? k : index_at(weights, first + k)));
  }
};

/// A row of weights in registers.
template <Form form>
struct HeldRow {
  const float* weights;
  const std::uint32_t* offsets;
  const void* palette;
  SINEW_HOST_DEVICE float weight(std::size_t k) const { return weights[k]; }
  SINEW_HOST_DEVICE Matrix bone(std::size_t k) const { return matrix_at<form>(palette, offsets[k]); }
};

/// Four dense weights come with one load where the rows allow it; the order of the sum stays.
template <Form form>
SINEW_HOST_DEVICE Matrix blend_dense(const float* weights, std::uint32_t bones, const void* palette) {
  const auto bone = [palette](std::uint32_t b) { return matrix_at<form>(palette, matrix_offset<form>(b)); };
  if (bones % 4 != 0 || reinterpret_cast<std::uintptr_t>(weights) % sizeof(Row) != 0) {
    Matrix sum = scaled(weights[0], bone(0));
    for (std::uint32_t b = 1; b < bones; ++b) add(sum, weights[b], bone(b));
    return sum;
  }
  const Row first = *reinterpret_cast<const Row*>(weights);
  Matrix sum = scaled(first.x, bone(0));
  add(sum, first.y, bone(1));
  add(sum, first.z, bone(2));
  add(sum, first.t, bone(3));
  for (std::uint32_t b = 4; b < bones; b += 4) {
    const Row four = *reinterpret_cast<const Row*>(weights + b);
    add(sum, four.x, bone(b));
    add(sum, four.y, bone(b + 1));
    add(sum, four.z, bone(b + 2));
    add(sum, four.t, bone(b + 3));
  }
  return sum;
}

/// Results are not read again by the kernel: they should not push weights out of the cache.
SINEW_HOST_DEVICE void store_streaming(float* to, float value) {
#ifdef __CUDA_ARCH__
  __stcs(to, value);
#else
  *to = value;
#endif
}
SINEW_HOST_DEVICE void store_streaming(Row* to, const Row& value) {
#ifdef __CUDA_ARCH__
  __stcs(reinterpret_cast<float4*>(to), make_float4(value.x, value.y, value.z, value.t));
#else
  *to = value;
#endif
}

/// What a block has to look after. All but `general` are for blocks whose vertices all exist, with packed results that
/// may be written 16 bytes at a time, the linear rule for normals and no corrections.
enum class Path { general, positions, both };

SINEW_HOST_DEVICE Path path_of(const SkinCall& call, std::uint32_t tile) {
  if (!call.plain || (tile + 1) * kThreads > call.vertices) return Path::general;
  return call.normals_out.data == nullptr ? Path::positions : Path::both;
}

/// One thread of the skinning kernel. K: influences held in registers, or 0 for rows of any length.
template <int K, Form form, Path path>
struct SkinThread {
  static constexpr int kSlots = K == 0 ? 1 : K;
  std::uint32_t vertex;
  int thread;
  Float3 rest, normal;
  float weights[kSlots];
  std::uint32_t offsets[kSlots];
  char* positions_to;  // where this lane writes results of its warp in the current pose; unused in general
  char* normals_to;

  SINEW_HOST_DEVICE std::uint32_t lane() const { return static_cast<std::uint32_t>(thread) % kWarp; }

  SINEW_HOST_DEVICE char* target(const sinew_output& out, std::size_t pose) const {
    return static_cast<char*>(out.data) + pose * out.pose_stride + sizeof(Float3) * std::size_t{vertex - lane()};
  }

  /// Takes a vertex for a run of poses.
  SINEW_HOST_DEVICE void hold(const SkinCall& call, std::uint32_t tile, std::size_t pose, int number) {
    thread = number;
    vertex = tile * kThreads + static_cast<std::uint32_t>(number);
    if (vertex >= call.vertices) return;
    if (path != Path::general) positions_to = target(call.positions_out, pose) + sizeof(Row) * lane();
    if (path == Path::both) normals_to = target(call.normals_out, pose) + sizeof(Row) * lane();
    rest = load(call.positions, vertex);
    if (call.normals_out.data != nullptr) normal = load(call.normals, vertex);
    SINEW_UNROLL
    for (int k = 0; k < K; ++k) {
      const std::size_t slot = std::size_t{vertex} * K + static_cast<std::size_t>(k);
      weights[k] = call.weights.values[slot];
      offsets[k] = matrix_offset<form>(index_at(call.weights, slot));
    }
  }

  SINEW_HOST_DEVICE Matrix blended(const SkinCall& call, const void* palette) const {
    if constexpr (K != 0) return blend_row(HeldRow<form>{weights, offsets, palette}, kSlots, 1);
    const std::size_t slots = slots_of(call.weights, call.bones);
    if (call.weights.influences == 0)
      return blend_dense<form>(call.weights.values + vertex * slots, call.bones, palette);
    return blend_row(ReadRow<form>{call.weights, palette, vertex * slots}, slots, slots > kHeld ? 2 : 1);
  }

  SINEW_HOST_DEVICE Float3 corrected(const SkinCall& call, std::size_t pose, const float* offset, Float3 value) const {
    if (path != Path::general || offset == nullptr) return value;
    const float* coefficients = call.coefficients + pose * call.corrections;
    offset += 3 * std::size_t{vertex};
    for (std::size_t r = 0; r < call.corrections; ++r, offset += 3 * std::size_t{call.vertices})
      add(value, coefficients[r], {offset[0], offset[1], offset[2]});
    return value;
  }

  /// Puts a result where its own warp finds it, or straight into memory where results are not packed.
  SINEW_HOST_DEVICE void put(const sinew_output& out, std::size_t pose, const Float3& value, Row* shared) const {
    float* to = reinterpret_cast<float*>(shared) + 3 * thread;
    if (path == Path::general && out.stride != sizeof(Float3))
      to = reinterpret_cast<float*>(static_cast<char*>(out.data) + pose * out.pose_stride + vertex * out.stride);
    to[0] = value.x;
    to[1] = value.y;
    to[2] = value.z;
  }

  /// Skins the vertex; results may wait in `shared` (kOutRows).
  SINEW_HOST_DEVICE void skin(const SkinCall& call, std::size_t pose, const void* palette, Row* shared) const {
    if (path == Path::general && vertex >= call.vertices) return;
    const Matrix m = blended(call, palette);
    put(call.positions_out, pose, transform_point(m, corrected(call, pose, call.position_offsets, rest)), shared);
    if (path == Path::positions || (path == Path::general && call.normals_out.data == nullptr)) return;
    const Float3 n = corrected(call, pose, call.normal_offsets, normal);
    put(call.normals_out, pose, transform_normal(m, n, path == Path::general ? call.rule : sinew_normals_linear),
        shared + kOutRows / 2);
  }

  SINEW_HOST_DEVICE void flush_words(const SkinCall& call, const sinew_output& out, std::size_t pose,
                                     const float* from) const {
    const std::uint32_t first = vertex - lane();
    if (out.data == nullptr || out.stride != sizeof(Float3) || first >= call.vertices) return;
    const std::uint32_t words = 3 * (call.vertices - first);
    float* const to = reinterpret_cast<float*>(target(out, pose));
    for (std::uint32_t word = lane(); word < 3 * kWarp && word < words; word += kWarp)
      store_streaming(to + word, from[word]);
  }

  /// Writes what the warp's threads have put; the next pose follows.
  SINEW_HOST_DEVICE void flush(const SkinCall& call, std::size_t pose, const Row* shared) {
    const Row* from = shared + kRowsPerWarp * (thread / kWarp);
    if (path == Path::general) {
      flush_words(call, call.positions_out, pose, reinterpret_cast<const float*>(from));
      flush_words(call, call.normals_out, pose, reinterpret_cast<const float*>(from + kOutRows / 2));
      return;
    }
    if (lane() < kRowsPerWarp) {
      store_streaming(reinterpret_cast<Row*>(positions_to), from[lane()]);
      if (path == Path::both) store_streaming(reinterpret_cast<Row*>(normals_to), from[kOutRows / 2 + lane()]);
    }
    positions_to += call.positions_out.pose_stride;
    if (path == Path::both) normals_to += call.normals_out.pose_stride;
  }
};

/// Rows of the dictionary that a block holds in shared memory, slot after slot: threads of a warp then read neighbours.
struct DictionaryTile {
  static constexpr std::uint32_t kStride = kBlendThreads + 1;  // of a slot; no two lanes write to one bank
  float* weights;                                              // slots × kStride
  std::uint32_t* offsets;  // the same, of matrices in shared memory; unused when dense

  SINEW_HOST_DEVICE static std::size_t bytes(std::uint32_t slots, bool dense) {
    return slots * kStride * (sizeof(float) + (dense ? 0 : sizeof(std::uint32_t)));
  }
  SINEW_HOST_DEVICE DictionaryTile(void* memory, std::uint32_t slots)
      : weights(static_cast<float*>(memory)), offsets(static_cast<std::uint32_t*>(memory) + slots * kStride) {}

  SINEW_HOST_DEVICE void fill(const BlendCall& call, std::uint32_t tile, int thread) const {
    const std::uint32_t slots = slots_of(call.weights, call.bones);
    const std::size_t from = std::size_t{tile} * kBlendThreads * slots;
    const std::uint32_t left = call.rows - tile * kBlendThreads;
    const std::uint32_t count = slots * (left < kBlendThreads ? left : kBlendThreads);
    for (auto i = static_cast<std::uint32_t>(thread); i < count; i += kBlendThreads) {
      const std::uint32_t to = i % slots * kStride + i / slots;
      weights[to] = call.weights.values[from + i];
      if (call.weights.influences != 0) offsets[to] = matrix_offset<Form::rows>(index_at(call.weights, from + i));
    }
  }
};

struct DictionaryRow {
  const float* weights;
  const std::uint32_t* offsets;
  const void* palette;
  SINEW_HOST_DEVICE float weight(std::size_t k) const { return weights[k * DictionaryTile::kStride]; }
  SINEW_HOST_DEVICE Matrix bone(std::size_t k) const {
    return matrix_at<Form::rows>(palette, offsets[k * DictionaryTile::kStride]);
  }
};

struct DenseDictionaryRow {
  const float* weights;
  const void* palette;
  SINEW_HOST_DEVICE float weight(std::size_t k) const { return weights[k * DictionaryTile::kStride]; }
  SINEW_HOST_DEVICE Matrix bone(std::size_t k) const {
    return matrix_at<Form::rows>(palette, matrix_offset<Form::rows>(k));
  }
};

SINEW_HOST_DEVICE void store_virtual_bone(const BlendCall& call, std::size_t pose, std::uint32_t row, const Matrix& m) {
  Row* out = call.out + kMatrixRows * (pose * call.rows + row);
  out[0] = {m.x.x, m.y.x, m.z.x, m.t.x};
  out[1] = {m.x.y, m.y.y, m.z.y, m.t.y};
  out[2] = {m.x.z, m.y.z, m.z.z, m.t.z};
}

/// Virtual bone `tile` × kBlendThreads + `thread` in one pose, dictionary and palette in shared memory.
SINEW_HOST_DEVICE void blend_held(const BlendCall& call, std::size_t pose, std::uint32_t tile, int thread,
                                  const DictionaryTile& dictionary, const void* palette) {
  const std::uint32_t row = tile * kBlendThreads + static_cast<std::uint32_t>(thread);
  if (row >= call.rows) return;
  const std::uint32_t slots = slots_of(call.weights, call.bones);
  const float* weights = dictionary.weights + thread;
  store_virtual_bone(call, pose, row,
                     call.weights.influences == 0
                         ? blend_row(DenseDictionaryRow{weights, palette}, slots, 1)
                         : blend_row(DictionaryRow{weights, dictionary.offsets + thread, palette}, slots, 2));
}

/// The same from global memory, for dictionaries and palettes of any size.
SINEW_HOST_DEVICE void blend_read(const BlendCall& call, std::size_t pose, std::uint32_t row, const void* palette) {
  if (row >= call.rows) return;
  const std::size_t slots = slots_of(call.weights, call.bones);
  store_virtual_bone(call, pose, row,
                     call.weights.influences == 0
                         ? blend_dense<Form::columns>(call.weights.values + row * slots, call.bones, palette)
                         : blend_row(ReadRow<Form::columns>{call.weights, palette, row * slots}, slots, 2));
}

}  // namespace sinew::cuda
