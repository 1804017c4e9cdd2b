#include "math/symmetric_eigen.h"

#include <Eigen/Eigenvalues>

namespace sinew {

SymmetricEigen symmetric_eigen(const Eigen::Ref<const Eigen::MatrixXd>& matrix) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(matrix);
  return {eigen.eigenvalues(), eigen.eigenvectors()};
}

}  // namespace sinew
