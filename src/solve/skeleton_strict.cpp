#include <algorithm>
#include <cmath>

#include "sinew/math/rotation.h"
#include "solve/bone_search.h"
#include "solve/skeleton_rigging.h"

namespace sinew {
namespace {

constexpr double kJointPull = 1e-4;  // of a joint towards its anchor, relative to its stiffness
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

/// One round under strict joints for the sums of the current weights: rotations, joints, rotations again, weights.
void strict_round(Rigging& rig, JointPoses& poses, int steps) {
  const int threads = rig.problem.threads();
  const WeightSums& sums = rig.state.sums;
  const std::vector<Eigen::Matrix3Xd> C = full_products(rig.problem, sums);
  update_rotations(rig.tree, sums.S, C, steps, threads, poses);
  const Eigen::Matrix3Xd centroid = bone_centroids(rig.state, rig.problem);
  Eigen::Matrix3Xd anchor = rig.tree.joint;
  for (int b = 0; b < rig.tree.bones(); ++b)
    if (const int p = rig.tree.parent[at(b)]; p >= 0) anchor.col(b) = joint_anchor(rig.state, centroid, p, b);
  update_joints(sums.S, C, anchor, kJointPull, rig.tree, poses);
  update_rotations(rig.tree, sums.S, C, 1, threads, poses);
  set_frames(rig.problem, transforms_of(rig.tree, poses), rig.state.D);
}

void strict_rounds(Rigging& rig, int rounds, int steps) {
  JointPoses poses = poses_of(frames_of(rig.problem, rig.state.D));
  for (int i = 0; i < rounds; ++i) {
    strict_round(rig, poses, i == 0 ? steps : 2);
    update_weights(rig, rig.options.influences, rig.options.final_smoothness);
  }
}

/// a + beta · (a − b), rotations brought back to rotations.
void extrapolate(double beta, const JointPoses& before, const Eigen::Matrix3Xd& joint_before, JointPoses& poses,
                 Eigen::Matrix3Xd& joint) {
  for (std::size_t f = 0; f < poses.frames(); ++f)
    for (Eigen::Index b = 0; b < poses.rotation[f].cols() / 3; ++b) {
      const Eigen::Matrix3d R = poses.rotation[f].middleCols<3>(3 * b);
      const Eigen::Matrix3d ahead = R + beta * (R - before.rotation[f].middleCols<3>(3 * b));
      poses.rotation[f].middleCols<3>(3 * b) = closest_rotation(ahead, R);
    }
  poses.root += beta * (poses.root - before.root);
  joint += beta * (joint - joint_before);
}

/// Takes bone b out of the tree: its neighbours join the one it blends with most, each keeping its joint.
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
  update_weights(rig, rig.options.influences, rig.options.final_smoothness);
}

/// Takes away the bones that cost least until `most` are left, two rounds after each.
void shrink_to(Rigging& rig, int most) {
  while (rig.state.bones() > most) {
    const std::vector<double> costs =
        removal_costs(rig.problem, bone_gram(rig.problem, rig.state.D), rig.state.weights);
    contract_bone(rig, static_cast<int>(std::min_element(costs.begin(), costs.end()) - costs.begin()));
    strict_rounds(rig, 2, 3);
  }
}

/// Adds bones where they gain most, each jointed to the bone it blends with most.
void grow_by(Rigging& rig, int count, std::uint64_t seed) {
  const int before = rig.state.bones();
  const Eigen::MatrixXd motions = propose_bones(rig.problem, rig.state, count, Transforms::rigid, seed);
  add_bones(rig.state, motions);
  update_weights(rig, rig.options.influences, rig.options.final_smoothness);
  const Eigen::Matrix3Xd centroid = bone_centroids(rig.state, rig.problem);
  rig.tree.joint.conservativeResize(3, rig.state.bones());
  for (int b = before; b < rig.state.bones(); ++b) {
    int parent = 0;
    for (int k = 1; k < b; ++k)
      if (blend(rig.state.sums, b, k) > blend(rig.state.sums, b, parent)) parent = k;
    rig.tree.parent.push_back(parent);
    rig.tree.joint.col(b) = fit_joint(rig.state.D, joint_anchor(rig.state, centroid, parent, b), parent, b).position;
  }
  strict_rounds(rig, 1, 8);
}

/// Alternates under strict joints with Nesterov extrapolation of rotations and joints, restarted when the error would
/// rise, until nothing is gained; `record` notes each error. False: asked to stop.
template <class Record>
bool converge(Rigging& rig, int rounds, const Record& record) {
  std::vector<double> errors;
  JointPoses poses = poses_of(frames_of(rig.problem, rig.state.D));
  JointPoses before = poses;
  Eigen::Matrix3Xd joint_before = rig.tree.joint;
  double momentum = 1;
  FitState best = rig.state;
  JointTree best_tree = rig.tree;
  bool go_on = true;
  for (int i = 0; i < rounds && go_on; ++i) {
    strict_round(rig, poses, i == 0 ? 6 : 2);
    rig.state.squares = objective(rig.problem, rig.state.sums, rig.state.D);
    if (rig.state.squares < best.squares) {
      best = rig.state;
      best_tree = rig.tree;
    } else if (momentum > 1) {
      rig.state = best;
      rig.tree = best_tree;
      momentum = 1;
      poses = poses_of(frames_of(rig.problem, rig.state.D));
      before = poses;
      joint_before = rig.tree.joint;
      update_weights(rig, rig.options.influences, rig.options.final_smoothness);
      continue;
    }
    errors.push_back(rig.problem.e_rms(best.squares));
    go_on = record(errors.back());
    if (errors.size() > kWindow && errors[errors.size() - 1 - kWindow] - errors.back() <= kConverged * errors.back())
      break;
    const double next = 0.5 * (1 + std::sqrt(1 + 4 * momentum * momentum));
    const JointPoses reached = poses;
    const Eigen::Matrix3Xd joint_reached = rig.tree.joint;
    extrapolate((momentum - 1) / next, before, joint_before, poses, rig.tree.joint);
    before = reached;
    joint_before = joint_reached;
    momentum = next;
    set_frames(rig.problem, transforms_of(rig.tree, poses), rig.state.D);
    update_weights(rig, rig.options.influences, rig.options.final_smoothness);
  }
  rig.state = best;
  rig.tree = best_tree;
  update_weights(rig, rig.options.influences, rig.options.final_smoothness);
  return go_on;
}

}  // namespace

bool strict_rigging(Rigging& rig, FitReport& fit, const Progress& progress) {
  const double start = now_seconds();
  const SkeletonOptions& options = rig.options;
  double share = 0;
  const auto record = [&](double error) {
    fit.iterations.push_back({error, now_seconds() - start});
    return report(progress, "strict joints", share);
  };
  strict_rounds(rig, 1, 12);
  if (options.max_bones > 0) shrink_to(rig, options.max_bones);
  if (!converge(rig, options.strict_iterations, record)) return false;
  const int bones = rig.state.bones();
  for (int move = 0; move < options.moves && bones > 1; ++move) {
    share = static_cast<double>(move + 1) / (options.moves + 1);
    Rigging tried = rig;
    grow_by(tried, std::max(1, bones / 8), options.seed + static_cast<std::uint64_t>(move));
    strict_rounds(tried, 3, 2);
    shrink_to(tried, bones);
    if (!converge(tried, options.strict_iterations / 4,
                  [&](double) { return report(progress, "strict joints", share); }))
      return false;
    if (tried.e_rms() < rig.e_rms()) {
      rig.state = std::move(tried.state);
      rig.tree = std::move(tried.tree);
      if (!record(rig.e_rms())) return false;
    }
  }
  fit.termination = Termination::converged;
  return converge(rig, options.strict_iterations, record);
}

}  // namespace sinew
