#include "solve/skeleton/helpers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/index.h"
#include "solve/lbs/bone_search.h"
#include "solve/lbs/bones.h"
#include "solve/lbs/given_rig.h"
#include "solve/lbs/to_rig.h"

namespace sinew::skeleton {
namespace {

constexpr int kHelperRounds = 40;         // of weights, helpers and rotations, at most
constexpr double kHelpersSettled = 1e-3;  // stop when E_RMS fell by less than this share over kHelperWindow rounds
constexpr std::size_t kHelperWindow = 5;
constexpr int kAtATime = 4;  // helpers, of which each sees what the ones before left
constexpr int kBetween = 3;  // rounds after each lot

/// Weights for all bones, free motions for the helpers, rotations about joints that stay for the others.
struct Together {
  const Problem* problem;
  SkeletonFit fit;  // its state has the helpers behind the bones of its tree
  JointPoses poses;

  int helpers() const { return fit.state.bones() - fit.tree.bones(); }

  void round() {
    update_weights(fit);
    FitState& state = fit.state;
    const int B = fit.tree.bones();
    std::vector<std::uint8_t> locked(at(state.bones()), 0);
    std::fill_n(locked.begin(), B, std::uint8_t{1});
    BoneOptions bones;
    bones.locked = locked;
    update_bones(*problem, state.sums, bones, state.D);

    // What the helpers explain is taken off the products of the data.
    const Eigen::Index own = 4 * B;
    const Eigen::Index more = state.D.cols() - own;
    const Eigen::MatrixXd S = state.sums.S.topLeftCorner(own, own);
    Eigen::MatrixXd total = Eigen::MatrixXd::Zero(4, own);
    for (Eigen::Index b = 0; b < state.D.cols() / 4; ++b) total += state.sums.S.block(4 * b, 0, 4, own);
    std::vector<Eigen::Matrix3Xd> C;
    for (std::size_t f = 0; f < problem->frame_count(); ++f) {
      const auto row = 3 * index(f);
      const Eigen::Matrix<double, 3, 4> common = problem->common().middleRows<3>(row);
      const Eigen::Matrix3Xd T = state.D.block(row, own, 3, more) + common.replicate(1, helpers());
      C.emplace_back(state.sums.C.block(row, 0, 3, own) + common * total - T * state.sums.S.block(own, 0, more, own));
    }
    update_rotations(fit.tree, S, C, 2, problem->threads(), poses);
    const std::vector<Eigen::Matrix3Xd> T = transforms_of(fit.tree, poses);
    for (std::size_t f = 0; f < T.size(); ++f) {
      const auto row = 3 * index(f);
      state.D.block(row, 0, 3, own) = T[f] - problem->common().middleRows<3>(row).replicate(1, B);
    }
    state.squares = objective(*problem, state.sums, state.D);
  }
};

/// A finished skeleton, to go on from.
Together start(const Problem& problem, const EdgeWeights& edges, const SkeletonOptions& options, const Rig& rig) {
  Together out{
      &problem, {&problem, &edges, {}, tree_in(problem, rig), options.influences, options.smoothness, 1, 0}, {}};
  out.fit.state.D = motion_in(problem, rig, std::vector<std::uint8_t>(rig.bone_count(), 0), Transforms::rigid);
  out.fit.state.weights = weights_in(rig, options.influences);
  std::vector<Eigen::Matrix3Xd> T;
  for (std::size_t f = 0; f < problem.frame_count(); ++f)
    T.emplace_back(out.fit.state.D.middleRows<3>(3 * index(f)) +
                   problem.common().middleRows<3>(3 * index(f)).replicate(1, out.fit.tree.bones()));
  out.poses = poses_of(T);
  return out;
}

/// The bone before `bones` that sees the helper move least: what it carries, not what it happens to share vertices
/// with.
int calmest_parent(const Rig& rig, std::size_t helper, int bones) {
  Eigen::Matrix<double, 3, 4> points = rig.bones[helper].head.cast<double>().replicate<1, 4>();
  points.leftCols<3>() += reach(rig, helper) * Eigen::Matrix3d::Identity();
  int calmest = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int b = 0; b < bones; ++b) {
    Eigen::Matrix<double, 3, 4> mean = Eigen::Matrix<double, 3, 4>::Zero();
    double squares = 0;
    for (std::size_t f = 0; f < rig.frame_count(); ++f) {
      const Eigen::Matrix<double, 3, 4> P = rig.motion(f, at(b)).cast<double>();
      const Eigen::Matrix<double, 3, 4> H = rig.motion(f, helper).cast<double>();
      const Eigen::Matrix<double, 3, 4> seen =
          P.leftCols<3>().transpose() * (((H.leftCols<3>() * points).colwise() + H.col(3)).colwise() - P.col(3));
      mean += seen;
      squares += seen.squaredNorm();
    }
    squares -= mean.squaredNorm() / static_cast<double>(rig.frame_count());
    if (squares < least) {
      least = squares;
      calmest = b;
    }
  }
  return calmest;
}

}  // namespace

double reach(const Rig& rig, std::size_t bone) {
  const auto K = static_cast<std::size_t>(rig.weights.influences);
  double sum = 0;
  double mass = 1e-30;
  for (std::size_t i = 0; i < rig.weights.values.size(); ++i)
    if (rig.weights.bones[i] == bone) {
      const auto w = static_cast<double>(rig.weights.values[i]);
      sum += w * static_cast<double>((rig.rest.positions.col(index(i / K)) - rig.bones[bone].head).squaredNorm());
      mass += w;
    }
  return std::sqrt(sum / mass);
}

bool add_helpers(const Sequence& sequence, const Problem& problem, const EdgeWeights& edges,
                 const SkeletonOptions& options, const Progress& progress, Rig& rig) {
  Together all = start(problem, edges, options, rig);
  FitState& state = all.fit.state;
  sum_up(all.fit);
  const double shares[] = {1.0, 0.5};
  bool go_on = true;
  while (all.helpers() < options.helpers && go_on) {
    const int count = std::min(kAtATime, options.helpers - all.helpers());
    add_bones(state, propose_bones(problem, state, count, Transforms::rigid, shares, options.seed));
    for (int i = 0; i < kBetween; ++i) all.round();
    sum_up(all.fit);
    go_on = tell(progress, "helpers", 0.5 * all.helpers() / options.helpers);
  }
  std::vector<double> errors;
  for (int i = 0; i < kHelperRounds && go_on; ++i) {
    all.round();
    errors.push_back(all.fit.e_rms());
    go_on = tell(progress, "helpers", 0.5 + 0.5 * (i + 1) / kHelperRounds);
    if (errors.size() > kHelperWindow &&
        errors[errors.size() - 1 - kHelperWindow] - errors.back() <= kHelpersSettled * errors.back())
      break;
  }
  update_weights(all.fit);

  Rig out = to_rig(sequence, problem, state.D, state.weights, Transforms::rigid, options.influences);
  out.jointed = true;
  std::copy(rig.bones.begin(), rig.bones.end(), out.bones.begin());
  const int B = all.fit.tree.bones();
  for (int h = B; h < state.bones(); ++h) {
    Bone& helper = out.bones[at(h)];
    helper.name = fmt::format("helper_{}", h - B + 1);
    helper.helper = true;
    helper.parent = calmest_parent(out, at(h), B);
  }
  out.notes = rig.notes;
  rig = std::move(out);
  return go_on;
}

}  // namespace sinew::skeleton
