#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "solve/bone_search.h"
#include "solve/skeleton_rigging.h"

namespace sinew {
namespace {

constexpr double kJointPull = 1e-4;  // of a joint towards its anchor, relative to its stiffness
constexpr double kFarthest = 3;      // a joint from the centre of the rest pose, whose radius is 1
constexpr double kConverged = 5e-4;  // stop when E_RMS fell by less than this share over kWindow rounds
constexpr std::size_t kWindow = 6;

std::size_t at(int b) {
  return static_cast<std::size_t>(b);
}

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

Eigen::Matrix3Xd anchors_of(const Rigging& rig) {
  const Eigen::Matrix3Xd centroid = bone_centroids(rig.state, *rig.problem);
  Eigen::Matrix3Xd anchor = rig.tree.joint;
  for (int b = 0; b < rig.tree.bones(); ++b)
    if (const int p = rig.tree.parent[at(b)]; p >= 0) anchor.col(b) = joint_anchor(rig.state, centroid, p, b);
  return anchor;
}

/// Joints between bones that turn alike and shift against each other would have to be far away, where the least turn is
/// a shift: no place for a joint, nor one that floats can hold.
void keep_near(JointTree& tree) {
  for (int b = 0; b < tree.bones(); ++b)
    if (const double away = tree.joint.col(b).norm(); tree.parent[at(b)] >= 0 && away > kFarthest)
      tree.joint.col(b) *= kFarthest / away;
}

/// Rotations, joints, rotations again for the sums of the current weights.
void strict_round(Rigging& rig, JointPoses& poses, int steps) {
  const int threads = rig.problem->threads();
  const WeightSums& sums = rig.state.sums;
  const std::vector<Eigen::Matrix3Xd> C = full_products(*rig.problem, sums);
  std::vector<RotationFactor> kept;
  update_rotations(rig.tree, sums.S, C, steps, threads, poses, &kept);
  if (!rig.joints_stay) {
    update_joints(sums.S, C, anchors_of(rig), kJointPull, rig.tree, poses);
    keep_near(rig.tree);
    rig.symmetry.apply_to(rig.tree.joint);
    update_rotations(rig.tree, sums.S, C, 1, threads, poses, &kept);
  }
  set_frames(*rig.problem, transforms_of(rig.tree, poses), rig.state.D);
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

void strict_rounds(Rigging& rig, int rounds, int steps) {
  JointPoses poses = poses_of(frames_of(*rig.problem, rig.state.D));
  for (int i = 0; i < rounds; ++i) {
    strict_round(rig, poses, i == 0 ? steps : 2);
    update_weights(rig);
  }
}

double settle_tree(Rigging& rig, int rounds) {
  const WeightSums& sums = rig.state.sums;
  const std::vector<Eigen::Matrix3Xd> C = full_products(*rig.problem, sums);
  const Eigen::Matrix3Xd anchor = anchors_of(rig);
  JointPoses poses = poses_of(frames_of(*rig.problem, rig.state.D));
  for (int i = 0; i < rounds; ++i) {
    update_rotations(rig.tree, sums.S, C, 2, rig.problem->threads(), poses);
    update_joints(sums.S, C, anchor, kJointPull, rig.tree, poses);
    keep_near(rig.tree);
  }
  update_rotations(rig.tree, sums.S, C, 2, rig.problem->threads(), poses);
  const std::vector<Eigen::Matrix3Xd> T = transforms_of(rig.tree, poses);
  set_frames(*rig.problem, T, rig.state.D);
  double value = 0;
  for (std::size_t f = 0; f < T.size(); ++f) value += gram_objective(T[f], sums.S, C[f]);
  return value;
}

void contract_bone(Rigging& rig, int b) {
  const std::vector<TreeEdge> old = edges_of(rig.tree);
  int heir = -1;
  for (const TreeEdge& edge : old)
    if (edge.from == b || edge.to == b) {
      const int other = edge.from == b ? edge.to : edge.from;
      if (heir < 0 || blend(rig.state.sums, other, b) > blend(rig.state.sums, heir, b)) heir = other;
    }
  const auto renumbered = [&](int k) {
    const int kept = k == b ? heir : k;
    return kept > b ? kept - 1 : kept;
  };
  std::vector<TreeEdge> edges;
  for (const TreeEdge& edge : old)
    if (renumbered(edge.from) != renumbered(edge.to))
      edges.push_back({renumbered(edge.from), renumbered(edge.to), edge.joint});
  remove_bone(rig.state, b);
  rig.tree = adopt_edges(directed_edges(edges, renumbered(0)), rig.state);
  update_weights(rig);
}

void shrink_to(Rigging& rig, int most) {
  constexpr std::size_t kTried = 3;
  while (rig.state.bones() > most) {
    const std::vector<double> costs =
        removal_costs(*rig.problem, bone_gram(*rig.problem, rig.state.D), rig.state.weights);
    std::vector<int> order(costs.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int x, int y) { return costs[at(x)] < costs[at(y)]; });
    // What the weights lose is only half of it: a bone without vertices may be what lets its children move.
    Rigging best;
    for (std::size_t i = 0; i < std::min(kTried, order.size()); ++i) {
      Rigging tried = rig;
      contract_bone(tried, order[i]);
      strict_rounds(tried, 1, 3);
      if (tried.state.squares < best.state.squares) best = std::move(tried);
    }
    rig = std::move(best);
    strict_rounds(rig, 1, 2);
  }
}

void grow_by(Rigging& rig, int count, std::uint64_t seed) {
  constexpr int kCandidates = 12;
  for (const ProposedBone& bone : propose_jointed(rig, count, kCandidates, seed)) {
    add_bones(rig.state, bone.motion);
    rig.tree.parent.push_back(bone.parent);
    rig.tree.joint.conservativeResize(3, rig.state.bones());
    rig.tree.joint.rightCols<1>() = bone.joint;
  }
  update_weights(rig);
  strict_rounds(rig, 1, 4);
}

bool converge(Rigging& rig, int rounds, const RoundDone& done) {
  std::vector<double> errors;
  JointPoses poses = poses_of(frames_of(*rig.problem, rig.state.D));
  JointPoses before = poses;
  Eigen::Matrix3Xd joint_before = rig.tree.joint;
  double momentum = 1;
  FitState best = rig.state;
  JointTree best_tree = rig.tree;
  bool go_on = true;
  for (int i = 0; i < rounds && go_on; ++i) {
    strict_round(rig, poses, i == 0 ? 6 : 2);
    rig.state.squares = objective(*rig.problem, rig.state.sums, rig.state.D);
    if (rig.state.squares < best.squares) {
      best = rig.state;
      best_tree = rig.tree;
    } else if (momentum > 1) {
      rig.state = best;
      rig.tree = best_tree;
      momentum = 1;
      poses = poses_of(frames_of(*rig.problem, rig.state.D));
      before = poses;
      joint_before = rig.tree.joint;
      update_weights(rig);
      continue;
    }
    errors.push_back(rig.problem->e_rms(best.squares));
    go_on = !done || done(errors.back());
    if (errors.size() > kWindow && errors[errors.size() - 1 - kWindow] - errors.back() <= kConverged * errors.back())
      break;
    const double next = 0.5 * (1 + std::sqrt(1 + 4 * momentum * momentum));
    const JointPoses reached = poses;
    const Eigen::Matrix3Xd joint_reached = rig.tree.joint;
    extrapolate((momentum - 1) / next, before, joint_before, poses, rig.tree.joint);
    before = reached;
    joint_before = joint_reached;
    momentum = next;
    set_frames(*rig.problem, transforms_of(rig.tree, poses), rig.state.D);
    update_weights(rig);
  }
  rig.state = best;
  rig.tree = best_tree;
  update_weights(rig);
  return go_on;
}

}  // namespace sinew
