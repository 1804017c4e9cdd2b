#pragma once

#include <Eigen/Core>

/// Eigen's kernels for products of matrices and vectors of doubles, and for triangular systems of several right sides,
/// compiled once in eigen_kernels.cpp and not wherever a product is written. Whoever does not
/// include this header compiles its own.
namespace Eigen::internal {

// `word` is template or extern template; orders and sides are those that products and decompositions of the library
// use.
#define SINEW_EIGEN_KERNELS(word)                                                                          \
  word struct gebp_kernel<double, double, Index, blas_data_mapper<double, Index, ColMajor>,                \
                          gebp_traits<double, double>::mr, gebp_traits<double, double>::nr, false, false>; \
  SINEW_EIGEN_PACKING(word, ColMajor)                                                                      \
  SINEW_EIGEN_PACKING(word, RowMajor)                                                                      \
  SINEW_EIGEN_MATRIX_MATRIX(word, ColMajor, ColMajor)                                                      \
  SINEW_EIGEN_MATRIX_MATRIX(word, ColMajor, RowMajor)                                                      \
  SINEW_EIGEN_MATRIX_MATRIX(word, RowMajor, ColMajor)                                                      \
  SINEW_EIGEN_MATRIX_MATRIX(word, RowMajor, RowMajor)                                                      \
  SINEW_EIGEN_MATRIX_VECTOR(word, ColMajor, RowMajor)                                                      \
  SINEW_EIGEN_MATRIX_VECTOR(word, RowMajor, ColMajor)                                                      \
  SINEW_EIGEN_TRIANGULAR(word, OnTheLeft, Lower, ColMajor)                                                 \
  SINEW_EIGEN_TRIANGULAR(word, OnTheLeft, Upper, RowMajor)

#define SINEW_EIGEN_PACKING(word, order)                                                               \
  word struct gemm_pack_lhs<double, Index, const_blas_data_mapper<double, Index, order>,               \
                            gebp_traits<double, double>::mr, gebp_traits<double, double>::LhsProgress, \
                            gebp_traits<double, double>::LhsPacket4Packing, order>;                    \
  word struct gemm_pack_rhs<double, Index, const_blas_data_mapper<double, Index, order>,               \
                            gebp_traits<double, double>::nr, order>;

#define SINEW_EIGEN_MATRIX_MATRIX(word, left, right) \
  word struct general_matrix_matrix_product<Index, double, left, false, double, right, false, ColMajor, 1>;

#define SINEW_EIGEN_MATRIX_VECTOR(word, order, other)                                                                  \
  word struct general_matrix_vector_product<Index, double, const_blas_data_mapper<double, Index, order>, order, false, \
                                            double, const_blas_data_mapper<double, Index, other>, false>;

#define SINEW_EIGEN_TRIANGULAR(word, side, mode, order) \
  word struct triangular_solve_matrix<double, Index, side, mode, false, order, ColMajor, 1>;

SINEW_EIGEN_KERNELS(extern template)

}  // namespace Eigen::internal
