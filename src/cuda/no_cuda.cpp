#include "sinew/cuda/sinew_cuda.h"

// A build without CUDA: there is no device.
extern "C" {

int sinew_cuda_devices(void) {
  return 0;
}

sinew_status sinew_cuda_skin(const sinew_model* /*model*/, const sinew_poses* /*poses*/, CUstream_st* /*stream*/) {
  return sinew_no_device;
}

}  // extern "C"
