#pragma once

#include <algorithm>
#include <vector>

#include "cuda/skin_calls.h"

/// The kernels of skin.cu on the host: what the threads of a block do between two barriers is done by one after
/// another. Slow, and meant for tests: indices, tiles, ends and the arithmetic are those of the GPU.
namespace sinew::cuda {

/// Threads whose matrices lie as `read`, in shared memory or where the caller has them.
template <int K, Form form, Form read, Path path>
void skin_block(const SkinCall& call, std::uint32_t tile, std::size_t run, std::vector<Row>& shared) {
  std::vector<SkinThread<K, read, path>> threads(kThreads);
  const std::size_t first = run * call.poses_per_block;
  for (int n = 0; n < kThreads; ++n) threads[static_cast<std::size_t>(n)].hold(call, tile, first, n);
  for (std::size_t pose = first; pose < std::min(call.poses, first + call.poses_per_block); ++pose) {
    const char* palette = call.palettes + pose * call.palette_stride;
    Row* const laid_out = shared.data() + kOutRows;
    const bool staged = call.poses_at_once != 0;
    for (int n = 0; n < kThreads && staged; ++n) stage_palette<form, kThreads>(palette, call.bones, n, laid_out);
    for (const auto& thread : threads)
      thread.skin(call, pose, staged ? static_cast<const void*>(laid_out) : palette, shared.data());
    for (auto& thread : threads) thread.flush(call, pose, shared.data());
  }
}

template <int K, Form form, Form read>
void skin_block(const SkinCall& call, std::uint32_t tile, std::size_t run, std::vector<Row>& shared) {
  switch (path_of(call, tile)) {
    case Path::both:
      return skin_block<K, form, read, Path::both>(call, tile, run, shared);
    case Path::positions:
      return skin_block<K, form, read, Path::positions>(call, tile, run, shared);
    case Path::general:
      return skin_block<K, form, read, Path::general>(call, tile, run, shared);
  }
}

template <int K, Form form>
void skin_blocks(const SkinCall& call) {
  std::vector<Row> shared(kOutRows + std::size_t{kMatrixRows} * call.bones);
  for (std::size_t run = 0; run < tiles(call.poses, call.poses_per_block); ++run)
    for (std::uint32_t tile = 0; tile < tiles(call.vertices, kThreads); ++tile) {
      if (call.poses_at_once != 0) {
        skin_block<K, form, Form::rows>(call, tile, run, shared);
      } else {
        skin_block<K, form, form>(call, tile, run, shared);
      }
    }
}

template <Form form>
void skin_blocks(const SkinCall& call) {
  switch (held_influences(call)) {
    case 1:
      return skin_blocks<1, form>(call);
    case 2:
      return skin_blocks<2, form>(call);
    case 4:
      return skin_blocks<4, form>(call);
    case 8:
      return skin_blocks<8, form>(call);
    default:
      return skin_blocks<0, form>(call);
  }
}

inline void blend_blocks(const BlendCall& call) {
  const std::uint32_t slots = slots_of(call.weights, call.bones);
  std::vector<Row> palette_rows(std::size_t{kMatrixRows} * call.bones);
  std::vector<char> memory(DictionaryTile::bytes(slots, call.weights.influences == 0));
  const DictionaryTile dictionary(memory.data(), slots);
  for (std::uint32_t tile = 0; tile < tiles(call.rows, kBlendThreads); ++tile) {
    for (int n = 0; n < kBlendThreads; ++n) dictionary.fill(call, tile, n);
    for (std::size_t pose = 0; pose < call.poses; ++pose) {
      const char* palette = call.palettes + pose * call.palette_stride;
      for (int n = 0; n < kBlendThreads; ++n)
        stage_palette<Form::columns, kBlendThreads>(palette, call.bones, n, palette_rows.data());
      for (int n = 0; n < kBlendThreads; ++n) {
        if (blend_fits(call)) {
          blend_held(call, pose, tile, n, dictionary, palette_rows.data());
        } else {
          blend_read(call, pose, tile * kBlendThreads + static_cast<std::uint32_t>(n), palette);
        }
      }
    }
  }
}

/// sinew_cuda_skin on the host's own buffers.
inline sinew_status skin_on_host(const sinew_model& model, const sinew_poses& poses, const SkinPlan& plan) {
  if (const sinew_status status = check_device_arguments(model, poses); status != sinew_ok) return status;
  const SkinCall call = skin_call(model, poses, plan);
  if (model.virtual_bones == 0) {
    skin_blocks<Form::columns>(call);
    return sinew_ok;
  }
  blend_blocks(blend_call(model, poses, plan));
  skin_blocks<Form::rows>(call);
  return sinew_ok;
}

}  // namespace sinew::cuda
