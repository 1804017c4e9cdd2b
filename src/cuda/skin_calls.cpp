#include "cuda/skin_calls.h"

#include <algorithm>

#include "runtime/kernels.h"
#include "sinew/cuda/sinew_cuda.h"

namespace sinew::cuda {
namespace {

/// Larger palettes are read through the cache: laying them out would cost more than a tile of vertices uses of them.
constexpr std::size_t kStagedBones = 256;
constexpr std::size_t kBlocksPerMultiprocessor = 8;  // in all: enough for an even end
constexpr std::size_t kLongestRun = 32;              // poses of a block

bool aligned(const void* pointer, std::size_t stride, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(pointer) % bytes == 0 && stride % bytes == 0;
}

bool aligned(const sinew_output& out) {
  return aligned(out.data, out.stride, sizeof(float)) && out.pose_stride % sizeof(float) == 0;
}

}  // namespace

sinew_status check_device_arguments(const sinew_model& model, const sinew_poses& poses) {
  if (const sinew_status status = runtime::check_arguments(model, poses); status != sinew_ok) return status;
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
  const std::size_t wanted = std::max<std::size_t>(1, kBlocksPerMultiprocessor * multiprocessors);
  return {blended_bones(model) <= kStagedBones,
          std::clamp<std::size_t>(tiles(model.vertices, kTile) * poses / wanted, 1, kLongestRun)};
}

SkinCall skin_call(const sinew_model& model, const sinew_poses& poses, const SkinPlan& plan) {
  const bool two_layers = model.virtual_bones != 0;
  const bool corrected = model.corrections != 0;
  return {model.vertices,
          blended_bones(model),
          poses.count,
          plan.poses_per_block,
          model.weights,
          reinterpret_cast<const char*>(two_layers ? poses.scratch : poses.palettes),
          two_layers ? model.virtual_bones * kRowFloats * sizeof(float) : poses.palette_stride,
          model.positions,
          model.normals,
          model.normal_rule,
          model.corrections,
          corrected ? model.position_offsets : nullptr,
          corrected ? model.normal_offsets : nullptr,
          poses.coefficients,
          poses.positions,
          poses.normals};
}

BlendCall blend_call(const sinew_model& model, const sinew_poses& poses) {
  return {
      model.virtual_bones,  model.bones,  poses.count, model.dictionary, reinterpret_cast<const char*>(poses.palettes),
      poses.palette_stride, poses.scratch};
}

}  // namespace sinew::cuda

extern "C" size_t sinew_cuda_scratch_floats(const sinew_model* model, size_t poses) {
  return model == nullptr ? 0 : sinew::cuda::kRowFloats * model->virtual_bones * poses;
}
