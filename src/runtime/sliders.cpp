#include <cstring>

#include "runtime/rotation_vector.h"
#include "sinew/runtime/sinew_sliders.h"

namespace {

/// The matrix of x -> A (x - head) + head + way.
void write_matrix(const float* A, const float* head, const float* way, float* out) {
  for (int column = 0; column < 3; ++column) {
    std::memcpy(out + 4 * column, A + 3 * column, 3 * sizeof(float));
    out[4 * column + 3] = 0;
  }
  for (int i = 0; i < 3; ++i)
    out[12 + i] = head[i] + way[i] - (A[i] * head[0] + A[3 + i] * head[1] + A[6 + i] * head[2]);
  out[15] = 1;
}

constexpr float kIdentity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

}  // namespace

sinew_status sinew_check_sliders(const sinew_sliders* map) {
  if (map == nullptr || map->heads == nullptr) return sinew_missing_buffer;
  if (map->bones == 0 || map->sliders == 0) return sinew_bad_size;
  if (map->entries == 0) return sinew_ok;
  if (map->entry_bones == nullptr || map->entry_sliders == nullptr || map->entry_by == nullptr)
    return sinew_missing_buffer;
  for (size_t i = 0; i < map->entries; ++i) {
    if (map->entry_bones[i] >= map->bones || map->entry_sliders[i] >= map->sliders) return sinew_bad_index;
    if (i > 0 && map->entry_bones[i] < map->entry_bones[i - 1]) return sinew_bad_index;
  }
  return sinew_ok;
}

sinew_status sinew_pose_sliders(const sinew_sliders* map, const float* values, float* palette) {
  if (map == nullptr || values == nullptr || palette == nullptr || map->heads == nullptr) return sinew_missing_buffer;
  if (map->entries > 0 && (map->entry_bones == nullptr || map->entry_sliders == nullptr || map->entry_by == nullptr))
    return sinew_missing_buffer;
  const size_t width = map->affine != 0 ? 12 : 6;
  size_t i = 0;
  for (size_t b = 0; b < map->bones; ++b) {
    float y[12] = {};
    for (; i < map->entries && map->entry_bones[i] == b; ++i) {
      const float value = values[map->entry_sliders[i]];
      const float* const by = map->entry_by + width * i;
      for (size_t n = 0; n < width; ++n) y[n] += value * by[n];
    }
    float A[9];
    if (map->affine != 0)
      for (int n = 0; n < 9; ++n) A[n] = kIdentity[n] + y[3 + n];
    else
      sinew::runtime::rotation_of(y + 3, A);
    write_matrix(A, map->heads + 3 * b, y, palette + 16 * b);
  }
  return sinew_ok;
}
