#pragma once

#include "cuda/skin_threads.h"

/// From the caller's structs to what the kernels take. Plain C++: the same with and without CUDA.
namespace sinew::cuda {

/// How a call is cut into blocks.
struct SkinPlan {
  std::uint32_t poses_at_once = 1;  // whose palettes are laid out in shared memory together; 0: none are
  std::size_t poses_per_block = 1;  // that a block's vertices go through
  std::size_t blend_poses = 1;      // the same for virtual bones
};

/// What sinew_cuda_skin refuses: what sinew_skin refuses, and buffers that are not aligned as sinew_cuda.h asks.
sinew_status check_device_arguments(const sinew_model& model, const sinew_poses& poses);

/// Bones, or virtual bones, that the weights of vertices refer to.
std::size_t blended_bones(const sinew_model& model);

/// The plan for a GPU with so many multiprocessors.
SkinPlan plan_skin(const sinew_model& model, std::size_t poses, std::size_t multiprocessors);

SkinCall skin_call(const sinew_model& model, const sinew_poses& poses, const SkinPlan& plan);
BlendCall blend_call(const sinew_model& model, const sinew_poses& poses, const SkinPlan& plan);

/// Influences that threads hold in registers; 0: the kernel for anything else.
int held_influences(const SkinCall& call);

/// Shared memory that a block needs for a dictionary and a palette, and whether it has that much.
std::size_t blend_bytes(const BlendCall& call);
bool blend_fits(const BlendCall& call);

std::size_t tiles(std::size_t count, std::size_t of);

}  // namespace sinew::cuda
