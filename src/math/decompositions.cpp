#include "math/decompositions.h"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <Eigen/QR>
#include <utility>

namespace sinew {

SymmetricEigen symmetric_eigen(const Eigen::Ref<const Eigen::MatrixXd>& matrix) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(matrix);
  return {eigen.eigenvalues(), eigen.eigenvectors()};
}

Eigen::VectorXd symmetric_eigenvalues(const Eigen::Ref<const Eigen::MatrixXd>& matrix) {
  return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(matrix, Eigen::EigenvaluesOnly).eigenvalues();
}

SymmetricEigen3 symmetric_eigen3(const Eigen::Matrix3d& matrix) {
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> eigen(matrix);
  return {eigen.eigenvalues(), eigen.eigenvectors()};
}

Eigen::Vector3d symmetric_eigenvalues3(const Eigen::Matrix3d& matrix) {
  return Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d>(matrix, Eigen::EigenvaluesOnly).eigenvalues();
}

Eigen::MatrixXd orthonormal_columns(const Eigen::MatrixXd& M) {
  const Eigen::HouseholderQR<Eigen::MatrixXd> qr(M);
  return qr.householderQ() * Eigen::MatrixXd::Identity(M.rows(), M.cols());
}

struct Cholesky::Factor {
  Eigen::LLT<Eigen::MatrixXd> llt;
};

Cholesky::Cholesky() = default;
Cholesky::Cholesky(const Eigen::MatrixXd& matrix) {
  compute(matrix);
}
Cholesky::Cholesky(Cholesky&& other) noexcept = default;
Cholesky& Cholesky::operator=(Cholesky&& other) noexcept = default;
Cholesky::~Cholesky() = default;

bool Cholesky::compute(const Eigen::MatrixXd& matrix) {
  if (!factor_) factor_ = std::make_unique<Factor>();
  factor_->llt.compute(matrix);
  return factor_->llt.info() == Eigen::Success;
}

Eigen::VectorXd Cholesky::solve(const Eigen::VectorXd& right) const {
  return factor_->llt.solve(right);
}

Eigen::MatrixXd Cholesky::solve(const Eigen::MatrixXd& right) const {
  return factor_->llt.solve(right);
}

Eigen::MatrixXd Cholesky::inverse() const {
  return solve(Eigen::MatrixXd(Eigen::MatrixXd::Identity(factor_->llt.rows(), factor_->llt.cols())));
}

Eigen::VectorXd solve_definite(const Eigen::MatrixXd& A, const Eigen::VectorXd& b) {
  return A.llt().solve(b);
}
Eigen::Vector3d solve_definite(const Eigen::Matrix3d& A, const Eigen::Vector3d& b) {
  return A.llt().solve(b);
}

Eigen::VectorXd solve_symmetric(const Eigen::MatrixXd& A, const Eigen::VectorXd& b) {
  return A.ldlt().solve(b);
}
Eigen::Vector3d solve_symmetric(const Eigen::Matrix3d& A, const Eigen::Vector3d& b) {
  return A.ldlt().solve(b);
}
Eigen::Matrix3d solve_symmetric(const Eigen::Matrix3d& A, const Eigen::Matrix3d& B) {
  return A.ldlt().solve(B);
}
Eigen::Matrix3Xd solve_symmetric(const Eigen::Matrix3d& A, const Eigen::Matrix3Xd& B) {
  return A.ldlt().solve(B);
}
Eigen::Vector4d solve_symmetric(const Eigen::Matrix4d& A, const Eigen::Vector4d& b) {
  return A.ldlt().solve(b);
}

Eigen::VectorXd solve_general(const Eigen::MatrixXd& A, const Eigen::VectorXd& b) {
  return A.partialPivLu().solve(b);
}

}  // namespace sinew
