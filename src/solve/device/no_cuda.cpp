#include "solve/device/passes.h"

// A build without CUDA: there is no device.
namespace sinew::device {

int cuda_devices() {
  return 0;
}

std::unique_ptr<Passes> cuda_passes(int /*number*/, const Vertices& /*vertices*/) {
  throw Failure("this build has no CUDA");
}

}  // namespace sinew::device
