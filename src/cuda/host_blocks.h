#pragma once

#include <algorithm>
#include <vector>

#include "cuda/skin_calls.h"

/// The kernels of skin.cu on the host: what the threads of a block do between two barriers is done by one after
/// another. Slow, and meant for tests: indices, tiles, ends and the arithmetic are those of the GPU.
namespace sinew::cuda {

template <int K, Form form>
void skin_block(const SkinCall& call, std::size_t tile, std::size_t run, bool staged, std::vector<Row>& shared_rows) {
  constexpr Form kRead = Form::rows;
  float* const shared = reinterpret_cast<float*>(shared_rows.data());
  std::vector<SkinThread<K, kRead>> from_shared(kThreads);
  std::vector<SkinThread<K, form>> from_memory(kThreads);
  for (int n = 0; n < kThreads; ++n) {
    from_shared[static_cast<std::size_t>(n)].hold(call, tile, n);
    from_memory[static_cast<std::size_t>(n)].hold(call, tile, n);
  }
  const std::size_t first = run * call.poses_per_block;
  for (std::size_t pose = first; pose < std::min(call.poses, first + call.poses_per_block); ++pose) {
    const float* palette = palette_of(call.palettes, call.palette_stride, pose);
    float* const laid_out = shared + kOutFloats;
    for (int n = 0; n < kThreads && staged; ++n) stage_palette<form>(palette, call.bones, n, laid_out);
    for (int i = 0; i < kPerThread; ++i) {
      for (const auto& thread : from_shared)
        if (staged) thread.skin(call, pose, laid_out, i, shared);
      for (const auto& thread : from_memory)
        if (!staged) thread.skin(call, pose, palette, i, shared);
      for (const auto& thread : from_memory) {
        thread.flush(call, call.positions_out, pose, i, shared);
        thread.flush(call, call.normals_out, pose, i, shared + std::size_t{3} * kThreads);
      }
    }
  }
}

template <int K, Form form>
void skin_blocks(const SkinCall& call, bool staged) {
  std::vector<Row> shared((kOutFloats + kRowFloats * call.bones) / 4 + 1);
  for (std::size_t run = 0; run < tiles(call.poses, call.poses_per_block); ++run)
    for (std::size_t tile = 0; tile < tiles(call.vertices, kTile); ++tile)
      skin_block<K, form>(call, tile, run, staged, shared);
}

template <Form form>
void skin_blocks(const SkinCall& call, bool staged) {
  switch (call.weights.influences) {
    case 1:
      return skin_blocks<1, form>(call, staged);
    case 2:
      return skin_blocks<2, form>(call, staged);
    case 4:
      return skin_blocks<4, form>(call, staged);
    case 8:
      return skin_blocks<8, form>(call, staged);
    default:
      return skin_blocks<0, form>(call, staged);
  }
}

/// sinew_cuda_skin on the host's own buffers.
inline sinew_status skin_on_host(const sinew_model& model, const sinew_poses& poses, const SkinPlan& plan) {
  if (const sinew_status status = check_device_arguments(model, poses); status != sinew_ok) return status;
  const SkinCall call = skin_call(model, poses, plan);
  if (model.virtual_bones == 0) {
    skin_blocks<Form::columns>(call, plan.staged);
    return sinew_ok;
  }
  const BlendCall blend = blend_call(model, poses);
  std::vector<Row> shared(kRows * model.bones);
  auto* const laid_out = reinterpret_cast<float*>(shared.data());
  for (std::size_t pose = 0; pose < poses.count; ++pose) {
    const float* palette = palette_of(blend.palettes, blend.palette_stride, pose);
    for (int n = 0; n < kThreads; ++n) stage_palette<Form::columns>(palette, blend.bones, n, laid_out);
    for (std::size_t row = 0; row < tiles(blend.rows, kThreads) * kThreads; ++row) {
      if (plan.staged) {
        blend_virtual_bone<Form::rows>(blend, pose, row, laid_out);
      } else {
        blend_virtual_bone<Form::columns>(blend, pose, row, palette);
      }
    }
  }
  skin_blocks<Form::rows>(call, plan.staged);
  return sinew_ok;
}

}  // namespace sinew::cuda
