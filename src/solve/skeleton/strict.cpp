#include "solve/skeleton/strict.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/index.h"
#include "solve/skeleton/tree.h"

namespace sinew::skeleton {
namespace {

// Pull of a joint towards its anchor, relative to its stiffness: one that is to lie in the body, and a free one.
constexpr double kJointPull = 3e-4;
constexpr double kFreeJointPull = 1e-4;
constexpr double kFarthest = 3;      // a joint from the centre of the rest pose, whose radius is 1
constexpr double kConverged = 5e-4;  // stop when E_RMS fell by less than this share over kWindow rounds
constexpr std::size_t kWindow = 6;
constexpr double kTurned = 1e-6;  // the same over one round, where rotations alone are fitted

std::vector<Eigen::Matrix3Xd> frames_of(const Problem& problem, const Eigen::MatrixXd& D) {
  std::vector<Eigen::Matrix3Xd> out;
  for (Eigen::Index f = 0; f < D.rows() / 3; ++f)
    out.emplace_back(D.middleRows<3>(3 * f) + problem.common().middleRows<3>(3 * f).replicate(1, D.cols() / 4));
  return out;
}

void set_frames(const Problem& problem, const std::vector<Eigen::Matrix3Xd>& T, Eigen::MatrixXd& D) {
  for (std::size_t f = 0; f < T.size(); ++f) {
    const auto row = 3 * static_cast<Eigen::Index>(f);
    D.middleRows<3>(row) = T[f] - problem.common().middleRows<3>(row).replicate(1, T[f].cols() / 4);
  }
}

/// Σ v xᵀ of every frame from Σ y xᵀ: adds back the common motion, for which weights that sum to 1 make Σ_b x_b = u.
std::vector<Eigen::Matrix3Xd> full_products(const Problem& problem, const WeightSums& sums) {
  Eigen::MatrixXd total = Eigen::MatrixXd::Zero(4, sums.S.cols());
  for (Eigen::Index b = 0; b < sums.S.cols() / 4; ++b) total += sums.S.middleRows<4>(4 * b);
  std::vector<Eigen::Matrix3Xd> out;
  for (Eigen::Index f = 0; f < sums.C.rows() / 3; ++f)
    out.emplace_back(sums.C.middleRows<3>(3 * f) + problem.common().middleRows<3>(3 * f) * total);
  return out;
}

Eigen::Matrix3Xd anchors_of(const SkeletonFit& fit) {
  const Eigen::Matrix3Xd centroid = bone_centroids(fit.state, *fit.problem);
  Eigen::Matrix3Xd anchor = fit.tree.joint;
  for (int b = 0; b < fit.tree.bones(); ++b)
    if (const int p = fit.tree.parent[at(b)]; p >= 0) anchor.col(b) = joint_anchor(fit.state, centroid, p, b);
  if (fit.body != nullptr)
    for (int b = 0; b < fit.tree.bones(); ++b)
      if (fit.tree.parent[at(b)] >= 0) anchor.col(b) = fit.body->middle(anchor.col(b));
  return anchor;
}

/// Joints between bones that turn alike and shift against each other would have to be far away, where the least turn is
/// a shift: no place for a joint, nor one that floats can hold.
void keep_near(JointTree& tree) {
  for (int b = 0; b < tree.bones(); ++b)
    if (const double away = tree.joint.col(b).norm(); tree.parent[at(b)] >= 0 && away > kFarthest)
      tree.joint.col(b) *= kFarthest / away;
}

/// Joints for the current rotations: in the body, where there is one.
void place_joints(SkeletonFit& fit, const std::vector<Eigen::Matrix3Xd>& C, const Eigen::Matrix3Xd& anchor,
                  JointPoses& poses) {
  const WeightSums& sums = fit.state.sums;
  const Body* const body = fit.body;
  if (body == nullptr) {
    update_joints(sums.S, C, anchor, kFreeJointPull, fit.tree, poses);
    keep_near(fit.tree);
    return;
  }
  update_joints(sums.S, C, anchor, kJointPull, fit.tree, poses, [&](int b, const Eigen::Vector3d& c) {
    return body->holds(c) ? c : body->brought_in(c, anchor.col(b));
  });
}

/// Rotations, joints, rotations again for the sums of the current weights. Factors are those of the round before.
void strict_round(SkeletonFit& fit, JointPoses& poses, int steps, std::vector<RotationFactor>& kept) {
  const int threads = fit.problem->threads();
  const WeightSums& sums = fit.state.sums;
  const std::vector<Eigen::Matrix3Xd> C = full_products(*fit.problem, sums);
  if (fit.tree.bones() < kKeepsFactors) kept.clear();
  update_rotations(fit.tree, sums.S, C, steps, threads, poses, &kept);
  if (!fit.joints_stay) {
    place_joints(fit, C, anchors_of(fit), poses);
    fit.symmetry.apply_to(fit.tree.joint);
    update_rotations(fit.tree, sums.S, C, 1, threads, poses, &kept);
  }
  set_frames(*fit.problem, transforms_of(fit.tree, poses), fit.state.D);
}

/// Goes on by beta times the last step: x + beta · (x − before), rotations along their axis.
void extrapolate(double beta, const JointPoses& before, const Eigen::Matrix3Xd& joint_before, JointPoses& poses,
                 Eigen::Matrix3Xd& joint) {
  for (std::size_t f = 0; f < poses.frames(); ++f)
    for (Eigen::Index b = 0; b < poses.rotation[f].cols() / 3; ++b) {
      const Eigen::Matrix3d R = poses.rotation[f].middleCols<3>(3 * b);
      const Eigen::Quaterniond step(Eigen::Matrix3d(R * before.rotation[f].middleCols<3>(3 * b).transpose()));
      // Steps are small: the vector part is half the angle along the axis.
      const Eigen::Vector3d ahead = beta * (step.w() < 0 ? -1.0 : 1.0) * step.vec();
      const Eigen::Quaterniond turn(1, ahead.x(), ahead.y(), ahead.z());
      poses.rotation[f].middleCols<3>(3 * b) = turn.normalized().toRotationMatrix() * R;
    }
  poses.root += beta * (poses.root - before.root);
  joint += beta * (joint - joint_before);
}

}  // namespace

void strict_rounds(SkeletonFit& fit, int rounds, int steps) {
  JointPoses poses = poses_of(frames_of(*fit.problem, fit.state.D));
  std::vector<RotationFactor> kept;
  for (int i = 0; i < rounds; ++i) {
    strict_round(fit, poses, i == 0 ? steps : 2, kept);
    update_weights(fit);
  }
}

double settle_tree(SkeletonFit& fit, int rounds, double hopeless) {
  const WeightSums& sums = fit.state.sums;
  const std::vector<Eigen::Matrix3Xd> C = full_products(*fit.problem, sums);
  const Eigen::Matrix3Xd anchor = anchors_of(fit);
  JointPoses poses = poses_of(frames_of(*fit.problem, fit.state.D));
  const auto error_of = [&](const JointPoses& reached) {
    const std::vector<Eigen::Matrix3Xd> T = transforms_of(fit.tree, reached);
    double value = 0;
    for (std::size_t f = 0; f < T.size(); ++f) value += gram_objective(T[f], sums.S, C[f]);
    return value;
  };
  if (std::isfinite(hopeless)) {
    const JointTree given = fit.tree;
    JointPoses turned_as_before = poses;
    place_joints(fit, C, anchor, turned_as_before);
    const double reached = error_of(turned_as_before);
    fit.tree = given;
    if (reached > hopeless) return std::numeric_limits<double>::infinity();
  }
  std::vector<RotationFactor> factors;
  std::vector<RotationFactor>* const kept = fit.tree.bones() < kKeepsFactors ? nullptr : &factors;
  for (int i = 0; i < rounds; ++i) {
    update_rotations(fit.tree, sums.S, C, 2, fit.problem->threads(), poses, kept);
    place_joints(fit, C, anchor, poses);
  }
  update_rotations(fit.tree, sums.S, C, 2, fit.problem->threads(), poses, kept);
  set_frames(*fit.problem, transforms_of(fit.tree, poses), fit.state.D);
  return error_of(poses);
}

RunEnd turn_bones(SkeletonFit& fit, int rounds, const RoundDone& done) {
  const std::vector<Eigen::Matrix3Xd> C = full_products(*fit.problem, fit.state.sums);
  JointPoses poses = poses_of(frames_of(*fit.problem, fit.state.D));
  double before = std::numeric_limits<double>::infinity();
  for (int i = 0; i < rounds; ++i) {
    update_rotations(fit.tree, fit.state.sums.S, C, 2, fit.problem->threads(), poses);
    set_frames(*fit.problem, transforms_of(fit.tree, poses), fit.state.D);
    fit.state.squares = objective(*fit.problem, fit.state.sums, fit.state.D);
    const double now = fit.e_rms();
    if (done && !done(now)) return RunEnd::stopped;
    if (before - now <= kTurned * now) return RunEnd::converged;
    before = now;
  }
  return RunEnd::limit;
}

RunEnd converge(SkeletonFit& fit, int rounds, const RoundDone& done) {
  std::vector<double> errors;
  JointPoses poses = poses_of(frames_of(*fit.problem, fit.state.D));
  JointPoses before = poses;
  Eigen::Matrix3Xd joint_before = fit.tree.joint;
  std::vector<RotationFactor> kept;
  double momentum = 1;
  FitState best = fit.state;
  JointTree best_tree = fit.tree;
  RunEnd end = RunEnd::limit;
  for (int i = 0; i < rounds && end == RunEnd::limit; ++i) {
    strict_round(fit, poses, i == 0 ? 6 : 1, kept);
    fit.state.squares = objective(*fit.problem, fit.state.sums, fit.state.D);
    if (fit.state.squares < best.squares) {
      best = fit.state;
      best_tree = fit.tree;
    } else if (momentum > 1) {
      fit.state = best;
      fit.tree = best_tree;
      momentum = 1;
      poses = poses_of(frames_of(*fit.problem, fit.state.D));
      before = poses;
      joint_before = fit.tree.joint;
      update_weights(fit);
      continue;
    }
    errors.push_back(fit.problem->e_rms(best.squares));
    if (errors.size() > kWindow && errors[errors.size() - 1 - kWindow] - errors.back() <= kConverged * errors.back())
      end = RunEnd::converged;
    if (done && !done(errors.back())) end = RunEnd::stopped;
    if (end == RunEnd::converged) break;
    const double next = 0.5 * (1 + std::sqrt(1 + 4 * momentum * momentum));
    const JointPoses reached = poses;
    const Eigen::Matrix3Xd joint_reached = fit.tree.joint;
    extrapolate((momentum - 1) / next, before, joint_before, poses, fit.tree.joint);
    before = reached;
    joint_before = joint_reached;
    momentum = next;
    set_frames(*fit.problem, transforms_of(fit.tree, poses), fit.state.D);
    update_weights(fit);
  }
  fit.state = best;
  fit.tree = best_tree;
  update_weights(fit);
  return end;
}

}  // namespace sinew::skeleton
