#pragma once

#include <Eigen/Core>
#include <memory>

/// Eigen's dense decompositions, each compiled in one place: their templates take seconds wherever they are used.
namespace sinew {

/// Eigenvalues in ascending order and their unit eigenvectors, column by column.
struct SymmetricEigen {
  Eigen::VectorXd values;
  Eigen::MatrixXd vectors;
};

/// Of a real symmetric matrix (its lower triangle is read).
SymmetricEigen symmetric_eigen(const Eigen::Ref<const Eigen::MatrixXd>& matrix);
Eigen::VectorXd symmetric_eigenvalues(const Eigen::Ref<const Eigen::MatrixXd>& matrix);

struct SymmetricEigen3 {
  Eigen::Vector3d values;
  Eigen::Matrix3d vectors;
};
SymmetricEigen3 symmetric_eigen3(const Eigen::Matrix3d& matrix);
Eigen::Vector3d symmetric_eigenvalues3(const Eigen::Matrix3d& matrix);

/// Orthonormal columns that span those of M (and more where these are dependent), by Householder's QR.
Eigen::MatrixXd orthonormal_columns(const Eigen::MatrixXd& M);

/// The Cholesky factor of a positive definite matrix (its lower triangle is read), kept for several right sides.
class Cholesky {
 public:
  Cholesky();
  explicit Cholesky(const Eigen::MatrixXd& matrix);
  Cholesky(Cholesky&& other) noexcept;
  Cholesky& operator=(Cholesky&& other) noexcept;
  Cholesky(const Cholesky&) = delete;
  Cholesky& operator=(const Cholesky&) = delete;
  ~Cholesky();

  /// False when the matrix is not positive definite.
  bool compute(const Eigen::MatrixXd& matrix);
  [[nodiscard]] Eigen::VectorXd solve(const Eigen::VectorXd& right) const;
  [[nodiscard]] Eigen::MatrixXd solve(const Eigen::MatrixXd& right) const;
  [[nodiscard]] Eigen::MatrixXd inverse() const;

 private:
  struct Factor;
  std::unique_ptr<Factor> factor_;
};

/// X of A X = B for a positive definite A (its lower triangle is read), by Cholesky's decomposition.
Eigen::VectorXd solve_definite(const Eigen::MatrixXd& A, const Eigen::VectorXd& b);
Eigen::Vector3d solve_definite(const Eigen::Matrix3d& A, const Eigen::Vector3d& b);

/// X of A X = B for a semidefinite A (its lower triangle is read), by the pivoted decomposition L D Lᵀ.
Eigen::VectorXd solve_symmetric(const Eigen::MatrixXd& A, const Eigen::VectorXd& b);
Eigen::Vector3d solve_symmetric(const Eigen::Matrix3d& A, const Eigen::Vector3d& b);
Eigen::Matrix3d solve_symmetric(const Eigen::Matrix3d& A, const Eigen::Matrix3d& B);
Eigen::Matrix3Xd solve_symmetric(const Eigen::Matrix3d& A, const Eigen::Matrix3Xd& B);
Eigen::Vector4d solve_symmetric(const Eigen::Matrix4d& A, const Eigen::Vector4d& b);

/// x of A x = b for any invertible A, by LU with rows exchanged.
Eigen::VectorXd solve_general(const Eigen::MatrixXd& A, const Eigen::VectorXd& b);

}  // namespace sinew
