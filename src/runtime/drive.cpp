#include <cmath>
#include <cstdint>
#include <cstring>

#include "runtime/rotation_vector.h"
#include "sinew/runtime/sinew_runtime.h"

namespace {

struct Vector {
  float x, y, z;
};

/// Columns of a palette matrix: three of the linear part, one of the translation.
const float* matrix_of(const float* palette, std::uint32_t bone) {
  return palette + 16 * static_cast<std::size_t>(bone);
}

float dot(const float* a, const float* b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/// The rotation vector of Pᵀ J, by its quaternion: accurate from no turn to half a turn.
Vector turn_between(const float* parent, const float* joint) {
  float r[3][3];
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) r[i][j] = dot(parent + 4 * i, joint + 4 * j);
  float q[4];  // x y z w
  const float trace = r[0][0] + r[1][1] + r[2][2];
  if (trace > 0) {
    const float s = std::sqrt(trace + 1);
    q[3] = 0.5F * s;
    q[0] = (r[2][1] - r[1][2]) * 0.5F / s;
    q[1] = (r[0][2] - r[2][0]) * 0.5F / s;
    q[2] = (r[1][0] - r[0][1]) * 0.5F / s;
  } else {
    int i = 0;
    if (r[1][1] > r[0][0]) i = 1;
    if (r[2][2] > r[i][i]) i = 2;
    const int j = (i + 1) % 3;
    const int k = (i + 2) % 3;
    const float s = std::sqrt(r[i][i] - r[j][j] - r[k][k] + 1);
    q[i] = 0.5F * s;
    q[3] = (r[k][j] - r[j][k]) * 0.5F / s;
    q[j] = (r[j][i] + r[i][j]) * 0.5F / s;
    q[k] = (r[k][i] + r[i][k]) * 0.5F / s;
  }
  const float sine = std::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2]);
  if (!(sine > 0)) return {0, 0, 0};
  const float sign = q[3] < 0 ? -1.0F : 1.0F;
  const float scale = sign * 2 * std::atan2(sine, sign * q[3]) / sine;
  return {scale * q[0], scale * q[1], scale * q[2]};
}

void place(const sinew_drive& drive, float* palette) {
  float y[6];
  std::memcpy(y, drive.constant, sizeof y);
  for (size_t n = 0; n < drive.inputs; ++n) {
    const sinew_drive_input& input = drive.input[n];
    const Vector r = turn_between(matrix_of(palette, input.parent), matrix_of(palette, input.joint));
    for (int i = 0; i < 6; ++i) y[i] += input.by[3 * i] * r.x + input.by[3 * i + 1] * r.y + input.by[3 * i + 2] * r.z;
  }
  float turn[9];
  sinew::runtime::rotation_of(y + 3, turn);
  // As the parent sees it: x -> Q (x - head) + head + way.
  float local[12];
  std::memcpy(local, turn, sizeof turn);
  for (int i = 0; i < 3; ++i)
    local[9 + i] =
        drive.head[i] + y[i] - turn[i] * drive.head[0] - turn[3 + i] * drive.head[1] - turn[6 + i] * drive.head[2];
  const float* const parent = matrix_of(palette, drive.parent);
  float* const out = palette + 16 * static_cast<std::size_t>(drive.bone);
  for (int column = 0; column < 4; ++column) {
    for (int i = 0; i < 3; ++i)
      out[4 * column + i] = parent[i] * local[3 * column] + parent[4 + i] * local[3 * column + 1] +
                            parent[8 + i] * local[3 * column + 2] + (column == 3 ? parent[12 + i] : 0.0F);
    out[4 * column + 3] = column == 3 ? 1.0F : 0.0F;
  }
}

}  // namespace

sinew_status sinew_drive_helpers(const sinew_drive* drives, size_t count, size_t bones, float* palette) {
  if (count == 0) return sinew_ok;
  if (drives == nullptr || palette == nullptr) return sinew_missing_buffer;
  for (size_t d = 0; d < count; ++d) {
    if (drives[d].inputs > 0 && drives[d].input == nullptr) return sinew_missing_buffer;
    if (drives[d].bone >= bones || drives[d].parent >= bones) return sinew_bad_index;
    for (size_t n = 0; n < drives[d].inputs; ++n)
      if (drives[d].input[n].joint >= bones || drives[d].input[n].parent >= bones) return sinew_bad_index;
  }
  for (size_t d = 0; d < count; ++d) place(drives[d], palette);
  return sinew_ok;
}
