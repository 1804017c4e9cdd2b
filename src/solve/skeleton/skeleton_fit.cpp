#include "solve/skeleton/skeleton_fit.h"

#include "core/index.h"

namespace sinew::skeleton {

void Symmetry::apply_to(Eigen::Matrix3Xd& joint) const {
  const Eigen::Matrix3Xd before = joint;
  for (std::size_t b = 0; b < partner.size(); ++b)
    if (partner[b] >= 0)
      joint.col(static_cast<Eigen::Index>(b)) =
          0.5 * (before.col(static_cast<Eigen::Index>(b)) + plane.mirrored(before.col(partner[b])));
}

JointTree tree_in(const Problem& problem, const Rig& given) {
  JointTree tree;
  tree.joint.resize(3, static_cast<Eigen::Index>(given.bone_count()));
  for (std::size_t b = 0; b < given.bone_count(); ++b) {
    tree.parent.push_back(given.bones[b].parent);
    tree.joint.col(static_cast<Eigen::Index>(b)) =
        (given.bones[b].head.cast<double>() - problem.scaling().center) * problem.scaling().scale;
  }
  return tree;
}

double outside(const SkeletonFit& fit, int b) {
  constexpr int kPoints = 8;
  if (fit.body == nullptr || fit.tree.bones() != fit.state.bones()) return 0;
  const int p = fit.tree.parent[at(b)];
  if (p <= 0) return 0;  // what the root has for a joint is for display only
  int looks = 0;
  for (int i = 1; i < kPoints; ++i) {
    const double share = static_cast<double>(i) / kPoints;
    if (!fit.body->roughly_holds((1 - share) * fit.tree.joint.col(p) + share * fit.tree.joint.col(b))) ++looks;
  }
  return static_cast<double>(looks) / (kPoints - 1);
}

double surcharge(const SkeletonFit& fit) {
  double bones = fit.state.bones();
  for (int b = 0; b < fit.state.bones(); ++b) bones += outside(fit, b);
  return bones / fit.state.bones();
}

void sum_up(SkeletonFit& fit) {
  PassOptions pass;
  pass.keep_weights = true;
  weights_pass(*fit.problem, bone_gram(*fit.problem, fit.state.D), pass, fit.state.weights, fit.state.sums);
  fit.state.squares = fit.state.sums.squares;
}

void update_weights(SkeletonFit& fit) {
  PassOptions pass;
  pass.influences = fit.influences;
  pass.swap_period = fit.swap_period;
  pass.phase = fit.phase++;
  if (fit.edges != nullptr) pass.smoothing = {fit.smoothness, fit.edges};
  weights_pass(*fit.problem, bone_gram(*fit.problem, fit.state.D), pass, fit.state.weights, fit.state.sums);
  fit.state.squares = fit.state.sums.squares;
}

}  // namespace sinew::skeleton
