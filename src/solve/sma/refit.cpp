#include "solve/sma/refit.h"

#include <Eigen/Cholesky>
#include <Eigen/Geometry>
#include <cmath>

#include "math/gemm.h"
#include "math/parallel.h"
#include "math/rotation.h"

// Bones refitted to the vertices they move, beyond the paper.
//
//   x_v = w_v ⊗ (p̄_v, 1)   4B, sparse
//   S   = Σ x_v x_vᵀ        4B×4B
//   C_f = Σ p_v(f) x_vᵀ     3×4B for each frame
//
// The best affine bones of a frame are C_f S⁻¹; rigid ones are visited in turn against what the others leave over.

namespace sinew::sma {
namespace {

constexpr double kStiffness = 1e-6;  // pull towards the bone as it was, relative to the mean diagonal of S
constexpr int kRigidSweeps = 3;

using Wide = Eigen::Matrix<double, 3, Eigen::Dynamic>;

/// Rest pose and frames are centred on the rest pose and divided by its size while bones are fitted: what the pull is
/// worth must not depend on the unit or the place of the data.
struct Unit {
  Eigen::Vector3d center = Eigen::Vector3d::Zero();
  double size = 1;

  Eigen::Vector3d point(const Eigen::Vector3d& p) const { return (p - center) / size; }
  Wide transform(const Affine& T) const {
    Wide out = T.cast<double>();
    out.col(3) = point(out.leftCols<3>() * center + out.col(3));
    return out;
  }
  Affine undone(const Wide& T) const {
    Wide back = T;
    back.col(3) = size * T.col(3) + center - T.leftCols<3>() * center;
    return back.cast<float>();
  }
};

Unit unit_of(const Sequence& sequence) {
  const Eigen::Matrix3Xd rest = sequence.rest.positions.cast<double>();
  Unit unit;
  unit.center = rest.rowwise().mean();
  const double size = std::sqrt((rest.colwise() - unit.center).colwise().squaredNorm().mean());
  if (size > 0) unit.size = size;
  return unit;
}

Eigen::Vector4d homogeneous(const Sequence& sequence, const Unit& unit, std::size_t v) {
  return unit.point(sequence.rest.positions.col(static_cast<Eigen::Index>(v)).cast<double>()).homogeneous();
}

Eigen::MatrixXd products(const Sequence& sequence, const Unit& unit, const SignedWeights& weights, std::size_t bones) {
  const auto K = static_cast<std::size_t>(weights.influences);
  Eigen::MatrixXd S = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(4 * bones), static_cast<Eigen::Index>(4 * bones));
  for (std::size_t v = 0; v < sequence.vertex_count(); ++v) {
    const Eigen::Vector4d u = homogeneous(sequence, unit, v);
    const Eigen::Matrix4d uu = u * u.transpose();
    for (std::size_t k = v * K; k < (v + 1) * K; ++k) {
      for (std::size_t l = v * K; l < (v + 1) * K; ++l)
        S.block<4, 4>(4 * weights.bones[k], 4 * weights.bones[l]) += weights.values[k] * weights.values[l] * uu;
    }
  }
  return S;
}

Wide targets(const Sequence& sequence, const Unit& unit, const SignedWeights& weights, std::size_t bones,
             std::size_t f) {
  const auto K = static_cast<std::size_t>(weights.influences);
  Wide C = Wide::Zero(3, static_cast<Eigen::Index>(4 * bones));
  for (std::size_t v = 0; v < sequence.vertex_count(); ++v) {
    const Eigen::Vector4d u = homogeneous(sequence, unit, v);
    const Eigen::Vector3d p = unit.point(sequence.frames[f].col(static_cast<Eigen::Index>(v)).cast<double>());
    for (std::size_t k = v * K; k < (v + 1) * K; ++k)
      C.middleCols<4>(4 * weights.bones[k]) += weights.values[k] * p * u.transpose();
  }
  return C;
}

/// One sweep over rigid bones: each takes the rotation and translation that fit best what the others leave over.
void sweep_rigid(const Eigen::MatrixXd& S, const Wide& C, Wide& T) {
  for (Eigen::Index b = 0; b < T.cols() / 4; ++b) {
    const Eigen::Matrix4d own = S.block<4, 4>(4 * b, 4 * b);
    if (own(3, 3) <= 0) continue;
    const Eigen::Matrix<double, 3, 4> left =
        C.middleCols<4>(4 * b) - T * S.middleCols<4>(4 * b) + T.middleCols<4>(4 * b) * own;
    const Eigen::Vector3d rest = own.col(3).head<3>() / own(3, 3);
    const Eigen::Vector3d posed = left.col(3) / own(3, 3);
    const Eigen::Matrix3d H = left.leftCols<3>() - own(3, 3) * posed * rest.transpose();
    const Eigen::Matrix3d R = closest_rotation(H, T.block<3, 3>(0, 4 * b));
    T.block<3, 3>(0, 4 * b) = R;
    T.col(4 * b + 3) = posed - R * rest;
  }
}

}  // namespace

void refit_bones(const Sequence& sequence, const SignedWeights& weights, Transforms transforms, int threads,
                 Motion& motion) {
  const std::size_t B = motion.bone_count();
  const Unit unit = unit_of(sequence);
  const Eigen::MatrixXd S = products(sequence, unit, weights, B);
  const double pull = kStiffness * S.trace() / static_cast<double>(S.rows());
  const Eigen::LDLT<Eigen::MatrixXd> inverse(S + pull * Eigen::MatrixXd::Identity(S.rows(), S.cols()));
  parallel_for(motion.frame_count(), 1, threads, [&](std::size_t begin, std::size_t end) {
    Wide T(3, static_cast<Eigen::Index>(4 * B));
    for (std::size_t f = begin; f < end; ++f) {
      for (std::size_t b = 0; b < B; ++b)
        T.middleCols<4>(static_cast<Eigen::Index>(4 * b)) = unit.transform(motion(f, b));
      const Wide C = targets(sequence, unit, weights, B, f);
      if (transforms == Transforms::affine) {
        T += inverse.solve((C - T * S).transpose()).transpose();
      } else {
        for (int sweep = 0; sweep < kRigidSweeps; ++sweep) sweep_rigid(S, C, T);
      }
      for (std::size_t b = 0; b < B; ++b) motion(f, b) = unit.undone(T.middleCols<4>(static_cast<Eigen::Index>(4 * b)));
    }
  });
}

double squared_error(const Sequence& sequence, const Motion& motion, const SignedWeights& weights, int threads) {
  const auto K = static_cast<std::size_t>(weights.influences);
  return parallel_reduce(
      motion.frame_count(), 1, threads, 0.0,
      [&](std::size_t begin, std::size_t end) {
        double sum = 0;
        for (std::size_t f = begin; f < end; ++f) {
          for (std::size_t v = 0; v < sequence.vertex_count(); ++v) {
            const Eigen::Vector4d u =
                sequence.rest.positions.col(static_cast<Eigen::Index>(v)).cast<double>().homogeneous();
            Eigen::Vector3d d = -sequence.frames[f].col(static_cast<Eigen::Index>(v)).cast<double>();
            for (std::size_t k = v * K; k < (v + 1) * K; ++k)
              d += weights.values[k] * (motion(f, weights.bones[k]).cast<double>() * u);
            sum += d.squaredNorm();
          }
        }
        return sum;
      },
      [](double a, double b) { return a + b; });
}

}  // namespace sinew::sma
