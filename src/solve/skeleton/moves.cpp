#include "solve/skeleton/moves.h"

#include <algorithm>
#include <numeric>

#include "core/index.h"
#include "solve/skeleton/propose.h"
#include "solve/skeleton/strict.h"
#include "solve/skeleton/tree.h"

namespace sinew::skeleton {

namespace {

/// Bones below the edge that ends at b, b included.
std::vector<bool> below(const JointTree& tree, int b) {
  std::vector<bool> inside(at(tree.bones()), false);
  inside[at(b)] = true;
  for (int k = b + 1; k < tree.bones(); ++k) inside[at(k)] = inside[at(tree.parent[at(k)])];
  return inside;
}

/// Other edges across the cut that the edge above b makes, the likeliest by eq. 3.5 first.
std::vector<TreeEdge> other_edges(const SkeletonFit& fit, int b, std::size_t most) {
  const Eigen::Matrix3Xd centroid = bone_centroids(fit.state, *fit.problem);
  const std::vector<bool> inside = below(fit.tree, b);
  std::vector<std::pair<double, TreeEdge>> order;
  for (int j = 0; j < fit.tree.bones(); ++j)
    for (int k = 0; k < fit.tree.bones(); ++k) {
      if (inside[at(j)] || !inside[at(k)] || (k == b && j == fit.tree.parent[at(b)])) continue;
      const double touch = blend(fit.state.sums, j, k);
      if (touch < 1e-3) continue;
      const JointFit found = fit_joint(fit.state.D, joint_anchor(fit.state, centroid, j, k), j, k);
      order.push_back({found.error / touch, {j, k, found.position}});
    }
  std::sort(order.begin(), order.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  std::vector<TreeEdge> out;
  for (std::size_t i = 0; i < std::min(most, order.size()); ++i) out.push_back(order[i].second);
  return out;
}

/// Of the neighbours of b in the tree, that which it blends with most.
int heir_of(const SkeletonFit& fit, int b) {
  int heir = -1;
  for (const TreeEdge& edge : edges_of(fit.tree))
    if (edge.from == b || edge.to == b) {
      const int other = edge.from == b ? edge.to : edge.from;
      if (heir < 0 || blend(fit.state.sums, other, b) > blend(fit.state.sums, heir, b)) heir = other;
    }
  return heir;
}

/// Without bone b, whose neighbours join another, each keeping its joint. Weights and sums are stale.
void take_out(SkeletonFit& fit, int b, int heir) {
  const auto renumbered = [&](int k) {
    const int kept = k == b ? heir : k;
    return kept > b ? kept - 1 : kept;
  };
  std::vector<TreeEdge> edges;
  for (const TreeEdge& edge : edges_of(fit.tree))
    if (renumbered(edge.from) != renumbered(edge.to))
      edges.push_back({renumbered(edge.from), renumbered(edge.to), edge.joint});
  remove_bone(fit.state, b);
  fit.tree = adopt_edges(directed_edges(edges, renumbered(0)), fit.state);
}

void give_weights(SparseWeights& w, int from, int to) {
  for (std::size_t v = 0; v < w.vertex_count(); ++v) {
    const auto first = w.bone.begin() + static_cast<std::ptrdiff_t>(w.slot(v));
    const auto giver = std::find(first, first + w.count[v], from);
    const auto taker = std::find(first, first + w.count[v], to);
    if (giver == first + w.count[v]) continue;
    if (taker == first + w.count[v])
      *giver = static_cast<std::uint16_t>(to);
    else
      w.value[static_cast<std::size_t>(taker - w.bone.begin())] +=
          w.value[static_cast<std::size_t>(giver - w.bone.begin())];
  }
}

}  // namespace

void contract_bone(SkeletonFit& fit, int b) {
  take_out(fit, b, heir_of(fit, b));
  update_weights(fit);
}

void contract_bones(SkeletonFit& fit, int count, const std::function<int(const SkeletonFit&)>& next) {
  for (int i = 0; i < count; ++i) contract_bone(fit, next(fit));
}

void merge_bone(SkeletonFit& fit, int b) {
  constexpr int kRounds = 6;
  const int heir = heir_of(fit, b);
  give_weights(fit.state.weights, b, heir);
  take_out(fit, b, heir);
  sum_up(fit);
  settle_tree(fit, kRounds);
  update_weights(fit);
}

void shrink_to(SkeletonFit& fit, int most) {
  constexpr std::size_t kTried = 3;
  while (fit.state.bones() > most) {
    const std::vector<double> costs =
        removal_costs(*fit.problem, bone_gram(*fit.problem, fit.state.D), fit.state.weights);
    std::vector<int> order(costs.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int x, int y) { return costs[at(x)] < costs[at(y)]; });
    // What the weights lose is only half of it: a bone without vertices may be what lets its children move.
    SkeletonFit best;
    for (std::size_t i = 0; i < std::min(kTried, order.size()); ++i) {
      SkeletonFit tried = fit;
      contract_bone(tried, order[i]);
      strict_rounds(tried, 1, 3);
      if (tried.state.squares < best.state.squares) best = std::move(tried);
    }
    fit = std::move(best);
    strict_rounds(fit, 1, 2);
  }
}

void grow_by(SkeletonFit& fit, int count, std::uint64_t seed) {
  constexpr int kCandidates = 12;
  for (const ProposedBone& bone : propose_jointed(fit, count, kCandidates, seed)) {
    add_bones(fit.state, bone.motion);
    fit.tree.parent.push_back(bone.parent);
    fit.tree.joint.conservativeResize(3, fit.state.bones());
    fit.tree.joint.rightCols<1>() = bone.joint;
  }
  update_weights(fit);
  strict_rounds(fit, 1, 4);
}

int exchange_edges(SkeletonFit& fit) {
  constexpr double kWorthIt = 1e-3;  // of the squared error
  constexpr double kHopeless = 3;    // times the squared error more, with joints alone, is not looked at further,
  constexpr double kSmall = 0.5;     // if it is more than this E_RMS: less may be made up for by rotations
  int exchanged = 0;
  // Squared errors but for a constant; a bone outside costs what it makes of the whole.
  const double whole = fit.state.squares;
  const auto priced = [&](const SkeletonFit& hung, double left) {
    const double times = surcharge(hung);
    return left + (times * times - 1) * whole;
  };
  double value = settle_tree(fit, 2);
  double price = priced(fit, value);
  const double small = kSmall / std::max(fit.e_rms(), 1e-6);
  const double surplus = std::max(kHopeless, small * small) * fit.state.squares;
  for (int b = 1; b < fit.tree.bones(); ++b) {
    for (const TreeEdge& other : other_edges(fit, b, 3)) {
      std::vector<TreeEdge> edges;
      for (const TreeEdge& edge : edges_of(fit.tree))
        if (edge.to != b) edges.push_back(edge);
      edges.push_back(other);
      SkeletonFit tried = fit;
      tried.tree = adopt_edges(directed_edges(edges, 0), tried.state);
      const double reached = settle_tree(tried, 3, value + surplus);
      if (const double asked = priced(tried, reached); asked < price - kWorthIt * whole) {
        value = reached;
        price = asked;
        fit = std::move(tried);
        ++exchanged;
        break;
      }
    }
  }
  fit.state.squares = objective(*fit.problem, fit.state.sums, fit.state.D);
  return exchanged;
}

void loosen(SkeletonFit& fit) {
  constexpr int kMore = 3;
  const int influences = fit.influences;
  fit.state.weights = with_capacity(fit.state.weights, influences + kMore);
  for (int more = kMore; more >= 0; --more) {
    fit.influences = influences + more;
    strict_rounds(fit, 3, 2);
  }
  fit.state.weights = with_capacity(fit.state.weights, influences);
}

}  // namespace sinew::skeleton
