#include "cuda/skin.h"

#include <cuda_runtime.h>

#include <limits>

#include "sinew/cuda/sinew_cuda.h"

// Compiled with -fmad=false: a product and a sum stay two operations, as everywhere in the runtime.
namespace sinew::cuda {
namespace {

constexpr int kMinBlocks = 4;  // per multiprocessor: bounds registers

/// Shared memory: results of the block's vertices, then the palettes of a few poses and of the next few.
extern __shared__ Row shared_rows[];

/// Skins a pose. Results wait in one of two buffers, so that a warp may go on while some of its lanes still write.
template <int K, Form form, Path path>
__device__ void skin_pose(const SkinCall& call, std::size_t pose, const void* palette, Row* out,
                          SkinThread<K, form, path>& thread) {
  thread.skin(call, pose, palette, out);
  __syncwarp();
  thread.flush(call, pose, out);
}

/// Palettes of poses [first, last): in one go where they follow each other in memory.
template <Form form>
__device__ void stage_palettes(const SkinCall& call, std::size_t first, std::size_t last, Row* to) {
  const int thread = static_cast<int>(threadIdx.x);
  const char* palette = call.palettes + first * call.palette_stride;
  if (first < last && call.palette_stride == matrix_offset<form>(call.bones)) {
    stage_palette<form, kThreads>(palette, call.bones * static_cast<unsigned>(last - first), thread, to);
    return;
  }
  SINEW_NO_UNROLL
  for (std::size_t pose = first; pose < last; ++pose, palette += call.palette_stride, to += kMatrixRows * call.bones)
    stage_palette<form, kThreads>(palette, call.bones, thread, to);
}

template <int K, Form form, bool staged, Path path>
__device__ void skin_block(const SkinCall& call, unsigned tile, std::size_t pose, std::size_t last) {
  SkinThread<K, staged ? Form::rows : form, path> thread;
  thread.hold(call, tile, pose, static_cast<int>(threadIdx.x));
  Row* out = shared_rows;
  Row* next_out = shared_rows + kOutRows;
  const auto turn = [](Row*& one, Row*& other) {
    Row* const first = one;
    one = other;
    other = first;
  };
  if (!staged) {
    const char* palette = call.palettes + pose * call.palette_stride;
    for (; pose < last; ++pose, palette += call.palette_stride) {
      skin_pose(call, pose, palette, out, thread);
      turn(out, next_out);
    }
    return;
  }
  const unsigned size = kMatrixRows * call.bones;
  Row* laid_out = shared_rows + 2 * kOutRows;
  Row* laid_next = laid_out + size * call.poses_at_once;
  stage_palettes<form>(call, pose, min(last, pose + call.poses_at_once), laid_out);
  while (pose < last) {
    __syncthreads();
    const std::size_t end = min(last, pose + call.poses_at_once);
    stage_palettes<form>(call, end, min(last, end + call.poses_at_once), laid_next);
    const Row* palette = laid_out;
    for (auto left = static_cast<int>(end - pose); left > 0; --left, ++pose, palette += size) {
      skin_pose(call, pose, palette, out, thread);
      turn(out, next_out);
    }
    turn(laid_out, laid_next);
  }
}

template <int K, Form form, bool staged>
__global__ void __launch_bounds__(kThreads, kMinBlocks)
    skin_kernel(const __grid_constant__ SkinCall call, unsigned tile_count) {
  const unsigned tile = blockIdx.x % tile_count;
  const std::size_t pose = blockIdx.x / tile_count * call.poses_per_block;
  const std::size_t last = min(call.poses, pose + call.poses_per_block);
  const Path path = path_of(call, tile);
  if (path == Path::both) {
    skin_block<K, form, staged, Path::both>(call, tile, pose, last);
  } else if (path == Path::positions) {
    skin_block<K, form, staged, Path::positions>(call, tile, pose, last);
  } else {
    skin_block<K, form, staged, Path::general>(call, tile, pose, last);
  }
}

template <bool held>
__global__ void __launch_bounds__(kBlendThreads)
    blend_kernel(const __grid_constant__ BlendCall call, unsigned tile_count) {
  const int number = static_cast<int>(threadIdx.x);
  const unsigned tile = blockIdx.x % tile_count;
  Row* const laid_out = shared_rows;
  const DictionaryTile dictionary(shared_rows + kMatrixRows * call.bones, slots_of(call.weights, call.bones));
  if (held) dictionary.fill(call, tile, number);
  const std::size_t first = blockIdx.x / tile_count * call.poses_per_block;
  const std::size_t last = min(call.poses, first + call.poses_per_block);
  for (std::size_t pose = first; pose < last; ++pose) {
    const char* palette = call.palettes + pose * call.palette_stride;
    if (held) {
      __syncthreads();
      stage_palette<Form::columns, kBlendThreads>(palette, call.bones, number, laid_out);
      __syncthreads();
      blend_held(call, pose, tile, number, dictionary, laid_out);
    } else {
      blend_read(call, pose, tile * kBlendThreads + threadIdx.x, palette);
    }
  }
}

/// Blocks of a grid; 0 where there are too many.
unsigned grid_size(std::size_t tile_count, std::size_t poses, std::size_t poses_per_block) {
  const std::size_t runs = tiles(poses, poses_per_block);
  constexpr auto kMost = static_cast<std::size_t>(std::numeric_limits<int>::max());
  return tile_count > kMost / runs ? 0 : static_cast<unsigned>(tile_count * runs);
}

/// Shared memory beyond 48 kB has to be asked for.
template <class Kernel>
bool allow_shared(Kernel kernel, std::size_t bytes) {
  return bytes <= 48 * 1024 || cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                    static_cast<int>(bytes)) == cudaSuccess;
}

template <int K, Form form, bool staged>
sinew_status launch_skin(const SkinCall& call, cudaStream_t stream) {
  const auto tile_count = static_cast<unsigned>(tiles(call.vertices, kThreads));
  const unsigned blocks = grid_size(tile_count, call.poses, call.poses_per_block);
  if (blocks == 0) return sinew_bad_size;
  const std::size_t bytes = 2 * kOutRows * sizeof(Row) + 2 * call.poses_at_once * call.bones * kMatrixBytes;
  if (!allow_shared(skin_kernel<K, form, staged>, bytes)) return sinew_device_failed;
  skin_kernel<K, form, staged><<<blocks, kThreads, bytes, stream>>>(call, tile_count);
  return cudaPeekAtLastError() == cudaSuccess ? sinew_ok : sinew_device_failed;
}

template <Form form, bool staged>
sinew_status launch_skin(const SkinCall& call, cudaStream_t stream) {
  switch (held_influences(call)) {
    case 1:
      return launch_skin<1, form, staged>(call, stream);
    case 2:
      return launch_skin<2, form, staged>(call, stream);
    case 3:
      return launch_skin<3, form, staged>(call, stream);
    case 4:
      return launch_skin<4, form, staged>(call, stream);
    case 5:
      return launch_skin<5, form, staged>(call, stream);
    case 6:
      return launch_skin<6, form, staged>(call, stream);
    case 7:
      return launch_skin<7, form, staged>(call, stream);
    case 8:
      return launch_skin<8, form, staged>(call, stream);
    default:
      return launch_skin<0, form, staged>(call, stream);
  }
}

sinew_status launch_skin(const SkinCall& call, bool two_layers, bool staged, cudaStream_t stream) {
  if (two_layers)
    return staged ? launch_skin<Form::rows, true>(call, stream) : launch_skin<Form::rows, false>(call, stream);
  return staged ? launch_skin<Form::columns, true>(call, stream) : launch_skin<Form::columns, false>(call, stream);
}

sinew_status launch_blend(const BlendCall& call, cudaStream_t stream) {
  const auto tile_count = static_cast<unsigned>(tiles(call.rows, kBlendThreads));
  const unsigned blocks = grid_size(tile_count, call.poses, call.poses_per_block);
  if (blocks == 0) return sinew_bad_size;
  if (blend_fits(call)) {
    blend_kernel<true><<<blocks, kBlendThreads, blend_bytes(call), stream>>>(call, tile_count);
  } else {
    blend_kernel<false><<<blocks, kBlendThreads, 0, stream>>>(call, tile_count);
  }
  return cudaPeekAtLastError() == cudaSuccess ? sinew_ok : sinew_device_failed;
}

}  // namespace

SkinPlan current_plan(const sinew_model& model, std::size_t poses) {
  int device = 0, multiprocessors = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  return plan_skin(model, poses, static_cast<std::size_t>(multiprocessors));
}

sinew_status skin_planned(const sinew_model& model, const sinew_poses& poses, const SkinPlan& plan,
                          CUstream_st* stream) {
  if (const sinew_status status = check_device_arguments(model, poses); status != sinew_ok) return status;
  if (model.vertices == 0 || poses.count == 0) return sinew_ok;
  const bool two_layers = model.virtual_bones != 0;
  if (two_layers) {
    const sinew_status status = launch_blend(blend_call(model, poses, plan), stream);
    if (status != sinew_ok) return status;
  }
  return launch_skin(skin_call(model, poses, plan), two_layers, plan.poses_at_once != 0, stream);
}

}  // namespace sinew::cuda

extern "C" {

int sinew_cuda_devices(void) {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

sinew_status sinew_cuda_skin(const sinew_model* model, const sinew_poses* poses, CUstream_st* stream) {
  if (model == nullptr || poses == nullptr) return sinew_missing_buffer;
  if (sinew_cuda_devices() == 0) return sinew_no_device;
  return sinew::cuda::skin_planned(*model, *poses, sinew::cuda::current_plan(*model, poses->count), stream);
}

}  // extern "C"
