#include "cuda/skin_calls.h"

#include <algorithm>

#include "runtime/kernels.h"
#include "sinew/cuda/sinew_cuda.h"

namespace sinew::cuda {
namespace {

/// Larger palettes are read through the cache: laying them out would cost more than a tile of vertices uses of them.
constexpr std::size_t kStagedBones = 256;
constexpr std::size_t kMostAtOnce = 4;  // poses that are laid out between two barriers
// Blocks of a call per multiprocessor: enough for an even end, few enough for long runs of poses.
constexpr std::size_t kSkinBlocks = 16;
constexpr std::size_t kBlendBlocks = 4;
constexpr std::size_t kLongestRun = 32;          // poses of a block
constexpr std::size_t kSharedBytes = 48 * 1024;  // that every GPU gives a block
constexpr std::size_t kMostRows = 0x7FFFFFFF;    // vertices and bones

bool aligned(const void* pointer, std::size_t stride, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(pointer) % bytes == 0 && stride % bytes == 0;
}

bool aligned(const sinew_output& out) {
  return aligned(out.data, out.stride, sizeof(float)) && out.pose_stride % sizeof(float) == 0;
}

bool wide(const sinew_output& out) {
  return out.data == nullptr || (out.stride == sizeof(Float3) && aligned(out.data, out.pose_stride, sizeof(Row)));
}

}  // namespace

sinew_status check_device_arguments(const sinew_model& model, const sinew_poses& poses) {
  if (const sinew_status status = runtime::check_arguments(model, poses); status != sinew_ok) return status;
  if (model.vertices > kMostRows || blended_bones(model) > kMostRows / 64) return sinew_bad_size;
  const bool good = aligned(poses.palettes, poses.palette_stride, sizeof(Row)) &&
                    aligned(poses.scratch, 0, sizeof(Row)) &&
                    aligned(model.positions.data, model.positions.stride, sizeof(float)) &&
                    aligned(model.normals.data, model.normals.stride, sizeof(float)) && aligned(poses.positions) &&
                    aligned(poses.normals);
  return good ? sinew_ok : sinew_bad_size;
}

std::size_t blended_bones(const sinew_model& model) {
  return model.virtual_bones != 0 ? model.virtual_bones : model.bones;
}

std::size_t tiles(std::size_t count, std::size_t of) {
  return (count + of - 1) / of;
}

SkinPlan plan_skin(const sinew_model& model, std::size_t poses, std::size_t multiprocessors) {
  const auto run = [&](std::size_t blocks, std::size_t wanted) {
    return std::clamp<std::size_t>(blocks * poses / std::max<std::size_t>(1, wanted * multiprocessors), 1, kLongestRun);
  };
  const std::size_t bones = blended_bones(model);
  const auto at_once = static_cast<std::uint32_t>(
      std::clamp<std::size_t>(kStagedBones / std::max<std::size_t>(1, bones), 1, kMostAtOnce));
  return {bones <= kStagedBones ? at_once : 0, run(tiles(model.vertices, kThreads), kSkinBlocks),
          run(tiles(model.virtual_bones, kBlendThreads), kBlendBlocks)};
}

SkinCall skin_call(const sinew_model& model, const sinew_poses& poses, const SkinPlan& plan) {
  const bool two_layers = model.virtual_bones != 0;
  const bool corrected = model.corrections != 0;
  return {static_cast<std::uint32_t>(model.vertices),
          static_cast<std::uint32_t>(blended_bones(model)),
          poses.count,
          plan.poses_per_block,
          plan.poses_at_once,
          model.weights,
          reinterpret_cast<const char*>(two_layers ? poses.scratch : poses.palettes),
          two_layers ? model.virtual_bones * kMatrixBytes : poses.palette_stride,
          model.positions,
          model.normals,
          model.normal_rule,
          model.corrections,
          corrected ? model.position_offsets : nullptr,
          corrected ? model.normal_offsets : nullptr,
          poses.coefficients,
          poses.positions,
          poses.normals,
          wide(poses.positions) && wide(poses.normals) && model.normal_rule == sinew_normals_linear && !corrected};
}

int held_influences(const SkinCall& call) {
  return call.weights.influences <= kHeld ? call.weights.influences : 0;
}

BlendCall blend_call(const sinew_model& model, const sinew_poses& poses, const SkinPlan& plan) {
  return {static_cast<std::uint32_t>(model.virtual_bones),
          static_cast<std::uint32_t>(model.bones),
          poses.count,
          plan.blend_poses,
          model.dictionary,
          reinterpret_cast<const char*>(poses.palettes),
          poses.palette_stride,
          reinterpret_cast<Row*>(poses.scratch)};
}

std::size_t blend_bytes(const BlendCall& call) {
  return call.bones * kMatrixBytes +
         DictionaryTile::bytes(slots_of(call.weights, call.bones), call.weights.influences == 0);
}

bool blend_fits(const BlendCall& call) {
  return blend_bytes(call) <= kSharedBytes;
}

}  // namespace sinew::cuda

extern "C" size_t sinew_cuda_scratch_floats(const sinew_model* model, size_t poses) {
  return model == nullptr ? 0 : sinew::cuda::kMatrixBytes / sizeof(float) * model->virtual_bones * poses;
}
