#pragma once

#include "cuda/skin_threads.h"

/// From the caller's structs to what the kernels take. Plain C++: the same with and without CUDA.
namespace sinew::cuda {

/// How a call is cut into blocks.
struct SkinPlan {
  bool staged = true;               // palettes are laid out in shared memory
  std::size_t poses_per_block = 1;  // that a block's tile of vertices goes through
};

/// What sinew_cuda_skin refuses: what sinew_skin refuses, and buffers that are not aligned as sinew_cuda.h asks.
sinew_status check_device_arguments(const sinew_model& model, const sinew_poses& poses);

/// Bones, or virtual bones, that the weights of vertices refer to.
std::size_t blended_bones(const sinew_model& model);

/// The plan for a GPU with so many multiprocessors.
SkinPlan plan_skin(const sinew_model& model, std::size_t poses, std::size_t multiprocessors);

SkinCall skin_call(const sinew_model& model, const sinew_poses& poses, const SkinPlan& plan);
BlendCall blend_call(const sinew_model& model, const sinew_poses& poses);

std::size_t tiles(std::size_t count, std::size_t of);

}  // namespace sinew::cuda
