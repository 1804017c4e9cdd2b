#include "solve/skeleton/propose.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <Eigen/Cholesky>

#include "core/index.h"
#include "math/rotation.h"
#include "solve/lbs/bone_moves.h"

// Bones worth adding to a tree. A patch that the skeleton follows badly gets the rotations about a point fixed on a
// bone nearby that fit it best: a free rigid fit would promise what no joint can keep.
namespace sinew::skeleton {
namespace {

/// Gram products of a patch whose vertices all have weight 1: Σ u uᵀ (4×4) and Σ v uᵀ (3F×4).
struct PatchSums {
  Eigen::Matrix4d S;
  Eigen::MatrixXd C;
};

PatchSums sums_of(const Problem& problem, const std::vector<Index>& patch) {
  const Problem part = problem.sample(patch);
  SparseWeights weights(patch.size(), 1);
  std::fill(weights.count.begin(), weights.count.end(), std::uint16_t{1});
  std::fill(weights.value.begin(), weights.value.end(), 1.0F);
  PassOptions pass;
  pass.influences = 1;
  pass.keep_weights = true;
  WeightSums sums;
  const Eigen::MatrixXd still = Eigen::MatrixXd::Zero(problem.common().rows(), 4);
  weights_pass(part, bone_gram(part, still), pass, weights, sums);
  return {sums.S, sums.C + problem.common() * sums.S};
}

/// The bone with the most weight in the patch.
int owner_of(const SparseWeights& w, const std::vector<Index>& patch, int bones) {
  std::vector<double> share(at(bones), 0);
  for (const Index v : patch)
    for (std::size_t k = w.slot(v); k < w.slot(v) + w.count[v]; ++k) share[w.bone[k]] += w.value[k];
  return static_cast<int>(std::max_element(share.begin(), share.end()) - share.begin());
}

/// Rotations R_f about a point c of the parent that follow the patch best: alternates Kabsch and a 3×3 system.
Eigen::MatrixXd jointed_fit(const PatchSums& patch, const Eigen::MatrixXd& parent, Eigen::Vector3d& c) {
  const double n = patch.S(3, 3);
  const Eigen::Vector3d sum = patch.S.topRightCorner<3, 1>();
  Eigen::MatrixXd T = parent;
  for (int round = 0; round < 4; ++round) {
    Eigen::Matrix3d N = Eigen::Matrix3d::Zero();
    Eigen::Vector3d r = Eigen::Vector3d::Zero();
    for (Eigen::Index f = 0; f < T.rows(); f += 3) {
      const Eigen::Matrix3d P = parent.block<3, 3>(f, 0);
      const Eigen::Vector3d t = parent.block<3, 1>(f, 3);
      const Eigen::Vector3d held = P * c + t;
      const Eigen::Matrix3d K =
          patch.C.block<3, 3>(f, 0) - patch.C.block<3, 1>(f, 3) * c.transpose() - held * (sum - n * c).transpose();
      const Eigen::Matrix3d R = closest_rotation(K, T.block<3, 3>(f, 0));
      T.block<3, 3>(f, 0) = R;
      const Eigen::Matrix3d A = P - R;
      N += n * A.transpose() * A;
      r += A.transpose() * (patch.C.block<3, 1>(f, 3) - R * sum - n * t);
    }
    const double pull = 0.01 * N.trace() / 3 + 1e-12;
    c = (N + pull * Eigen::Matrix3d::Identity()).ldlt().solve(Eigen::Vector3d(r + pull * c));
  }
  for (Eigen::Index f = 0; f < T.rows(); f += 3)
    T.block<3, 1>(f, 3) = parent.block<3, 1>(f, 3) + (parent.block<3, 3>(f, 0) - T.block<3, 3>(f, 0)) * c;
  return T;
}

}  // namespace

std::vector<ProposedBone> propose_jointed(const SkeletonFit& fit, int count, int candidates, std::uint64_t seed) {
  const Problem& problem = *fit.problem;
  const FitState& state = fit.state;
  std::mt19937_64 random(seed);
  std::vector<double> cumulative(problem.vertex_count());
  double sum = 0;
  for (std::size_t v = 0; v < cumulative.size(); ++v) cumulative[v] = sum += state.sums.residual[v];
  const double share = static_cast<double>(problem.vertex_count()) / state.bones();
  std::vector<ProposedBone> proposed;
  Eigen::MatrixXd motions(state.D.rows(), 4 * candidates * count);
  for (int i = 0; i < candidates * count; ++i) {
    const double where = sum * std::generate_canonical<double, 53>(random);
    const auto v = std::min<std::size_t>(
        static_cast<std::size_t>(std::lower_bound(cumulative.begin(), cumulative.end(), where) - cumulative.begin()),
        cumulative.size() - 1);
    const double size = share * std::exp2(1 - 4.0 * std::generate_canonical<double, 53>(random));
    const std::vector<Index> patch = patch_around(problem, v, static_cast<std::size_t>(std::max(6.0, size)));
    const int parent = owner_of(state.weights, patch, state.bones());
    const PatchSums sums = sums_of(problem, patch);
    Eigen::Vector3d joint = sums.S.topRightCorner<3, 1>() / sums.S(3, 3);
    const Eigen::MatrixXd carried = state.D.middleCols<4>(4 * parent) + problem.common();
    motions.middleCols<4>(4 * i) = jointed_fit(sums, carried, joint) - problem.common();
    proposed.push_back({parent, joint, motions.middleCols<4>(4 * i)});
  }
  const std::vector<double> gains = addition_gains(problem, state.D, state.weights, motions);
  // Best of its own batch each: candidates of one batch compete, batches add up.
  std::vector<ProposedBone> chosen;
  for (int i = 0; i < count; ++i) {
    const auto first = gains.begin() + i * candidates;
    chosen.push_back(proposed[static_cast<std::size_t>(std::max_element(first, first + candidates) - gains.begin())]);
  }
  return chosen;
}

}  // namespace sinew::skeleton
