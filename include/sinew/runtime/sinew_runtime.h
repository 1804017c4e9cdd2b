#ifndef SINEW_RUNTIME_H
#define SINEW_RUNTIME_H

/* Plays skinned models: linear blend skinning with sparse or dense weights, two-layer models and corrections.
 *
 * Plain C. Works on the caller's buffers, allocates nothing, throws nothing, keeps no state, and may be called from any
 * number of threads as long as their outputs do not overlap. The instruction set is chosen once, at the first call.
 * Layouts, costs and how to split work over threads: docs/runtime.md
 *
 * Bone matrices ("palettes") are 4x4, column-major, column vectors, as glTF and OpenGL store them: 16 floats per bone,
 * rest to posed. The last row is ignored. */

#include <stddef.h>
#include <stdint.h>

/* NOLINTBEGIN(modernize-use-using,readability-identifier-naming): C */

#ifdef __cplusplus
extern "C" {
#endif

/* Rows of blend weights: one row per vertex over bones, or one row per virtual bone over bones. */
typedef struct sinew_weights {
  int influences;            /* slots per row, >= 1; 0: dense, one value per bone and no indices */
  const uint16_t* indices16; /* rows x influences, or NULL */
  const uint32_t* indices32; /* the same where 16 bits do not suffice; used when indices16 is NULL */
  const float* values;       /* rows x influences; dense: rows x bones */
} sinew_weights;

/* Three floats per vertex, `stride` bytes from one vertex to the next; no alignment is needed. */
typedef struct sinew_input {
  const void* data;
  size_t stride;
} sinew_input;

/* The same for results, `pose_stride` bytes from one pose to the next. Only 12 bytes per vertex are written. */
typedef struct sinew_output {
  void* data;
  size_t stride;
  size_t pose_stride;
} sinew_output;

/* How a normal n follows the blended matrix F; the result has unit length. */
typedef enum sinew_normal_rule {
  sinew_normals_linear = 0,   /* F n: what glTF players compute, and what sinew fits normal offsets for */
  sinew_normals_cofactors = 1 /* cofactors of F times n: right for bones that shear or scale unevenly */
} sinew_normal_rule;

/* A model. Zero-initialise it and fill in what it has. */
typedef struct sinew_model {
  size_t vertices;
  size_t bones;
  sinew_input positions;         /* at rest */
  sinew_input normals;           /* at rest, unit length; data NULL: none */
  sinew_weights weights;         /* per vertex: over bones, or over virtual bones when there are any */
  size_t virtual_bones;          /* 0: one layer */
  sinew_weights dictionary;      /* per virtual bone, over bones */
  size_t corrections;            /* R; 0: none */
  const float* position_offsets; /* R x vertices x 3, added to the rest position before skinning */
  const float* normal_offsets;   /* R x vertices x 3, or NULL */
  sinew_normal_rule normal_rule;
} sinew_model;

/* Poses of one model: the frames of a clip, or many instances in one frame. */
typedef struct sinew_poses {
  size_t count;
  const float* palettes;     /* count x bones x 16 */
  size_t palette_stride;     /* bytes from one pose to the next */
  const float* coefficients; /* count x corrections; unused without corrections */
  sinew_output positions;
  sinew_output normals; /* data NULL: not wanted */
  float* scratch;       /* sinew_scratch_floats(model) floats; unused when that is 0 */
} sinew_poses;

typedef enum sinew_status {
  sinew_ok = 0,
  sinew_missing_buffer = 1, /* a pointer that the model needs is NULL */
  sinew_bad_index = 2,      /* an index is not below the number of bones */
  sinew_bad_size = 3,       /* a count or stride outside its range */
  sinew_no_device = 4,      /* sinew_cuda.h: no GPU, or a library built without CUDA */
  sinew_device_failed = 5   /* sinew_cuda.h: CUDA refused a launch */
} sinew_status;

/* Skins every vertex in every pose. Normals follow the model's rule; one that vanishes is written as zero. Indices are
 * not looked at: an index out of range is undefined behaviour; see sinew_check_model. */
sinew_status sinew_skin(const sinew_model* model, const sinew_poses* poses);

/* Reads every index once. Call it when a model is loaded, not every frame. */
sinew_status sinew_check_model(const sinew_model* model);

/* Floats of scratch that one call of sinew_skin needs: 16 per virtual bone. */
size_t sinew_scratch_floats(const sinew_model* model);

/* Expands 3x4 column-major matrices (12 floats each) to a palette. */
void sinew_make_palette(const float* affines, size_t count, float* palette);

/* A joint that drives a helper bone, and how: row by row, 6x3. */
typedef struct sinew_drive_input {
  uint32_t joint;  /* a bone that turns */
  uint32_t parent; /* against this one */
  float by[18];
} sinew_drive_input;

/* How a helper bone follows the joints (docs/formats.md: extras.sinew.drives). As its parent sees it, its head goes by
 * the first three and it turns by the last three (a rotation vector) of constant + sum of by * r, where r is the
 * rotation vector of a joint's bone against its parent's. */
typedef struct sinew_drive {
  uint32_t bone;
  uint32_t parent;
  float head[3]; /* at rest */
  float constant[6];
  size_t inputs;
  const sinew_drive_input* input;
} sinew_drive;

/* Sets the matrices of helper bones from those of the joints, which are rotations and translations: fill in all other
 * bones first. Reads and checks every index: drives are few. */
sinew_status sinew_drive_helpers(const sinew_drive* drives, size_t count, size_t bones, float* palette);

/* Name of the instruction set in use, e.g. "AVX2". */
const char* sinew_runtime_target(void);

/* NOLINTEND(modernize-use-using,readability-identifier-naming) */

#ifdef __cplusplus
}
#endif

#endif
