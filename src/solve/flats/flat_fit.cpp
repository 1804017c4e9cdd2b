// Vertices against a flat: closest places, whitening, the paper's alternation [Liu2020 §4.2].
//
// Per vertex A = [B_1ᵀu ... B_{h-1}ᵀu] (r×(h-1)) is never formed: AᵀA is a quadratic form in u with the fixed matrices
// B_j B_kᵀ, Aᵀ(y - p) and A z are products with Θ that run over whole blocks of vertices.

#include "solve/flats/flat_fit.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "math/decompositions.h"
#include "math/gemm.h"
#include "math/parallel.h"
#include "solve/flats/kernels.h"

namespace sinew::flats {
namespace {

// Symmetric quadratic forms u ↦ uᵀ B_j B_kᵀ u for j >= k as 10 coefficients each (c <= d), pairs in factor order.
std::vector<double> gram_coefficients(const Eigen::MatrixXd& theta) {
  const Eigen::Index directions = theta.rows() / 4 - 1;
  const Eigen::MatrixXd M = theta.bottomRows(4 * directions) * theta.bottomRows(4 * directions).transpose();
  std::vector<double> coefficients;
  coefficients.reserve(static_cast<std::size_t>(5 * directions * (directions + 1)));
  for (Eigen::Index j = 0; j < directions; ++j)
    for (Eigen::Index k = 0; k <= j; ++k)
      for (int c = 0; c < 4; ++c)
        for (int d = c; d < 4; ++d)
          coefficients.push_back(c == d ? M(4 * j + c, 4 * k + c) : M(4 * j + c, 4 * k + d) + M(4 * j + d, 4 * k + c));
  return coefficients;
}

struct BlockSums {
  double distance = 0;
  double squared_z = 0;
};

BlockSums fit_block(const FlatProblem& problem, const Eigen::MatrixXd& theta, const std::vector<double>& coefficients,
                    double ridge, std::size_t b, FlatFit& fit) {
  const int r = problem.rank;
  const int rows = static_cast<int>(theta.rows());
  const int directions = fit.handles - 1;
  const int m = static_cast<int>(kBlock);
  const double* u = problem.rest.block(b);
  double* residual = fit.residual.block(b);
  std::copy_n(problem.points.block(b), kBlock * static_cast<std::size_t>(r), residual);
  gemm_block(Op::none, Op::none, m, r, 4, -1.0, u, m, theta.data(), rows, 1.0, residual, m);
  BlockSums sums;
  if (directions > 0) {
    std::vector<double> wide(kBlock * static_cast<std::size_t>(4 * directions));
    gemm_block(Op::none, Op::transpose, m, 4 * directions, r, 1.0, residual, m, theta.data() + 4, rows, 0.0,
               wide.data(), m);
    factor_block(u, coefficients.data(), directions, ridge, fit.factor.block(b));
    double* z = fit.z.block(b);
    contract_block(u, wide.data(), directions, z);
    solve_block(fit.factor.block(b), directions, z);
    expand_block(u, z, directions, wide.data());
    gemm_block(Op::none, Op::none, m, r, 4 * directions, -1.0, wide.data(), m, theta.data() + 4, rows, 1.0, residual,
               m);
    sums.squared_z = squared_norm(z, kBlock * static_cast<std::size_t>(directions));
  }
  sums.distance = squared_norm(residual, kBlock * static_cast<std::size_t>(r));
  return sums;
}

}  // namespace

void fit_flat(const FlatProblem& problem, const Eigen::MatrixXd& theta, double ridge, int threads, FlatFit& fit) {
  const int handles = static_cast<int>(theta.rows() / 4);
  if (fit.handles != handles || fit.z.vertex_count() != problem.vertices || fit.residual.columns() != problem.rank) {
    fit.handles = handles;
    fit.z = VertexBlocks<double>(problem.vertices, handles - 1);
    fit.residual = VertexBlocks<double>(problem.vertices, problem.rank);
    fit.factor = VertexBlocks<double>(problem.vertices, handles * (handles - 1) / 2);
  }
  const std::vector<double> coefficients = gram_coefficients(theta);
  const BlockSums sums = parallel_reduce(
      problem.rest.block_count(), 1, threads, BlockSums{},
      [&](std::size_t begin, std::size_t end) {
        BlockSums part;
        for (std::size_t b = begin; b < end; ++b) {
          const BlockSums one = fit_block(problem, theta, coefficients, ridge, b, fit);
          part.distance += one.distance;
          part.squared_z += one.squared_z;
        }
        return part;
      },
      [](BlockSums total, const BlockSums& part) {
        total.distance += part.distance;
        total.squared_z += part.squared_z;
        return total;
      });
  fit.distance = sums.distance;
  fit.objective = sums.distance + ridge * sums.squared_z;
}

void whiten_flat(const FlatProblem& problem, const FlatFit& fit, int threads, Eigen::MatrixXd& theta) {
  const Eigen::Index directions = fit.handles - 1;
  if (directions == 0) return;
  const Eigen::Index h = fit.handles;
  // Moments of (1, z) and of u.
  const Eigen::MatrixXd moments = parallel_reduce(
      problem.rest.block_count(), 1, threads, Eigen::MatrixXd(Eigen::MatrixXd::Zero(h + 4, h + 4)),
      [&](std::size_t begin, std::size_t end) {
        Eigen::MatrixXd part = Eigen::MatrixXd::Zero(h + 4, h + 4);
        for (std::size_t b = begin; b < end; ++b) {
          const Eigen::Map<const Eigen::MatrixXd> z(fit.z.block(b), kBlock, directions);
          const Eigen::Map<const Eigen::MatrixXd> u(problem.rest.block(b), kBlock, 4);
          part.block(0, 0, directions, directions).noalias() += z.transpose() * z;
          part.block(directions, 0, 1, directions) += u.col(3).transpose() * z;
          part.block(h, h, 4, 4).noalias() += u.transpose() * u;
        }
        return part;
      },
      [](Eigen::MatrixXd total, const Eigen::MatrixXd& part) {
        total += part;
        return total;
      });
  const double count = static_cast<double>(problem.vertices);
  const Eigen::VectorXd mean = moments.block(directions, 0, 1, directions).transpose() / count;
  const Eigen::MatrixXd covariance = moments.topLeftCorner(directions, directions) / count - mean * mean.transpose();
  const SymmetricEigen spread = symmetric_eigen(covariance);
  Eigen::VectorXd deviation = spread.values;
  const double floor = 1e-12 * std::max(deviation.maxCoeff(), 1e-300);
  for (double& value : deviation) value = value > floor ? std::sqrt(value) : 1;
  const Eigen::MatrixXd to_white = spread.vectors * deviation.asDiagonal();

  // Directions in white coordinates, then turned into their principal axes under the metric of the rest positions.
  const auto turned = [&](const Eigen::MatrixXd& mix) {
    Eigen::MatrixXd result = Eigen::MatrixXd::Zero(4 * directions, theta.cols());
    for (Eigen::Index k = 0; k < directions; ++k)
      for (Eigen::Index j = 0; j < directions; ++j)
        result.middleRows(4 * k, 4) += mix(j, k) * theta.middleRows(4 * (j + 1), 4);
    return result;
  };
  const Eigen::MatrixXd white = turned(to_white);
  const Eigen::Matrix4d metric = moments.block(h, h, 4, 4);
  Eigen::MatrixXd importance(directions, directions);
  for (Eigen::Index j = 0; j < directions; ++j) {
    const Eigen::MatrixXd weighted = metric * white.middleRows(4 * j, 4);
    for (Eigen::Index k = 0; k < directions; ++k)
      importance(j, k) = weighted.cwiseProduct(white.middleRows(4 * k, 4)).sum();
  }
  const SymmetricEigen axes = symmetric_eigen(0.5 * (importance + importance.transpose()));
  for (Eigen::Index j = 0; j < directions; ++j) theta.topRows(4) += mean(j) * theta.middleRows(4 * (j + 1), 4);
  theta.bottomRows(4 * directions) = turned(to_white * axes.vectors.rowwise().reverse());
}

Eigen::MatrixXd alternate_flat(const FlatProblem& problem, const FlatFit& fit, int threads,
                               const std::vector<double>& weights) {
  struct Moments {
    Eigen::MatrixXd S, C;
  };
  const int width = 4 * fit.handles;
  const int r = problem.rank;
  const int m = static_cast<int>(kBlock);
  const Moments sums = parallel_reduce(
      problem.rest.block_count(), 1, threads,
      Moments{Eigen::MatrixXd::Zero(width, width), Eigen::MatrixXd::Zero(width, r)},
      [&](std::size_t begin, std::size_t end) {
        Moments part{Eigen::MatrixXd::Zero(width, width), Eigen::MatrixXd::Zero(width, r)};
        std::vector<double> X(kBlock * static_cast<std::size_t>(width));
        std::vector<double> weighted;
        for (std::size_t b = begin; b < end; ++b) {
          const double* u = problem.rest.block(b);
          std::copy_n(u, 4 * kBlock, X.data());
          expand_block(u, fit.z.block(b), fit.handles - 1, X.data() + 4 * kBlock);
          weighted = X;
          for (std::size_t i = 0; i < kBlock && b * kBlock + i < weights.size(); ++i)
            for (std::size_t c = i; c < weighted.size(); c += kBlock) weighted[c] *= weights[b * kBlock + i];
          gemm_block(Op::transpose, Op::none, width, width, m, 1.0, weighted.data(), m, X.data(), m, 1.0, part.S.data(),
                     width);
          gemm_block(Op::transpose, Op::none, width, r, m, 1.0, weighted.data(), m, problem.points.block(b), m, 1.0,
                     part.C.data(), width);
        }
        return part;
      },
      [](Moments total, const Moments& part) {
        total.S += part.S;
        total.C += part.C;
        return total;
      });
  return whitening(sums.S) * (whitening(sums.S).transpose() * sums.C);
}

std::vector<double> least_stiffness(const FlatFit& fit, int threads) {
  const int directions = fit.handles - 1;
  std::vector<double> least(fit.z.vertex_count(), 0);
  parallel_for(least.size(), 64, threads, [&](std::size_t begin, std::size_t end) {
    Eigen::MatrixXd L;
    for (std::size_t v = begin; v < end; ++v) {
      unpack_factor(fit.factor.block(v / kBlock), directions, v % kBlock, L);
      least[v] = std::max(0.0, symmetric_eigenvalues(L * L.transpose())(0));
    }
  });
  return least;
}

void published_alternation(const FlatProblem& problem, int rounds, int threads, Eigen::MatrixXd& theta, FlatFit& fit) {
  const Eigen::Index h = theta.rows() / 4;
  if (h > 1) {
    // The paper writes the flat as h points, here its mean and principal directions of unit length from it. An
    // orthonormal basis Q of weights with sum zero turns them into a point and directions with the same smallest
    // singular values.
    Eigen::MatrixXd ones = Eigen::MatrixXd::Identity(h, h);
    ones.col(0).setOnes();
    const Eigen::MatrixXd Q = orthonormal_columns(ones);
    Eigen::MatrixXd mixed = Eigen::MatrixXd::Zero(theta.rows(), theta.cols());
    mixed.topRows(4) = theta.topRows(4);
    for (Eigen::Index k = 1; k < h; ++k) {
      const double length = theta.middleRows(4 * k, 4).norm();
      if (!(length > 0)) continue;
      const Eigen::MatrixXd direction = theta.middleRows(4 * k, 4) / length;
      mixed.topRows(4) += direction / static_cast<double>(h);
      for (Eigen::Index j = 1; j < h; ++j) mixed.middleRows(4 * j, 4) += Q(k, j) * direction;
    }
    theta = mixed;
  }
  fit_flat(problem, theta, 0, threads, fit);
  for (int n = 0; n < rounds && h > 1; ++n) {
    std::vector<double> weights = least_stiffness(fit, threads);
    if (!(*std::max_element(weights.begin(), weights.end()) > 0)) weights.clear();  // fewer coordinates than directions
    theta = alternate_flat(problem, fit, threads, weights);
    fit_flat(problem, theta, 0, threads, fit);
  }
}

}  // namespace sinew::flats
