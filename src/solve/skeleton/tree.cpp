#include "solve/skeleton/tree.h"
#include "core/index.h"

#include <Eigen/Cholesky>
#include <Eigen/Geometry>
#include <limits>

namespace sinew::skeleton {
namespace {

constexpr double kMu = 0.01;  // pull of a joint towards its anchor, relative to its stiffness [§3.5.2]

// Rigid parts blend nowhere: those side by side count as if they did, more than what is blended by chance.
constexpr double kSideBySide = 0.01;  // vertices
constexpr double kStillBeside = 0.1;  // squared distance of their middles from which on less; the radius is 1

/// Puts the bones of a state into a new order: order[i] is the old number of new bone i. Sums follow unless stale.
void reorder_bones(FitState& state, const std::vector<int>& order) {
  const Eigen::MatrixXd D = state.D;
  std::vector<std::uint16_t> number(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    state.D.middleCols<4>(4 * static_cast<Eigen::Index>(i)) = D.middleCols<4>(4 * order[i]);
    number[at(order[i])] = static_cast<std::uint16_t>(i);
  }
  SparseWeights& w = state.weights;
  for (std::size_t v = 0; v < w.vertex_count(); ++v)
    for (std::size_t k = w.slot(v); k < w.slot(v) + w.count[v]; ++k) w.bone[k] = number[w.bone[k]];
  if (state.sums.S.cols() != D.cols()) return;
  const WeightSums sums = state.sums;
  for (std::size_t i = 0; i < order.size(); ++i) {
    state.sums.C.middleCols<4>(4 * static_cast<Eigen::Index>(i)) = sums.C.middleCols<4>(4 * order[i]);
    for (std::size_t k = 0; k < order.size(); ++k)
      state.sums.S.block<4, 4>(4 * static_cast<Eigen::Index>(i), 4 * static_cast<Eigen::Index>(k)) =
          sums.S.block<4, 4>(4 * order[i], 4 * order[k]);
  }
}

}  // namespace

Eigen::Matrix3Xd bone_centroids(const FitState& state, const Problem& problem) {
  Eigen::Matrix3Xd sum = Eigen::Matrix3Xd::Zero(3, state.bones());
  Eigen::VectorXd mass = Eigen::VectorXd::Constant(state.bones(), 1e-30);
  const SparseWeights& w = state.weights;
  for (std::size_t v = 0; v < w.vertex_count(); ++v)
    for (std::size_t k = w.slot(v); k < w.slot(v) + w.count[v]; ++k) {
      sum.col(w.bone[k]) += static_cast<double>(w.value[k]) * problem.rest().col(static_cast<Eigen::Index>(v));
      mass[w.bone[k]] += static_cast<double>(w.value[k]);
    }
  return sum * mass.cwiseInverse().asDiagonal();
}

Eigen::Vector3d joint_anchor(const FitState& state, const Eigen::Matrix3Xd& centroid, int j, int k) {
  const Eigen::Vector3d between = 0.5 * (centroid.col(j) + centroid.col(k));
  const double prior = 0.25;  // of a vertex: bones that hardly touch have no region to speak of
  const Eigen::Vector3d moment = state.sums.S.block<3, 1>(4 * j, 4 * k + 3);  // Σ w_j w_k u
  return (moment + prior * between) / (blend(state.sums, j, k) + prior);
}

JointFit fit_joint(const Eigen::MatrixXd& D, const Eigen::Vector3d& anchor, int j, int k) {
  const Eigen::MatrixXd difference = D.middleCols<4>(4 * j) - D.middleCols<4>(4 * k);
  const auto A = difference.leftCols<3>();
  const auto t = difference.col(3);
  const Eigen::Matrix3d N = A.transpose() * A;
  const double pull = kMu * N.trace() / 3 + 1e-12;
  const Eigen::Vector3d c =
      (N + pull * Eigen::Matrix3d::Identity()).ldlt().solve(Eigen::Vector3d(pull * anchor - A.transpose() * t));
  return {c, (A * c + t).squaredNorm()};
}

std::vector<TreeEdge> spanning_tree(const FitState& state, const Problem& problem) {
  const int B = state.bones();
  const Eigen::Matrix3Xd centroid = bone_centroids(state, problem);
  // Bones that move alike have no joint error to speak of: below this the one that blends most wins.
  const double floor = 1e-8 * static_cast<double>(problem.frame_count());
  std::vector<double> cost(at(B), std::numeric_limits<double>::infinity());
  std::vector<TreeEdge> best(at(B), TreeEdge{-1, -1, Eigen::Vector3d::Zero()});
  std::vector<bool> in_tree(at(B), false);
  int newest = 0;
  for (int b = 1; b < B; ++b)
    if (blend(state.sums, b, b) > blend(state.sums, newest, newest)) newest = b;
  in_tree[at(newest)] = true;
  std::vector<TreeEdge> edges;
  for (int step = 1; step < B; ++step) {
    for (int b = 0; b < B; ++b) {
      if (in_tree[at(b)]) continue;
      const JointFit fit = fit_joint(state.D, joint_anchor(state, centroid, newest, b), newest, b);
      const double apart = (centroid.col(newest) - centroid.col(b)).squaredNorm();
      const double touch = blend(state.sums, newest, b) + kSideBySide * kStillBeside / (kStillBeside + apart);
      const double g = (fit.error + floor) / touch;  // eq. 3.5
      if (g < cost[at(b)]) {
        cost[at(b)] = g;
        best[at(b)] = {newest, b, fit.position};
      }
    }
    newest = -1;
    for (int b = 0; b < B; ++b)
      if (!in_tree[at(b)] && (newest < 0 || cost[at(b)] < cost[at(newest)])) newest = b;
    in_tree[at(newest)] = true;
    edges.push_back(best[at(newest)]);
  }
  return edges;
}

std::vector<TreeEdge> directed_edges(const std::vector<TreeEdge>& edges, int root) {
  std::vector<TreeEdge> out;
  std::vector<bool> used(edges.size(), false);
  const auto visit = [&](auto&& self, int bone) -> void {
    for (std::size_t e = 0; e < edges.size(); ++e) {
      if (used[e] || (edges[e].from != bone && edges[e].to != bone)) continue;
      used[e] = true;
      const int other = edges[e].from == bone ? edges[e].to : edges[e].from;
      out.push_back({bone, other, edges[e].joint});
      self(self, other);
    }
  };
  visit(visit, root);
  return out;
}

std::vector<TreeEdge> edges_of(const JointTree& tree) {
  std::vector<TreeEdge> out;
  for (int b = 0; b < tree.bones(); ++b)
    if (tree.parent[at(b)] >= 0) out.push_back({tree.parent[at(b)], b, tree.joint.col(b)});
  return out;
}

JointTree adopt_edges(const std::vector<TreeEdge>& edges, FitState& state) {
  std::vector<int> order{edges.empty() ? 0 : edges.front().from};
  for (const TreeEdge& edge : edges) order.push_back(edge.to);
  std::vector<int> number(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) number[at(order[i])] = static_cast<int>(i);
  JointTree tree{std::vector<int>(order.size(), -1),
                 Eigen::Matrix3Xd::Zero(3, static_cast<Eigen::Index>(order.size()))};
  for (const TreeEdge& edge : edges) {
    tree.parent[at(number[at(edge.to)])] = number[at(edge.from)];
    tree.joint.col(number[at(edge.to)]) = edge.joint;
  }
  reorder_bones(state, order);
  return tree;
}

}  // namespace sinew::skeleton
