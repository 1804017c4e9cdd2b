#include "cuda/skin.h"

#include <cuda_runtime.h>

#include <limits>

#include "sinew/cuda/sinew_cuda.h"

// Compiled with -fmad=false: a product and a sum stay two operations, as everywhere in the runtime.
namespace sinew::cuda {
namespace {

constexpr std::size_t kOutBytes = kOutFloats * sizeof(float);

/// Shared memory: results of a tile, then the palette of the current pose.
extern __shared__ Row shared_rows[];

template <int K, Form form, bool staged>
__global__ void __launch_bounds__(kThreads) skin_kernel(const __grid_constant__ SkinCall call, unsigned tile_count) {
  float* const shared = reinterpret_cast<float*>(shared_rows);
  const int number = static_cast<int>(threadIdx.x);
  SkinThread<K, staged ? Form::rows : form> thread;
  thread.hold(call, blockIdx.x % tile_count, number);
  const std::size_t first = blockIdx.x / tile_count * call.poses_per_block;
  const std::size_t last = min(call.poses, first + call.poses_per_block);
  for (std::size_t pose = first; pose < last; ++pose) {
    const float* palette = palette_of(call.palettes, call.palette_stride, pose);
    if (staged) {
      __syncthreads();
      stage_palette<form>(palette, call.bones, number, shared + kOutFloats);
      __syncthreads();
      palette = shared + kOutFloats;
    }
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
      thread.skin(call, pose, palette, i, shared);
      __syncwarp();
      thread.flush(call, call.positions_out, pose, i, shared);
      thread.flush(call, call.normals_out, pose, i, shared + 3 * kThreads);
      __syncwarp();
    }
  }
}

template <bool staged>
__global__ void __launch_bounds__(kThreads)
    blend_kernel(const __grid_constant__ BlendCall call, unsigned tile_count, std::size_t poses_per_block) {
  float* const shared = reinterpret_cast<float*>(shared_rows);
  const int number = static_cast<int>(threadIdx.x);
  const std::size_t row = blockIdx.x % tile_count * kThreads + threadIdx.x;
  const std::size_t first = blockIdx.x / tile_count * poses_per_block;
  const std::size_t last = min(call.poses, first + poses_per_block);
  for (std::size_t pose = first; pose < last; ++pose) {
    const float* palette = palette_of(call.palettes, call.palette_stride, pose);
    if (staged) {
      __syncthreads();
      stage_palette<Form::columns>(palette, call.bones, number, shared);
      __syncthreads();
      palette = shared;
    }
    blend_virtual_bone<staged ? Form::rows : Form::columns>(call, pose, row, palette);
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
  const auto tile_count = static_cast<unsigned>(tiles(call.vertices, kTile));
  const unsigned blocks = grid_size(tile_count, call.poses, call.poses_per_block);
  if (blocks == 0) return sinew_bad_size;
  const std::size_t bytes = kOutBytes + (staged ? call.bones * kRowFloats * sizeof(float) : 0);
  if (!allow_shared(skin_kernel<K, form, staged>, bytes)) return sinew_device_failed;
  skin_kernel<K, form, staged><<<blocks, kThreads, bytes, stream>>>(call, tile_count);
  return cudaPeekAtLastError() == cudaSuccess ? sinew_ok : sinew_device_failed;
}

template <Form form, bool staged>
sinew_status launch_skin(const SkinCall& call, cudaStream_t stream) {
  switch (call.weights.influences) {
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

sinew_status launch_blend(const BlendCall& call, std::size_t poses_per_block, cudaStream_t stream) {
  const auto tile_count = static_cast<unsigned>(tiles(call.rows, kThreads));
  const unsigned blocks = grid_size(tile_count, call.poses, poses_per_block);
  if (blocks == 0) return sinew_bad_size;
  const std::size_t bytes = call.bones * kRowFloats * sizeof(float);
  if (bytes <= 48 * 1024) {
    blend_kernel<true><<<blocks, kThreads, bytes, stream>>>(call, tile_count, poses_per_block);
  } else {
    blend_kernel<false><<<blocks, kThreads, 0, stream>>>(call, tile_count, poses_per_block);
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
    const sinew_status status = launch_blend(blend_call(model, poses), plan.poses_per_block, stream);
    if (status != sinew_ok) return status;
  }
  return launch_skin(skin_call(model, poses, plan), two_layers, plan.staged, stream);
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
