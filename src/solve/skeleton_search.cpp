#include <algorithm>
#include <array>
#include <random>

#include "solve/bone_search.h"
#include "solve/skeleton_rigging.h"

namespace sinew {
namespace {

constexpr int kSettle = 8;       // rounds after a move before it is judged, and once more where it comes near
constexpr double kNear = 0.04;   // E_RMS above the best that is worth those
constexpr double kSlack = 0.03;  // E_RMS above the best from which moves go on, at first; falls to 0

std::size_t at(int b) {
  return static_cast<std::size_t>(b);
}

/// Bones below the edge that ends at b, b included.
std::vector<bool> below(const JointTree& tree, int b) {
  std::vector<bool> inside(at(tree.bones()), false);
  inside[at(b)] = true;
  for (int k = b + 1; k < tree.bones(); ++k) inside[at(k)] = inside[at(tree.parent[at(k)])];
  return inside;
}

/// Other edges across the cut that the edge above b makes, the likeliest by eq. 3.5 first.
std::vector<TreeEdge> other_edges(const Rigging& rig, int b, std::size_t most) {
  const Eigen::Matrix3Xd centroid = bone_centroids(rig.state, *rig.problem);
  const std::vector<bool> inside = below(rig.tree, b);
  std::vector<std::pair<double, TreeEdge>> order;
  for (int j = 0; j < rig.tree.bones(); ++j)
    for (int k = 0; k < rig.tree.bones(); ++k) {
      if (inside[at(j)] || !inside[at(k)] || (k == b && j == rig.tree.parent[at(b)])) continue;
      const double touch = blend(rig.state.sums, j, k);
      if (touch < 1e-3) continue;
      const JointFit fit = fit_joint(rig.state.D, joint_anchor(rig.state, centroid, j, k), j, k);
      order.push_back({fit.error / touch, {j, k, fit.position}});
    }
  std::sort(order.begin(), order.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  std::vector<TreeEdge> out;
  for (std::size_t i = 0; i < std::min(most, order.size()); ++i) out.push_back(order[i].second);
  return out;
}

enum class Move { add_one, add_two, add_many, exchange_edges, loosen };

/// In turn; loosening is cheap and pays most often.
constexpr std::array kMoves{Move::loosen, Move::add_one,  Move::loosen, Move::add_two,
                            Move::loosen, Move::add_many, Move::loosen, Move::exchange_edges};

/// False where there is nothing to move. The number of bones stays.
bool make_move(Rigging& rig, Move move, std::uint64_t seed) {
  if (move == Move::exchange_edges) return exchange_edges(rig) > 0;
  if (move == Move::loosen) {
    loosen(rig);
    return true;
  }
  const int bones = rig.state.bones();
  grow_by(rig, move == Move::add_one ? 1 : move == Move::add_two ? 2 : 1 + bones / 6, seed);
  strict_rounds(rig, 3, 2);
  shrink_to(rig, bones);
  return true;
}

}  // namespace

void loosen(Rigging& rig) {
  constexpr int kMore = 3;
  const int influences = rig.influences;
  rig.state.weights = with_capacity(rig.state.weights, influences + kMore);
  for (int more = kMore; more >= 0; --more) {
    rig.influences = influences + more;
    strict_rounds(rig, 3, 2);
  }
  rig.state.weights = with_capacity(rig.state.weights, influences);
}

int exchange_edges(Rigging& rig) {
  constexpr double kWorthIt = 1e-3;  // of the squared error
  int exchanged = 0;
  double value = settle_tree(rig, 2);
  for (int b = 1; b < rig.tree.bones(); ++b) {
    for (const TreeEdge& other : other_edges(rig, b, 3)) {
      std::vector<TreeEdge> edges;
      for (const TreeEdge& edge : edges_of(rig.tree))
        if (edge.to != b) edges.push_back(edge);
      edges.push_back(other);
      Rigging tried = rig;
      tried.tree = adopt_edges(directed_edges(edges, 0), tried.state);
      const double reached = settle_tree(tried, 3);
      if (reached < value - kWorthIt * rig.state.squares) {
        value = reached;
        rig = std::move(tried);
        ++exchanged;
        break;
      }
    }
  }
  rig.state.squares = objective(*rig.problem, rig.state.sums, rig.state.D);
  return exchanged;
}

bool search_skeleton(Rigging& best, int moves, std::uint64_t seed, Checkpoint* checkpoint, const Progress& progress) {
  std::mt19937_64 random(seed);
  Rigging current = best;
  int first = 0;
  if (const auto saved = resume(checkpoint, kSkeletonSearch)) {
    take_rigging(saved->arrays, "best ", best);
    take_rigging(saved->arrays, "current ", current);
    first = std::min(moves, static_cast<int>(saved->step));
    random.discard(static_cast<unsigned long long>(first));
  }
  if (best.state.bones() < 2) return true;
  for (int move = first; move < moves; ++move) {
    keep(checkpoint, kSkeletonSearch, move, [&](SavedArrays& arrays) {
      save_rigging(best, "best ", arrays);
      save_rigging(current, "current ", arrays);
    });
    const double done = static_cast<double>(move) / moves;
    if (!report(progress, "search", done)) return false;
    const double limit = best.e_rms() * (1 + kSlack * (1 - done));
    if (current.e_rms() > limit) current = best;
    Rigging tried = current;
    if (!make_move(tried, kMoves[static_cast<std::size_t>(move) % kMoves.size()], random())) continue;
    converge(tried, kSettle);
    if (tried.e_rms() < best.e_rms() * (1 + kNear)) converge(tried, kSettle);
    if (tried.e_rms() < limit) current = tried;
    if (tried.state.squares < best.state.squares) best = std::move(tried);
  }
  return true;
}

}  // namespace sinew
