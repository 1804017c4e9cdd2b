#include "solve/joint_tree.h"

#include <Eigen/Cholesky>
#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

#include "sinew/math/parallel.h"

namespace sinew {
namespace {

constexpr std::size_t kFrameGrain = 4;

Eigen::Matrix3d cross_matrix(const Eigen::Vector3d& a) {
  Eigen::Matrix3d out;
  out << 0, -a.z(), a.y(), a.z(), 0, -a.x(), -a.y(), a.x(), 0;
  return out;
}

Eigen::Matrix3d exponential(const Eigen::Vector3d& w) {
  const double angle = w.norm();
  return angle > 0 ? Eigen::AngleAxisd(angle, w / angle).toRotationMatrix()
                   : Eigen::Matrix3d(Eigen::Matrix3d::Identity());
}

/// L with T = Z L, (3B+1)×4B: how rotations and the root translation make up the transforms.
Eigen::MatrixXd kinematic_map(const JointTree& tree) {
  const int B = tree.bones();
  Eigen::MatrixXd L = Eigen::MatrixXd::Zero(3 * B + 1, 4 * B);
  for (int b = 0; b < B; ++b) {
    L.block<3, 3>(3 * b, 4 * b).setIdentity();
    auto t = L.col(4 * b + 3);
    if (tree.parent[b] < 0) {
      t[3 * B] = 1;
      continue;
    }
    const int p = tree.parent[b];
    t = L.col(4 * p + 3);
    t.segment<3>(3 * p) += tree.joint.col(b);
    t.segment<3>(3 * b) -= tree.joint.col(b);
  }
  return L;
}

/// The products of the data with Z instead of T: A = L S Lᵀ, D = C Lᵀ.
struct FrameProblem {
  const Eigen::MatrixXd& A;
  Eigen::Matrix3Xd D;  // 3×(3B+1)
};

double objective(const FrameProblem& problem, const Eigen::Matrix3Xd& Z) {
  return ((Z * problem.A).cwiseProduct(Z)).sum() - 2 * Z.cwiseProduct(problem.D).sum();
}

/// Gauss–Newton system of the rotations R_b ← exp(w_b) R_b and the translation: H y = −g.
void linearise(const FrameProblem& problem, const Eigen::Matrix3Xd& Z, Eigen::MatrixXd& H, Eigen::VectorXd& g) {
  const auto B = static_cast<int>(Z.cols() / 3);
  const Eigen::Matrix3Xd G = Z * problem.A - problem.D;
  H.resize(3 * B + 3, 3 * B + 3);
  g.resize(3 * B + 3);
  for (int b = 0; b < B; ++b) {
    const auto R = Z.middleCols<3>(3 * b);
    Eigen::Vector3d torque = Eigen::Vector3d::Zero();
    for (int j = 0; j < 3; ++j) torque += R.col(j).cross(G.col(3 * b + j));
    g.segment<3>(3 * b) = torque;
    for (int c = 0; c <= b; ++c) {
      const Eigen::Matrix3d M = R * problem.A.block<3, 3>(3 * b, 3 * c) * Z.middleCols<3>(3 * c).transpose();
      H.block<3, 3>(3 * b, 3 * c) = M.trace() * Eigen::Matrix3d::Identity() - M.transpose();
    }
    H.block<3, 3>(3 * B, 3 * b) = cross_matrix(R * problem.A.block<3, 1>(3 * b, 3 * B)).transpose();
  }
  H.bottomRightCorner<3, 3>() = problem.A(3 * B, 3 * B) * Eigen::Matrix3d::Identity();
  g.tail<3>() = G.col(3 * B);
}

void improve_frame(const FrameProblem& problem, int steps, Eigen::Matrix3Xd& Z) {
  const auto B = static_cast<int>(Z.cols() / 3);
  double value = objective(problem, Z);
  double damping = 1e-4;
  Eigen::MatrixXd H;
  Eigen::VectorXd g;
  for (int step = 0; step < steps; ++step) {
    linearise(problem, Z, H, g);
    const double stiffness = std::max(H.diagonal().mean(), 1e-300);
    bool better = false;
    for (int attempt = 0; attempt < 6 && !better; ++attempt) {
      Eigen::MatrixXd damped = H;
      damped.diagonal().array() += damping * H.diagonal().array() + 1e-9 * stiffness;
      const Eigen::LLT<Eigen::MatrixXd> factor(damped);
      if (factor.info() != Eigen::Success) {
        damping *= 10;
        continue;
      }
      const Eigen::VectorXd y = factor.solve(-g);
      Eigen::Matrix3Xd next = Z;
      for (int b = 0; b < B; ++b) next.middleCols<3>(3 * b) = exponential(y.segment<3>(3 * b)) * Z.middleCols<3>(3 * b);
      next.col(3 * B) += y.tail<3>();
      const double reached = objective(problem, next);
      if (std::isfinite(reached) && reached < value) {
        better = true;
        const bool small = value - reached <= 1e-12 * std::abs(value);
        Z = next;
        value = reached;
        damping = std::max(1e-9, damping / 10);
        if (small) return;
      } else {
        damping *= 10;
      }
    }
    if (!better) return;
  }
}

/// Removes what rounding has added to a rotation.
void orthonormalise(Eigen::Ref<Eigen::Matrix3d> R) {
  const Eigen::Matrix3d copy = R;
  R = Eigen::Quaterniond(copy).normalized().toRotationMatrix();
}

}  // namespace

std::vector<Eigen::Matrix3Xd> transforms_of(const JointTree& tree, const JointPoses& poses) {
  const int B = tree.bones();
  std::vector<Eigen::Matrix3Xd> out(poses.frames(), Eigen::Matrix3Xd(3, 4 * B));
  for (std::size_t f = 0; f < poses.frames(); ++f)
    for (int b = 0; b < B; ++b) {
      const auto R = poses.rotation[f].middleCols<3>(3 * b);
      out[f].middleCols<3>(4 * b) = R;
      const int p = tree.parent[b];
      if (p < 0)
        out[f].col(4 * b + 3) = poses.root.col(static_cast<Eigen::Index>(f));
      else
        out[f].col(4 * b + 3) =
            out[f].col(4 * p + 3) + (poses.rotation[f].middleCols<3>(3 * p) - R) * tree.joint.col(b);
    }
  return out;
}

JointPoses poses_of(const std::vector<Eigen::Matrix3Xd>& transforms) {
  JointPoses out;
  out.root.resize(3, static_cast<Eigen::Index>(transforms.size()));
  for (std::size_t f = 0; f < transforms.size(); ++f) {
    const Eigen::Index B = transforms[f].cols() / 4;
    Eigen::Matrix3Xd rotation(3, 3 * B);
    for (Eigen::Index b = 0; b < B; ++b) rotation.middleCols<3>(3 * b) = transforms[f].middleCols<3>(4 * b);
    out.rotation.push_back(std::move(rotation));
    out.root.col(static_cast<Eigen::Index>(f)) = transforms[f].col(3);
  }
  return out;
}

double gram_objective(const Eigen::Matrix3Xd& T, const Eigen::MatrixXd& S, const Eigen::Matrix3Xd& C) {
  return (T * S).cwiseProduct(T).sum() - 2 * T.cwiseProduct(C).sum();
}

void update_rotations(const JointTree& tree, const Eigen::MatrixXd& S, const std::vector<Eigen::Matrix3Xd>& C,
                      int steps, int threads, JointPoses& poses) {
  const int B = tree.bones();
  const Eigen::MatrixXd L = kinematic_map(tree);
  const Eigen::MatrixXd A = L * S * L.transpose();
  parallel_for(poses.frames(), kFrameGrain, threads, [&](std::size_t first, std::size_t last) {
    for (std::size_t f = first; f < last; ++f) {
      const FrameProblem problem{A, C[f] * L.transpose()};
      Eigen::Matrix3Xd Z(3, 3 * B + 1);
      Z << poses.rotation[f], poses.root.col(static_cast<Eigen::Index>(f));
      improve_frame(problem, steps, Z);
      for (int b = 0; b < B; ++b) orthonormalise(Z.middleCols<3>(3 * b));
      poses.rotation[f] = Z.leftCols(3 * B);
      poses.root.col(static_cast<Eigen::Index>(f)) = Z.col(3 * B);
    }
  });
}

void update_joints(const Eigen::MatrixXd& S, const std::vector<Eigen::Matrix3Xd>& C, const Eigen::Matrix3Xd& anchor,
                   double mu, JointTree& tree, JointPoses& poses) {
  const int B = tree.bones();
  if (B < 2) return;
  // U(b, a) = 1 when a lies on the path from b to the root: the weight that joint a carries is that of its subtree.
  Eigen::MatrixXd U = Eigen::MatrixXd::Zero(B, B);
  for (int b = 0; b < B; ++b) {
    if (tree.parent[b] >= 0) U.row(b) = U.row(tree.parent[b]);
    U(b, b) = 1;
  }
  // Moments over the vertices, weights summed over subtrees: Σ W_a W_a', Σ W_a, Σ W_a w_b u.
  Eigen::MatrixXd ww(B, B);
  Eigen::MatrixXd wu(B, 3 * B);  // Σ_v w_a w_b u as rows a, columns 3b..
  for (int a = 0; a < B; ++a)
    for (int b = 0; b < B; ++b) {
      ww(a, b) = S(4 * a + 3, 4 * b + 3);
      wu.block<1, 3>(a, 3 * b) = S.block<1, 3>(4 * a + 3, 4 * b);
    }
  const double vertices = ww.sum();
  if (!(vertices > 0)) return;
  const Eigen::VectorXd mass = U.transpose() * ww.rowwise().sum();
  const Eigen::MatrixXd subtree_u = U.transpose() * wu;   // B×3B
  const Eigen::RowVectorXd total_u = wu.colwise().sum();  // 1×3B
  // The root's translation is eliminated per frame: products of centred weights.
  const Eigen::MatrixXd K = U.transpose() * ww * U - mass * mass.transpose() / vertices;

  Eigen::MatrixXd N = Eigen::MatrixXd::Zero(3 * B, 3 * B);
  Eigen::VectorXd r = Eigen::VectorXd::Zero(3 * B);
  std::vector<Eigen::Vector3d> mean_residual(poses.frames());
  std::vector<Eigen::Matrix3Xd> differences(poses.frames());
  for (std::size_t f = 0; f < poses.frames(); ++f) {
    const Eigen::Matrix3Xd& R = poses.rotation[f];
    Eigen::Matrix3Xd D = Eigen::Matrix3Xd::Zero(3, 3 * B);
    for (int a = 0; a < B; ++a)
      if (tree.parent[a] >= 0) D.middleCols<3>(3 * a) = R.middleCols<3>(3 * tree.parent[a]) - R.middleCols<3>(3 * a);
    Eigen::Matrix3Xd target(3, B);  // Σ_v w_a v
    for (int a = 0; a < B; ++a) target.col(a) = C[f].col(4 * a + 3);
    const Eigen::Vector3d mean = (target.rowwise().sum() - R * total_u.transpose()) / vertices;
    const Eigen::Matrix3Xd e = target * U - R * subtree_u.transpose() - mean * mass.transpose();
    for (int a = 0; a < B; ++a) {
      r.segment<3>(3 * a) += D.middleCols<3>(3 * a).transpose() * e.col(a);
      for (int b = 0; b <= a; ++b)
        N.block<3, 3>(3 * a, 3 * b) += K(a, b) * D.middleCols<3>(3 * a).transpose() * D.middleCols<3>(3 * b);
    }
    mean_residual[f] = mean;
    differences[f] = std::move(D);
  }
  // The pull is relative to each joint's own stiffness, so that it decides only what the motion leaves open; a joint
  // that never bends has none and goes to its anchor.
  const double least = 1e-9 * std::max(N.diagonal().mean(), 1e-300);
  for (int a = 0; a < B; ++a) {
    const double pull = mu * N.diagonal().segment<3>(3 * a).mean() + least;
    N.diagonal().segment<3>(3 * a).array() += pull;
    r.segment<3>(3 * a) += pull * anchor.col(a);
  }
  const Eigen::VectorXd c = N.selfadjointView<Eigen::Lower>().ldlt().solve(r);
  if (!c.allFinite()) return;
  for (int a = 0; a < B; ++a)
    if (tree.parent[a] >= 0) tree.joint.col(a) = c.segment<3>(3 * a);
  for (std::size_t f = 0; f < poses.frames(); ++f) {
    Eigen::Vector3d carried = Eigen::Vector3d::Zero();
    for (int a = 0; a < B; ++a) carried += mass[a] * (differences[f].middleCols<3>(3 * a) * tree.joint.col(a));
    poses.root.col(static_cast<Eigen::Index>(f)) = mean_residual[f] - carried / vertices;
  }
}

}  // namespace sinew
