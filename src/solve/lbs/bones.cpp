#include "solve/lbs/bones.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "core/index.h"
#include "math/gemm.h"
#include "math/parallel.h"
#include "math/rotation.h"

namespace sinew::lbs {
namespace {

constexpr std::size_t kFrames = 8;  // frames that share one run over the bones

/// A bone that nearly no vertex follows keeps its motion: relative to the mean weight of bones.
constexpr double kNothing = 1e-9;

/// Cost of changing an affine motion, relative to the bone's weight: it holds blends that the data leave open where
/// they were, and unlike the cost of stretch it never raises the objective.
constexpr double kChangeCost = 1e-6;

/// Bones k ≠ j with S_kj ≠ 0, i.e. that share a vertex with bone j.
std::vector<std::vector<int>> interacting_bones(const Eigen::MatrixXd& S) {
  const auto B = static_cast<int>(S.cols() / 4);
  std::vector<std::vector<int>> lists(static_cast<std::size_t>(B));
  for (int j = 0; j < B; ++j) {
    for (int k = 0; k < B; ++k) {
      if (k != j && S(4 * k + 3, 4 * j + 3) != 0) lists[static_cast<std::size_t>(j)].push_back(k);
    }
  }
  return lists;
}

/// Best rigid motion of bone j for the frames of `rows` (eq. 3.18–3.30), given the others. E = target of the bone:
/// C_j − Σ_{k≠j} D_k S_kj + T₀ S_jj, 3 rows per frame and 4 columns.
void fit_bone(const Eigen::Ref<const Eigen::MatrixXd>& E, const Eigen::Ref<const Eigen::MatrixXd>& common,
              const Eigen::Matrix4d& S_jj, Eigen::Ref<Eigen::MatrixXd> D) {
  const double mass = S_jj(3, 3);
  const Eigen::Vector3d center = S_jj.block<3, 1>(0, 3) / mass;
  for (Eigen::Index row = 0; row < E.rows(); row += 3) {
    const Eigen::Vector3d sum = E.block<3, 1>(row, 3);
    const Eigen::Matrix3d H = E.block<3, 3>(row, 0) - sum * center.transpose();
    const Eigen::Matrix3d previous = D.block<3, 3>(row, 0) + common.block<3, 3>(row, 0);
    const Eigen::Matrix3d R = closest_rotation(H, previous);
    D.block<3, 3>(row, 0) = R - common.block<3, 3>(row, 0);
    D.block<3, 1>(row, 3) = sum / mass - R * center - common.block<3, 1>(row, 3);
  }
}

void update_rigid(const Problem& problem, const WeightSums& sums, const BoneOptions& options, Eigen::MatrixXd& D) {
  const auto B = static_cast<std::size_t>(D.cols() / 4);
  const Eigen::MatrixXd& S = sums.S;
  const auto neighbors = interacting_bones(S);
  const double nothing = least_mass(problem, B);
  parallel_for(problem.frame_count(), kFrames, problem.threads(), [&](std::size_t begin, std::size_t end) {
    const Eigen::Index first = index(3 * begin);
    const Eigen::Index rows = index(3 * (end - begin));
    Eigen::MatrixXd local = D.middleRows(first, rows);
    const Eigen::MatrixXd common = problem.common().middleRows(first, rows);
    Eigen::MatrixXd E(rows, 4);
    for (int sweep = 0; sweep < options.sweeps; ++sweep) {
      for (std::size_t j = 0; j < B; ++j) {
        if (!options.locked.empty() && options.locked[j] != 0) continue;
        const Eigen::Matrix4d S_jj = S.block<4, 4>(index(4 * j), index(4 * j));
        if (S_jj(3, 3) <= nothing) continue;
        E.noalias() = sums.C.block(first, index(4 * j), rows, 4);
        E.noalias() += common.lazyProduct(S_jj);
        for (const int k : neighbors[j]) {
          E.noalias() -= local.middleCols<4>(4 * k).lazyProduct(S.block<4, 4>(4 * k, index(4 * j)));
        }
        fit_bone(E, common, S_jj, local.middleCols<4>(index(4 * j)));
      }
    }
    D.middleRows(first, rows) = local;
  });
}

/// D = (C + λ m R̄)(S + λ m)⁻¹ over the free bones: λ draws each linear part to the closest rotation of what it was.
void update_affine(const Problem& problem, const WeightSums& sums, const BoneOptions& options, Eigen::MatrixXd& D) {
  const auto B = static_cast<std::size_t>(D.cols() / 4);
  std::vector<Eigen::Index> free;
  for (std::size_t b = 0; b < B; ++b) {
    if (options.locked.empty() || options.locked[b] == 0) free.push_back(index(b));
  }
  if (free.empty()) return;
  const auto n = static_cast<Eigen::Index>(4 * free.size());
  Eigen::MatrixXd A(n, n);
  Eigen::MatrixXd target(D.rows(), n);
  Eigen::MatrixXd locked_part;
  if (free.size() < B) {
    Eigen::MatrixXd held = D;
    for (const Eigen::Index b : free) held.middleCols<4>(4 * b).setZero();
    locked_part.resize(D.rows(), D.cols());
    gemm(Op::none, Op::none, 1.0, held, sums.S, 0.0, locked_part, problem.threads());
  }
  const double mean_mass = static_cast<double>(problem.vertex_count()) / static_cast<double>(B);
  for (std::size_t i = 0; i < free.size(); ++i) {
    const Eigen::Index bi = free[i];
    for (std::size_t j = 0; j < free.size(); ++j) {
      A.block<4, 4>(index(4 * i), index(4 * j)) = sums.S.block<4, 4>(4 * bi, 4 * free[j]);
    }
    auto block = target.middleCols<4>(index(4 * i));
    block = sums.C.middleCols<4>(4 * bi);
    if (locked_part.size() != 0) block -= locked_part.middleCols<4>(4 * bi);
    const double mass = sums.S(4 * bi + 3, 4 * bi + 3) + 1e-9 * mean_mass;
    const double stretch = options.stretch_cost * mass;
    const double change = kChangeCost * mass;
    for (Eigen::Index f = 0; f < D.rows(); f += 3) {
      const Eigen::Matrix3d common = problem.common().block<3, 3>(f, 0);
      const Eigen::Matrix3d linear = D.block<3, 3>(f, 4 * bi) + common;
      block.block<3, 3>(f, 0) += stretch * (closest_rotation(linear) - common);
    }
    block += change * D.middleCols<4>(4 * bi);
    A.diagonal().segment<3>(index(4 * i)).array() += stretch;
    A.diagonal().segment<4>(index(4 * i)).array() += change;
  }
  const Eigen::MatrixXd solved = A.llt().solve(target.transpose()).transpose();
  if (!solved.allFinite()) return;
  for (std::size_t i = 0; i < free.size(); ++i) D.middleCols<4>(4 * free[i]) = solved.middleCols<4>(index(4 * i));
}

}  // namespace

double least_mass(const Problem& problem, std::size_t bones) {
  return kNothing * static_cast<double>(problem.vertex_count()) / static_cast<double>(bones);
}

void update_bones(const Problem& problem, const WeightSums& sums, const BoneOptions& options, Eigen::MatrixXd& D) {
  if (options.transforms == Transforms::rigid) {
    update_rigid(problem, sums, options, D);
  } else {
    update_affine(problem, sums, options, D);
  }
}

Eigen::MatrixXd bone_centers(const WeightSums& sums) {
  const Eigen::Index B = sums.S.cols() / 4;
  Eigen::MatrixXd centers(3, B);
  for (Eigen::Index b = 0; b < B; ++b) {
    const double mass = sums.S(4 * b + 3, 4 * b + 3);
    centers.col(b).setZero();
    if (mass > 0) centers.col(b) = sums.S.block<3, 1>(4 * b, 4 * b + 3) / mass;
  }
  return centers;
}

void make_rigid(const Problem& problem, const Eigen::MatrixXd& centers, Eigen::MatrixXd& D) {
  parallel_for(problem.frame_count(), kFrames, problem.threads(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t f = begin; f < end; ++f) {
      const Eigen::Matrix<double, 3, 4> common = problem.common().middleRows<3>(index(3 * f));
      for (Eigen::Index b = 0; b < centers.cols(); ++b) {
        auto block = D.block<3, 4>(index(3 * f), 4 * b);
        const Eigen::Matrix3d linear = block.leftCols<3>() + common.leftCols<3>();
        const Eigen::Matrix3d R = closest_rotation(linear);
        block.col(3) += (linear - R) * centers.col(b);
        block.leftCols<3>() = R - common.leftCols<3>();
      }
    }
  });
}

}  // namespace sinew::lbs
