/* The header from C: a model on the stack, skinned without a line of C++. Returns what went wrong, 0 if nothing. */
#include <math.h>
#include <string.h>

#include "sinew/runtime/sinew_runtime.h"
#include "sinew/runtime/sinew_sliders.h"

int sinew_c_api_test(void) {
  const float affines[24] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 10, 0, 0, 0, 1, 0, -1, 0, 0, 0, 0, 1, 0, 20, 0};
  const float rest[6] = {1, 2, 3, -1, 0, 2};
  const uint16_t indices[4] = {0, 1, 1, 0};
  const float weights[4] = {0.25f, 0.75f, 1, 0};
  const float expected[6] = {1.25f, 16.25f, 3, 0, 19, 2};
  float palette[32], out[6];
  sinew_model model;
  sinew_poses poses;
  memset(&model, 0, sizeof model);
  memset(&poses, 0, sizeof poses);
  sinew_make_palette(affines, 2, palette);
  model.vertices = 2;
  model.bones = 2;
  model.positions.data = rest;
  model.positions.stride = 12;
  model.weights.influences = 2;
  model.weights.indices16 = indices;
  model.weights.values = weights;
  poses.count = 1;
  poses.palettes = palette;
  poses.positions.data = out;
  poses.positions.stride = 12;
  if (sinew_check_model(&model) != sinew_ok) return 1;
  if (sinew_scratch_floats(&model) != 0) return 2;
  if (sinew_skin(&model, &poses) != sinew_ok) return 3;
  for (int i = 0; i < 6; ++i)
    if (fabsf(out[i] - expected[i]) > 1e-5f) return 10 + i;
  return 0;
}
