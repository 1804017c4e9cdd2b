#include "core/eigen_kernels.h"

namespace Eigen::internal {

SINEW_EIGEN_KERNELS(template)

}  // namespace Eigen::internal
