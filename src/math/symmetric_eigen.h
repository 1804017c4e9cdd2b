#pragma once

#include <Eigen/Core>

namespace sinew {

/// Eigenvalues in ascending order and their unit eigenvectors, column by column.
struct SymmetricEigen {
  Eigen::VectorXd values;
  Eigen::MatrixXd vectors;
};

/// Of a real symmetric matrix (its lower triangle is read). One place to compile a large template.
SymmetricEigen symmetric_eigen(const Eigen::Ref<const Eigen::MatrixXd>& matrix);

}  // namespace sinew
