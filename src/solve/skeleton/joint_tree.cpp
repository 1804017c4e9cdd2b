#include "solve/skeleton/joint_tree.h"

#include <Eigen/Cholesky>
#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/index.h"
#include "math/gemm.h"
#include "math/lanes.h"
#include "math/parallel.h"

namespace sinew::skeleton {
namespace {

constexpr std::size_t kFrameGrain = 4;
constexpr double kSmallTurn = 0.05;     // radians up to which the factor of a step serves the next
constexpr double kLeastDamping = 1e-6;  // of the diagonal: what floats can tell
constexpr double kServes = 0.25;        // of what a kept factor promises must be gained for it to serve once more

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

/// L M, (3B+1)×n from 4B×n, for the L with T = Z L: how rotations and the root's translation make up the transforms.
/// The translation of a bone is carried by all joints above it, so sums over subtrees take the place of the product.
Eigen::MatrixXd mapped(const JointTree& tree, const Eigen::MatrixXd& M) {
  const int B = tree.bones();
  Eigen::MatrixXd out = Eigen::MatrixXd::Zero(3 * B + 1, M.cols());
  Eigen::VectorXd carried(B);  // by the joint of each bone
  for (Eigen::Index i = 0; i < M.cols(); ++i) {
    const auto from = M.col(i);
    auto to = out.col(i);
    for (int b = 0; b < B; ++b) carried[b] = from[4 * b + 3];
    for (int b = B - 1; b >= 0; --b) {
      const int p = tree.parent[b];
      to.segment<3>(3 * b) += from.segment<3>(4 * b);
      if (p < 0) {
        to[3 * B] += carried[b];
        continue;
      }
      const Eigen::Vector3d moment = carried[b] * tree.joint.col(b);
      to.segment<3>(3 * b) -= moment;
      to.segment<3>(3 * p) += moment;
      carried[p] += carried[b];
    }
  }
  return out;
}

using Rows = Eigen::Matrix<double, Eigen::Dynamic, 3>;  // Zᵀ: a row for each column of Z

using Eight = float __attribute__((vector_size(32)));
constexpr Eigen::Index kEight = 8;

Eigen::Index padded(Eigen::Index bones) {
  return (bones + kEight - 1) / kEight * kEight;
}

/// Of the Gauss–Newton matrix unknown k of all bones comes before unknown k + 1 of any, the root's translation last:
/// bone after bone in memory, so that its blocks are formed for eight bones at once. Bone b's unknown k is k B + b;
/// where planes are read it is k P + b, P being B rounded up to a multiple of eight.
struct Planes {
  Eigen::MatrixXf A;   // 3P×3B
  Eigen::VectorXf At;  // 3B: what the root's translation has in common with them
};

Planes planes_of(const Eigen::MatrixXd& A) {
  const Eigen::Index B = A.rows() / 3;
  const Eigen::Index P = padded(B);
  Planes out{Eigen::MatrixXf::Zero(3 * P, 3 * B), Eigen::VectorXf(3 * B)};
  for (Eigen::Index k = 0; k < 3; ++k)
    for (Eigen::Index b = 0; b < B; ++b) {
      for (Eigen::Index i = 0; i < 3; ++i)
        for (Eigen::Index c = 0; c < B; ++c) out.A(i * P + c, k * B + b) = static_cast<float>(A(3 * c + i, 3 * b + k));
      out.At[k * B + b] = static_cast<float>(A(3 * b + k, 3 * B));
    }
  return out;
}

/// The products of the data with Z instead of T: A = L S Lᵀ, D = C Lᵀ (here its transpose).
struct FrameProblem {
  const Eigen::MatrixXd& A;
  const Planes& planes;
  Rows D;  // (3B+1)×3
};

/// A Z for the symmetric A, into P: eight rows of all three columns at a time stay in registers.
void multiply(const Eigen::MatrixXd& A, const Rows& Z, Rows& P) {
  using lanes::Double8;
  const Eigen::Index n = A.rows();
  P.resize(n, 3);
  const double* const z0 = Z.data();
  const double* const z1 = z0 + n;
  const double* const z2 = z1 + n;
  Eigen::Index i = 0;
  for (; i + Eigen::Index{lanes::kLanes} <= n; i += lanes::kLanes) {
    Double8 p0, p1, p2;
    const double* a = A.data() + i;
    for (Eigen::Index k = 0; k < n; ++k, a += n) {
      const Double8 value = lanes::load(a);
      p0 = p0 + z0[k] * value;
      p1 = p1 + z1[k] * value;
      p2 = p2 + z2[k] * value;
    }
    lanes::store(P.data() + i, p0);
    lanes::store(P.data() + n + i, p1);
    lanes::store(P.data() + 2 * n + i, p2);
  }
  for (; i < n; ++i) P.row(i) = A.col(i).transpose() * Z;
}

/// tr(Z A Zᵀ) − 2 tr(Zᵀ D), P being A Z.
double objective(const FrameProblem& problem, const Rows& Z, const Rows& P) {
  return Z.cwiseProduct(P - 2 * problem.D).sum();
}

/// Gradient with respect to R_b ← exp(w_b) R_b and the translation.
void find_gradient(const FrameProblem& problem, const Rows& Z, const Rows& P, Eigen::VectorXd& g) {
  const auto B = static_cast<int>(Z.rows() / 3);
  g.resize(3 * B + 3);
  for (int b = 0; b < B; ++b) {
    Eigen::Vector3d torque = Eigen::Vector3d::Zero();
    for (int r = 3 * b; r < 3 * b + 3; ++r) {
      const Eigen::Vector3d axis = Z.row(r).transpose();
      torque += axis.cross(Eigen::Vector3d((P.row(r) - problem.D.row(r)).transpose()));
    }
    g.segment<3>(3 * b) = torque;
  }
  g.tail<3>() = (P.row(3 * B) - problem.D.row(3 * B)).transpose();
}

/// The columns of bone c, for all bones b: with M = Z_bᵀ A_bc Z_c the block is tr(M) I − Mᵀ. Z is 3P×3.
void find_columns(const Planes& planes, const Eigen::MatrixXf& Z, Eigen::Index c, Eigen::MatrixXf& H) {
  const Eigen::Index B = planes.A.cols() / 3;
  const Eigen::Index P = Z.rows() / 3;
  const auto eight = [](const float* at) {
    Eight value;
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  float turn[3][3];
  for (Eigen::Index i = 0; i < 3; ++i)
    for (Eigen::Index k = 0; k < 3; ++k) turn[i][k] = Z(i * P + c, k);
  for (Eigen::Index b = 0; b < B; b += kEight) {
    Eight M[3][3] = {};
    for (Eigen::Index i = 0; i < 3; ++i) {
      const float* a = planes.A.data() + c * 3 * P + i * P + b;
      const Eight first = eight(a), second = eight(a + 3 * P * B), third = eight(a + 6 * P * B);
      Eight u[3];
      for (int j = 0; j < 3; ++j) u[j] = first * turn[0][j] + second * turn[1][j] + third * turn[2][j];
      for (int k = 0; k < 3; ++k) {
        const Eight z = eight(Z.data() + k * 3 * P + i * P + b);
        for (int j = 0; j < 3; ++j) M[k][j] += z * u[j];
      }
    }
    const auto here = static_cast<std::size_t>(std::min(kEight, B - b)) * sizeof(float);
    const auto put = [&](Eigen::Index row, Eigen::Index column, const Eight& value) {
      std::memcpy(&H(row * B + b, column * B + c), &value, here);
    };
    put(0, 0, M[1][1] + M[2][2]);
    put(1, 0, -M[0][1]);
    put(2, 0, -M[0][2]);
    put(1, 1, M[0][0] + M[2][2]);
    put(2, 1, -M[1][2]);
    put(2, 2, M[0][0] + M[1][1]);
  }
}

/// Gauss–Newton matrix of the same; its lower triangle.
void find_hessian(const FrameProblem& problem, const Rows& Z, Eigen::MatrixXf& H) {
  const Eigen::Index B = Z.rows() / 3;
  const Eigen::Index P = padded(B);
  Eigen::MatrixXf planes = Eigen::MatrixXf::Zero(3 * P, 3);  // of Z
  for (Eigen::Index k = 0; k < 3; ++k)
    for (Eigen::Index i = 0; i < 3; ++i)
      for (Eigen::Index b = 0; b < B; ++b) planes(i * P + b, k) = static_cast<float>(Z(3 * b + i, k));
  for (Eigen::Index c = 0; c < B; ++c) {
    find_columns(problem.planes, planes, c, H);
    Eigen::Vector3f arm = Eigen::Vector3f::Zero();
    for (Eigen::Index i = 0; i < 3; ++i) arm += problem.planes.At[i * B + c] * planes.row(i * P + c).transpose();
    const Eigen::Matrix3f cross = cross_matrix(arm.cast<double>()).transpose().cast<float>();
    for (Eigen::Index k = 0; k < 3; ++k) H.block<3, 1>(3 * B, k * B + c) = cross.col(k);
  }
  H.bottomRightCorner<3, 3>() = static_cast<float>(problem.A(3 * B, 3 * B)) * Eigen::Matrix3f::Identity();
}

/// The factor of that matrix, damped. False where floats cannot tell it from one that is not definite.
bool find_factor(const FrameProblem& problem, const Rows& Z, double damping, RotationFactor& factor) {
  Eigen::MatrixXf& H = factor.begin(Z.rows() + 2);
  find_hessian(problem, Z, H);
  const float least = 1e-9F * std::max(H.diagonal().mean(), 1e-30F);
  H.diagonal().array() += static_cast<float>(damping) * H.diagonal().array() + least;
  return factor.compute();
}

/// The step that a factor and the gradient make: a rotation vector for each bone, the translation.
void find_step(const RotationFactor& factor, const Eigen::VectorXd& g, Eigen::VectorXd& y) {
  const Eigen::Index B = g.size() / 3 - 1;
  Eigen::VectorXf x(g.size());
  for (Eigen::Index k = 0; k < 3; ++k)
    for (Eigen::Index b = 0; b < B; ++b) x[k * B + b] = static_cast<float>(-g[3 * b + k]);
  x.tail<3>() = -g.tail<3>().cast<float>();
  factor.solve_in_place(x);
  y.resize(g.size());
  for (Eigen::Index k = 0; k < 3; ++k)
    for (Eigen::Index b = 0; b < B; ++b) y[3 * b + k] = static_cast<double>(x[k * B + b]);
  y.tail<3>() = x.tail<3>().cast<double>();
}

/// Levenberg–Marquardt. The factor of a step serves the next as well while the turns are small.
void improve_frame(const FrameProblem& problem, int steps, Rows& Z, RotationFactor& factor) {
  const auto B = static_cast<int>(Z.rows() / 3);
  bool reuse = factor.rows() == 3 * B + 3;
  Rows P;
  multiply(problem.A, Z, P);
  double value = objective(problem, Z, P);
  double damping = 1e-4;
  Eigen::VectorXd g;
  Eigen::VectorXd y;
  Rows next;
  Rows next_product;
  for (int step = 0; step < steps; ++step) {
    find_gradient(problem, Z, P, g);
    bool better = false;
    for (int attempt = 0; attempt < 6 && !better; ++attempt) {
      if (!reuse && !find_factor(problem, Z, damping, factor)) {
        damping *= 10;
        continue;
      }
      find_step(factor, g, y);
      next = Z;
      for (int b = 0; b < B; ++b)
        next.middleRows<3>(3 * b) = Z.middleRows<3>(3 * b) * exponential(y.segment<3>(3 * b)).transpose();
      next.row(3 * B) += y.tail<3>().transpose();
      multiply(problem.A, next, next_product);
      const double reached = objective(problem, next, next_product);
      if (std::isfinite(reached) && reached < value) {
        better = true;
        const double gained = value - reached;
        const bool small = gained <= 1e-12 * std::abs(value);
        const bool serves = B < kKeepsFactors || gained >= -kServes * g.dot(y);
        Z.swap(next);
        P.swap(next_product);
        value = reached;
        if (!reuse) damping = std::max(kLeastDamping, damping / 10);
        if (small) return;
        reuse = serves && y.head(3 * B).cwiseAbs().maxCoeff() < kSmallTurn;
      } else if (reuse) {
        reuse = false;
      } else {
        damping *= 10;
      }
    }
    if (!better) return;
  }
}

/// The solution of N c = r with the joints that `place` moves held where it puts them. Changes both.
Eigen::VectorXd placed_solution(const JointTree& tree, const JointPlace& place, Eigen::MatrixXd& N,
                                Eigen::VectorXd& r) {
  constexpr int kAttempts = 4;   // a joint that gives way to a held one may have to be held itself
  constexpr double kHeld = 1e3;  // times a joint's stiffness
  Eigen::VectorXd c = N.selfadjointView<Eigen::Lower>().ldlt().solve(r);
  if (!place || !c.allFinite()) return c;
  std::vector<bool> held(tree.parent.size(), false);
  Eigen::VectorXd at = c;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    bool moved = false;
    for (int a = 0; a < tree.bones(); ++a) {
      const auto b = static_cast<std::size_t>(a);
      if (tree.parent[b] < 0 || held[b]) continue;
      const Eigen::Vector3d free = c.segment<3>(3 * a);
      at.segment<3>(3 * a) = place(a, free);
      if (at.segment<3>(3 * a) == free) continue;
      moved = held[b] = true;
      const double hold = kHeld * N.diagonal().segment<3>(3 * a).mean();
      N.diagonal().segment<3>(3 * a).array() += hold;
      r.segment<3>(3 * a) += hold * at.segment<3>(3 * a);
    }
    if (!moved) break;
    c = N.selfadjointView<Eigen::Lower>().ldlt().solve(r);
    for (int a = 0; a < tree.bones(); ++a)
      if (!held[static_cast<std::size_t>(a)]) at.segment<3>(3 * a) = c.segment<3>(3 * a);
  }
  for (int a = 0; a < tree.bones(); ++a)
    if (tree.parent[static_cast<std::size_t>(a)] >= 0 && !held[static_cast<std::size_t>(a)])
      at.segment<3>(3 * a) = place(a, c.segment<3>(3 * a));
  return at;
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
                      int steps, int threads, JointPoses& poses, std::vector<RotationFactor>* kept) {
  const int B = tree.bones();
  const Eigen::MatrixXd A = mapped(tree, mapped(tree, S).transpose());
  const Planes planes = planes_of(A);
  if (kept != nullptr) kept->resize(poses.frames());
  parallel_for(poses.frames(), kFrameGrain, threads, [&](std::size_t first, std::size_t last) {
    for (std::size_t f = first; f < last; ++f) {
      const FrameProblem problem{A, planes, mapped(tree, C[f].transpose())};
      Rows Z(3 * B + 1, 3);
      Z << poses.rotation[f].transpose(), poses.root.col(static_cast<Eigen::Index>(f)).transpose();
      RotationFactor own;
      improve_frame(problem, steps, Z, kept == nullptr ? own : (*kept)[f]);
      poses.rotation[f] = Z.topRows(3 * B).transpose();
      for (int b = 0; b < B; ++b) orthonormalise(poses.rotation[f].middleCols<3>(3 * b));
      poses.root.col(static_cast<Eigen::Index>(f)) = Z.row(3 * B).transpose();
    }
  });
}

void update_joints(const Eigen::MatrixXd& S, const std::vector<Eigen::Matrix3Xd>& C, const Eigen::Matrix3Xd& anchor,
                   double mu, JointTree& tree, JointPoses& poses, const JointPlace& place) {
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

  Eigen::MatrixXd N(3 * B, 3 * B);
  Eigen::VectorXd r = Eigen::VectorXd::Zero(3 * B);
  std::vector<Eigen::Vector3d> mean_residual(poses.frames());
  Eigen::MatrixXd differences(3 * index(poses.frames()), 3 * B);
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
    }
    mean_residual[f] = mean;
    differences.middleRows<3>(3 * index(f)) = D;
  }
  gemm(Op::transpose, Op::none, 1.0, differences, differences, 0.0, N);
  for (int a = 0; a < B; ++a)
    for (int b = 0; b < B; ++b) N.block<3, 3>(3 * a, 3 * b) *= K(a, b);
  // The pull is relative to each joint's own stiffness, so that it decides only what the motion leaves open; a joint
  // that never bends has none and goes to its anchor.
  const double least = 1e-9 * std::max(N.diagonal().mean(), 1e-300);
  for (int a = 0; a < B; ++a) {
    const double pull = mu * N.diagonal().segment<3>(3 * a).mean() + least;
    N.diagonal().segment<3>(3 * a).array() += pull;
    r.segment<3>(3 * a) += pull * anchor.col(a);
  }
  const Eigen::VectorXd c = placed_solution(tree, place, N, r);
  if (!c.allFinite()) return;
  for (int a = 0; a < B; ++a)
    if (tree.parent[a] >= 0) tree.joint.col(a) = c.segment<3>(3 * a);
  for (std::size_t f = 0; f < poses.frames(); ++f) {
    Eigen::Vector3d carried = Eigen::Vector3d::Zero();
    for (int a = 0; a < B; ++a) carried += mass[a] * (differences.block<3, 3>(3 * index(f), 3 * a) * tree.joint.col(a));
    poses.root.col(static_cast<Eigen::Index>(f)) = mean_residual[f] - carried / vertices;
  }
}

}  // namespace sinew::skeleton
