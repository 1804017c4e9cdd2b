#include "sinew/runtime/skin.h"

#include <algorithm>
#include <cstring>

#include "runtime/kernels.h"

namespace sinew::runtime {
namespace {

// Vertices whose weights and rest positions stay in the second-level cache while all poses pass over them.
constexpr std::size_t kVerticesPerBlock = 4096;
// Vertices whose corrected rest positions and normals live on the stack.
constexpr std::size_t kVerticesPerCorrection = 256;

sinew_input offset(sinew_input in, std::size_t v) {
  if (in.data != nullptr) in.data = static_cast<const unsigned char*>(in.data) + v * in.stride;
  return in;
}

sinew_output offset(sinew_output out, std::size_t pose, std::size_t v) {
  if (out.data != nullptr) out.data = static_cast<unsigned char*>(out.data) + pose * out.pose_stride + v * out.stride;
  return out;
}

sinew_weights offset(sinew_weights weights, std::size_t row, std::size_t bones) {
  const std::size_t slots = weights.influences == 0 ? bones : static_cast<std::size_t>(weights.influences);
  weights.values += row * slots;
  if (weights.influences == 0) return weights;
  if (weights.indices16 != nullptr)
    weights.indices16 += row * slots;
  else
    weights.indices32 += row * slots;
  return weights;
}

const float* palette_of(const sinew_poses& poses, std::size_t pose) {
  return reinterpret_cast<const float*>(reinterpret_cast<const unsigned char*>(poses.palettes) +
                                        pose * poses.palette_stride);
}

/// Vertices [first, last) of one pose, skinned with `palette`.
SkinJob make_job(const sinew_model& model, const sinew_poses& poses, std::size_t pose, const float* palette,
                 std::size_t first, std::size_t last) {
  const std::size_t bones = model.virtual_bones != 0 ? model.virtual_bones : model.bones;
  return {last - first,
          bones,
          offset(model.weights, first, bones),
          palette,
          offset(model.positions, first),
          offset(model.normals, first),
          model.normal_rule,
          offset(poses.positions, pose, first),
          offset(poses.normals, pose, first)};
}

/// Rest values plus the pose's corrections, packed tightly into `out`.
void correct(const Kernels& kernels, const sinew_model& model, const float* coefficients, const sinew_input& rest,
             const float* offsets, std::size_t first, std::size_t count, float* out) {
  for (std::size_t i = 0; i < count; ++i)
    std::memcpy(out + 3 * i, static_cast<const unsigned char*>(rest.data) + (first + i) * rest.stride,
                3 * sizeof(float));
  if (offsets == nullptr) return;
  for (std::size_t r = 0; r < model.corrections; ++r)
    kernels.add_scaled(out, offsets + 3 * (r * model.vertices + first), coefficients[r], 3 * count);
}

void skin_corrected(const Kernels& kernels, const sinew_model& model, const sinew_poses& poses, std::size_t pose,
                    const float* palette, std::size_t first, std::size_t last) {
  float positions[3 * kVerticesPerCorrection];
  float normals[3 * kVerticesPerCorrection];
  const float* coefficients = poses.coefficients + pose * model.corrections;
  for (std::size_t v = first; v < last; v += kVerticesPerCorrection) {
    const std::size_t count = std::min(kVerticesPerCorrection, last - v);
    SkinJob job = make_job(model, poses, pose, palette, v, v + count);
    correct(kernels, model, coefficients, model.positions, model.position_offsets, v, count, positions);
    job.positions = {positions, 3 * sizeof(float)};
    if (poses.normals.data != nullptr) {
      correct(kernels, model, coefficients, model.normals, model.normal_offsets, v, count, normals);
      job.normals = {normals, 3 * sizeof(float)};
    }
    kernels.skin(job);
  }
}

void skin_range(const Kernels& kernels, const sinew_model& model, const sinew_poses& poses, std::size_t pose,
                const float* palette, std::size_t first, std::size_t last) {
  if (model.corrections != 0)
    skin_corrected(kernels, model, poses, pose, palette, first, last);
  else
    kernels.skin(make_job(model, poses, pose, palette, first, last));
}

bool complete(const sinew_weights& weights) {
  return weights.values != nullptr &&
         (weights.influences == 0 || weights.indices16 != nullptr || weights.indices32 != nullptr);
}

sinew_status check_indices(const sinew_weights& weights, std::size_t rows, std::size_t bones) {
  if (weights.influences < 0) return sinew_bad_size;
  if (!complete(weights)) return sinew_missing_buffer;
  const std::size_t slots = rows * static_cast<std::size_t>(weights.influences);
  for (std::size_t i = 0; i < slots; ++i)
    if ((weights.indices16 != nullptr ? weights.indices16[i] : weights.indices32[i]) >= bones) return sinew_bad_index;
  return sinew_ok;
}

}  // namespace

sinew_status check_arguments(const sinew_model& model, const sinew_poses& poses) {
  constexpr std::size_t kPoint = 3 * sizeof(float);
  if (model.vertices == 0 || poses.count == 0) return sinew_ok;
  if (model.bones == 0 || model.weights.influences < 0 || model.dictionary.influences < 0) return sinew_bad_size;
  if (model.positions.stride < kPoint || poses.positions.stride < kPoint) return sinew_bad_size;
  if (model.positions.data == nullptr || poses.positions.data == nullptr || poses.palettes == nullptr ||
      !complete(model.weights))
    return sinew_missing_buffer;
  if (poses.normals.data != nullptr) {
    if (model.normals.data == nullptr) return sinew_missing_buffer;
    if (model.normals.stride < kPoint || poses.normals.stride < kPoint) return sinew_bad_size;
  }
  if (model.virtual_bones != 0 && (!complete(model.dictionary) || poses.scratch == nullptr))
    return sinew_missing_buffer;
  if (model.corrections != 0 && (model.position_offsets == nullptr || poses.coefficients == nullptr))
    return sinew_missing_buffer;
  return sinew_ok;
}

sinew_status skin_with(const Kernels& kernels, const sinew_model& model, const sinew_poses& poses) {
  if (const sinew_status status = check_arguments(model, poses); status != sinew_ok) return status;
  if (model.virtual_bones != 0) {
    for (std::size_t pose = 0; pose < poses.count; ++pose) {
      kernels.blend({model.virtual_bones, model.bones, model.dictionary, palette_of(poses, pose), poses.scratch});
      skin_range(kernels, model, poses, pose, poses.scratch, 0, model.vertices);
    }
    return sinew_ok;
  }
  for (std::size_t first = 0; first < model.vertices; first += kVerticesPerBlock)
    for (std::size_t pose = 0; pose < poses.count; ++pose)
      skin_range(kernels, model, poses, pose, palette_of(poses, pose), first,
                 std::min(model.vertices, first + kVerticesPerBlock));
  return sinew_ok;
}

sinew_weights PackedWeights::view() const {
  return {influences, indices16.empty() ? nullptr : indices16.data(), indices32.empty() ? nullptr : indices32.data(),
          values.data()};
}

PackedWeights pack_weights(const std::uint32_t* bones, const float* values, std::size_t rows, std::size_t slots,
                           std::size_t bone_count) {
  std::size_t fullest = 1;
  for (std::size_t row = 0; row < rows; ++row) {
    const auto used = static_cast<std::size_t>(
        std::count_if(values + row * slots, values + (row + 1) * slots, [](float w) { return w != 0; }));
    fullest = std::max(fullest, used);
  }
  PackedWeights out;
  if (fullest > 8 && 2 * fullest > bone_count) {
    out.values.assign(rows * bone_count, 0.0F);
    for (std::size_t i = 0; i < rows * slots; ++i)
      if (values[i] != 0) out.values[i / slots * bone_count + bones[i]] += values[i];
    return out;
  }
  out.influences = static_cast<int>(fullest);
  out.values.assign(rows * fullest, 0.0F);
  std::vector<std::uint32_t> indices(rows * fullest, 0);
  for (std::size_t row = 0; row < rows; ++row) {
    std::size_t next = row * fullest;
    for (std::size_t i = row * slots; i < (row + 1) * slots; ++i) {
      if (values[i] == 0) continue;
      indices[next] = bones[i];
      out.values[next++] = values[i];
    }
  }
  if (bone_count <= 0x10000)
    out.indices16.assign(indices.begin(), indices.end());
  else
    out.indices32 = std::move(indices);
  return out;
}

}  // namespace sinew::runtime

extern "C" {

sinew_status sinew_skin(const sinew_model* model, const sinew_poses* poses) {
  if (model == nullptr || poses == nullptr) return sinew_missing_buffer;
  return sinew::runtime::skin_with(sinew::runtime::best_kernels(), *model, *poses);
}

sinew_status sinew_check_model(const sinew_model* model) {
  using sinew::runtime::check_indices;
  if (model == nullptr) return sinew_missing_buffer;
  if (model->bones == 0) return sinew_bad_size;
  if (model->virtual_bones != 0)
    if (const sinew_status status = check_indices(model->dictionary, model->virtual_bones, model->bones);
        status != sinew_ok)
      return status;
  return check_indices(model->weights, model->vertices,
                       model->virtual_bones != 0 ? model->virtual_bones : model->bones);
}

size_t sinew_scratch_floats(const sinew_model* model) {
  return model == nullptr ? 0 : sinew::runtime::kMatrixFloats * model->virtual_bones;
}

void sinew_make_palette(const float* affines, size_t count, float* palette) {
  for (std::size_t i = 0; i < count; ++i)
    for (int column = 0; column < 4; ++column) {
      std::memcpy(palette + 16 * i + 4 * column, affines + 12 * i + 3 * column, 3 * sizeof(float));
      palette[16 * i + 4 * column + 3] = column == 3 ? 1.0F : 0.0F;
    }
}

const char* sinew_runtime_target(void) {
  return sinew::runtime::best_kernels().name;
}

}  // extern "C"
