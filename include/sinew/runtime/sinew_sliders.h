#ifndef SINEW_SLIDERS_H
#define SINEW_SLIDERS_H

/* Poses the bones of a face by its sliders: slider values in, a palette for sinew_skin out.
 *
 * Plain C, like sinew_runtime.h: works on the caller's buffers, allocates nothing, keeps no state. What the numbers
 * mean: docs/formats.md, "Sliders"; what it costs: docs/runtime.md. */

#include "sinew/runtime/sinew_runtime.h"

/* NOLINTBEGIN(modernize-use-using,readability-identifier-naming): C */

#ifdef __cplusplus
extern "C" {
#endif

/* A sparse linear map from sliders to bones: the arrays of extension SINEW_sliders as they are in the file. */
typedef struct sinew_sliders {
  size_t bones;
  size_t sliders;
  const float* heads; /* bones x 3, at rest: the negated translations of the inverse bind matrices */
  int affine;         /* 0: six numbers per entry, else twelve */
  size_t entries;
  const uint32_t* entry_bones;   /* entries, ascending */
  const uint32_t* entry_sliders; /* entries */
  const float* entry_by;         /* entries x 6 or 12 */
} sinew_sliders;

/* Reads every entry once. Call it when a map is loaded, not every frame: sinew_bad_index for an entry out of range or
 * out of order, sinew_bad_size for bones or sliders that are none. */
sinew_status sinew_check_sliders(const sinew_sliders* map);

/* Sets the matrices of all bones (16 floats each) for slider values (one float each; any number is allowed, 0 is the
 * rest pose). Entries are not looked at: see sinew_check_sliders. `palette` must not overlap the map. */
sinew_status sinew_pose_sliders(const sinew_sliders* map, const float* values, float* palette);

/* NOLINTEND(modernize-use-using,readability-identifier-naming) */

#ifdef __cplusplus
}
#endif

#endif
