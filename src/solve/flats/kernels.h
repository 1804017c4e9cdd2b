#pragma once

#include <Eigen/Core>
#include <cstddef>

#include "math/lanes.h"
#include "solve/flats/vertex_blocks.h"

/// Loops over one block of vertices that the flat solvers share. Columns are kBlock long; `directions` is h-1.
namespace sinew::flats {

inline constexpr std::size_t kBlock = VertexBlocks<double>::kBlock;

/// factor = Cholesky factor of the h-1 quadratic forms at u plus ridge·I, for all vertices of a block, in groups of
/// eight: group-major, then pair (j >= k, row by row), then lane. Diagonals are inverted; a direction that is dependent
/// on the earlier ones within 1e-11 gets 0 there and drops out.
void factor_block(const double* u, const double* coefficients, int directions, double ridge, double* factor);

/// Cholesky factor of one vertex of a block (its diagonal no longer inverted), from what factor_block left.
void unpack_factor(const double* factor, int directions, std::size_t vertex, Eigen::MatrixXd& L);

/// z := (L Lᵀ)⁻¹ z for all vertices of a block.
template <class T>
void solve_block(const double* factor, int directions, T* z);

/// The same in float, with the factor rounded to it: for steps whose direction needs few digits.
void solve_block_in_float(const float* factor, int directions, float* z);

/// q_k = sum_c u_c wide(4k + c).
template <class T>
void contract_block(const T* u, const T* wide, int directions, T* q);

/// wide(4k + c) = u_c z_k.
template <class T>
void expand_block(const T* u, const T* z, int directions, T* wide);

double squared_norm(const double* values, std::size_t count);

/// W (n×m, m <= n) with Wᵀ S W = I and W Wᵀ the pseudo-inverse of the Gram matrix S: directions of relative weight
/// below 1e-13 are left out.
Eigen::MatrixXd whitening(const Eigen::MatrixXd& S);

}  // namespace sinew::flats
