#ifndef SINEW_CUDA_H
#define SINEW_CUDA_H

/* Plays skinned models on an NVIDIA GPU: what sinew_skin does, with the same structs, the same layouts and the same
 * bits.
 *
 * The structs stay in the host's memory; every pointer in them is the device's. Nothing is allocated and nothing is
 * copied: calls only put kernels into the caller's stream. Layouts and speed: docs/cuda.md
 *
 * A library that was built without CUDA has these functions too; they answer that there is no device. */

#include "sinew/runtime/sinew_runtime.h"

/* NOLINTBEGIN(modernize-use-using,readability-identifier-naming): C */

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st; /* what a cudaStream_t points to; NULL is the default stream */

/* GPUs that this library can use; 0 where it was built without CUDA. */
int sinew_cuda_devices(void);

/* Skins every vertex in every pose on the current device. As sinew_skin, but
 *   - palettes and scratch start at multiples of 16 bytes, as does each pose's palette;
 *   - vertices, results and their strides are multiples of 4 bytes;
 *   - scratch has sinew_cuda_scratch_floats(model, poses->count) floats.
 * sinew_bad_size where that is not so; sinew_device_failed where CUDA refuses the launch (cudaGetLastError says why).
 * Errors while kernels run are those of the stream, as with any kernel. */
sinew_status sinew_cuda_skin(const sinew_model* model, const sinew_poses* poses, struct CUstream_st* stream);

/* Floats of scratch that one call of sinew_cuda_skin needs: 12 per virtual bone and pose. */
size_t sinew_cuda_scratch_floats(const sinew_model* model, size_t poses);

/* NOLINTEND(modernize-use-using,readability-identifier-naming) */

#ifdef __cplusplus
}
#endif

#endif
