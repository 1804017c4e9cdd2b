#include "solve/skeleton/tidy.h"

#include <algorithm>
#include <cmath>

#include "core/index.h"
#include "math/decompositions.h"
#include "solve/skeleton/moves.h"
#include "solve/skeleton/strict.h"
#include "solve/skeleton/symmetry.h"
#include "solve/skeleton/tree.h"

namespace sinew::skeleton {
namespace {

constexpr double kTooNear = 0.01;   // of the rest diagonal: two joints
constexpr double kSpread = 0.0105;  // to which they are spread
constexpr double kDropRise = 1.05;  // of E_RMS, for a bone that goes
constexpr double kTooSmallToSee =
    0.1;                              // E_RMS that may be added whatever it was: a fifteenth of what `detail` looks at
constexpr double kSpreadRise = 1.02;  // of E_RMS, for joints that move apart
constexpr double kEvenRise = 1.05;    // of E_RMS, for joints that mirror each other
constexpr double kElsewhere = 1;      // of the squared error, that joints alone may leave more on another bone
constexpr double kEvenPlace = 0.06;   // most distance of a joint from the image of its partner's; the radius is 1
constexpr int kLastRounds = 8;        // of convergence after changes
constexpr int kTidyRounds = 2;        // of the strict fit, before a change is judged

double diagonal_of(const SkeletonFit& fit) {
  const Eigen::Matrix3Xd& rest = fit.problem->rest();
  return (rest.rowwise().maxCoeff() - rest.rowwise().minCoeff()).norm();
}

/// The error a change may leave.
double allowed(double e_rms, double rise) {
  return std::max(rise * e_rms, std::hypot(e_rms, kTooSmallToSee));
}

/// Whether each bone is the largest influence of some vertex.
std::vector<bool> leading_bones(const FitState& state) {
  std::vector<bool> out(at(state.bones()), false);
  const SparseWeights& w = state.weights;
  for (std::size_t v = 0; v < w.vertex_count(); ++v) {
    const auto first = w.value.begin() + static_cast<std::ptrdiff_t>(w.slot(v));
    const auto largest = std::max_element(first, first + w.count[v]);
    if (w.count[v] > 0) out[w.bone[static_cast<std::size_t>(largest - w.value.begin())]] = true;
  }
  return out;
}

/// Two joints that are nearer than a distance.
struct NearPair {
  int a;
  int b;
};

std::vector<NearPair> near_pairs(const JointTree& tree, double distance) {
  std::vector<NearPair> out;
  for (int a = 1; a < tree.bones(); ++a)
    for (int b = a + 1; b < tree.bones(); ++b)
      if ((tree.joint.col(a) - tree.joint.col(b)).norm() < distance) out.push_back({a, b});
  return out;
}

/// Bones that should go, the cheapest first.
std::vector<int> idle_bones(const SkeletonFit& fit, double distance) {
  const std::vector<double> costs =
      removal_costs(*fit.problem, bone_gram(*fit.problem, fit.state.D), fit.state.weights);
  const std::vector<bool> leads = leading_bones(fit.state);
  std::vector<int> out;
  const auto add = [&](int b) {
    if (std::find(out.begin(), out.end(), b) == out.end()) out.push_back(b);
  };
  for (int b = 0; b < fit.state.bones(); ++b)
    if (!leads[at(b)]) add(b);
  for (const NearPair& pair : near_pairs(fit.tree, distance))
    add(costs[at(pair.a)] < costs[at(pair.b)] ? pair.a : pair.b);
  std::stable_sort(out.begin(), out.end(), [&](int a, int b) { return costs[at(a)] < costs[at(b)]; });
  return out;
}

/// How stiffly the motion holds the joint of a bone: Σ_f AᵀA of the difference of its transform from its parent's.
Eigen::Matrix3d stiffness(const SkeletonFit& fit, int b) {
  const Eigen::MatrixXd difference =
      fit.state.D.middleCols<3>(4 * b) - fit.state.D.middleCols<3>(4 * fit.tree.parent[at(b)]);
  return difference.transpose() * difference;
}

/// The pair with one joint moved along the line that its motion cares for least, far enough; nothing where it would
/// leave the body.
bool move_apart(const NearPair& pair, double distance, SkeletonFit& fit) {
  const SymmetricEigen3 a = symmetric_eigen3(stiffness(fit, pair.a));
  const SymmetricEigen3 b = symmetric_eigen3(stiffness(fit, pair.b));
  const bool first = a.values[0] <= b.values[0];
  const int moved = first ? pair.a : pair.b;
  const Eigen::Vector3d axis = (first ? a : b).vectors.col(0);
  const Eigen::Vector3d from = fit.tree.joint.col(first ? pair.b : pair.a);
  const Eigen::Vector3d d = fit.tree.joint.col(moved) - from;
  const double along = d.dot(axis);
  const double aside = std::sqrt(std::max(0.0, d.squaredNorm() - along * along));
  const double far = std::sqrt(std::max(0.0, distance * distance - aside * aside));
  for (const double sign : {along < 0 ? -1.0 : 1.0, along < 0 ? 1.0 : -1.0}) {
    const Eigen::Vector3d place = from + (d - along * axis) + sign * far * axis;
    if (fit.body != nullptr && !fit.body->holds(place)) continue;
    fit.tree.joint.col(moved) = place;
    return true;
  }
  return false;
}

/// The bone that moves most of those that are their own partners; −1 where there is none.
int heaviest_across(const SkeletonFit& fit, const std::vector<int>& partner) {
  int best = -1;
  for (int b = 0; b < fit.tree.bones(); ++b)
    if (partner[at(b)] == b && (best < 0 || blend(fit.state.sums, b, b) > blend(fit.state.sums, best, best))) best = b;
  return best;
}

/// The same skeleton seen from the heaviest bone across the plane, if there is one.
bool seen_from_trunk(SkeletonFit& fit, const MirrorPlane& plane) {
  const int trunk = heaviest_across(fit, mirrored_bones(fit, plane));
  if (trunk < 0) return false;
  if (fit.tree.bones() > 1) fit.tree = adopt_edges(directed_edges(edges_of(fit.tree), trunk), fit.state);
  return true;
}

/// Edges that would make the hierarchy more even, each instead of the one that leads to its bone now.
std::vector<TreeEdge> evener_edges(const SkeletonFit& fit, const MirrorPlane& plane) {
  const JointTree& tree = fit.tree;
  const std::vector<int> partner = mirrored_bones(fit, plane);
  const auto image = [&](int b) { return partner[at(b)] < 0 ? b : partner[at(b)]; };
  const auto is_below = [&](int b, int other) {
    while (b >= 0 && b != other) b = tree.parent[at(b)];
    return b == other;
  };
  std::vector<TreeEdge> out;
  const auto add = [&](int parent, int b, const Eigen::Vector3d& joint) {
    if (!is_below(parent, b)) out.push_back({parent, b, joint});
  };
  for (int b = 1; b < tree.bones(); ++b) {
    const int p = partner[at(b)];
    int above = tree.parent[at(b)];
    if (p > 0 && p != b && image(above) != tree.parent[at(p)])
      add(image(tree.parent[at(p)]), b, plane.mirrored(tree.joint.col(p)));
    if (p != b || image(above) == above) continue;
    while (image(above) != above) above = tree.parent[at(above)];
    add(above, b, 0.5 * (tree.joint.col(b) + plane.mirrored(tree.joint.col(b))));
  }
  return out;
}

/// The fit with another edge instead of the one to its bone; one that cannot do is not settled.
SkeletonFit with_edge(const SkeletonFit& fit, const TreeEdge& other) {
  std::vector<TreeEdge> edges{other};
  for (const TreeEdge& edge : edges_of(fit.tree))
    if (edge.to != other.to) edges.push_back(edge);
  SkeletonFit out = fit;
  out.tree = adopt_edges(directed_edges(edges, 0), out.state);
  return out;
}

/// Partners of bones whose joints are this near to mirroring each other and whose parents are partners too, else −1.
std::vector<int> even_bones(const SkeletonFit& fit, const MirrorPlane& plane, const std::vector<int>& partner,
                            double place) {
  std::vector<int> out(partner.size(), -1);
  for (int b = 0; b < fit.tree.bones(); ++b) {
    const int p = partner[at(b)];
    if (p < 0) continue;
    const int above = fit.tree.parent[at(b)];
    const bool held = above < 0 ? p == b : partner[at(above)] >= 0 && partner[at(above)] == fit.tree.parent[at(p)];
    const double away = above < 0 ? 0 : (plane.mirrored(fit.tree.joint.col(b)) - fit.tree.joint.col(p)).norm();
    if (held && away <= place) out[at(b)] = p;
  }
  return out;
}

/// A body that is even within a tolerance may hold two joints and not what lies between one and the other's image:
/// these stay as they are.
void leave_outside_alone(SkeletonFit& fit) {
  if (fit.body == nullptr) return;
  Eigen::Matrix3Xd joint = fit.tree.joint;
  fit.symmetry.apply_to(joint);
  std::vector<int>& partner = fit.symmetry.partner;
  for (int b = 1; b < fit.tree.bones(); ++b)
    if (const int p = partner[at(b)]; p >= 0 && !fit.body->holds(joint.col(b))) partner[at(p)] = partner[at(b)] = -1;
}

}  // namespace

void tidy(const SkeletonOptions& options, SkeletonFit& fit) {
  SkeletonFit tried = fit;
  if (!options.symmetric && !options.uneven)
    if (const auto plane = find_mirror_plane(fit.problem->rest())) even_joints(tried, *plane);
  spread_joints(tried);
  if (!tried.joints_stay) return;
  converge(tried, kLastRounds);
  if (options.max_error == 0 || tried.e_rms() <= options.max_error || tried.e_rms() <= fit.e_rms())
    fit = std::move(tried);
}

int drop_idle_bones(SkeletonFit& fit) {
  const double distance = kTooNear * diagonal_of(fit);
  int dropped = 0;
  for (bool again = true; again && fit.state.bones() > 1;) {
    again = false;
    for (const int b : idle_bones(fit, distance)) {
      SkeletonFit tried = fit;
      contract_bone(tried, b);
      strict_rounds(tried, kTidyRounds, 3);
      if (tried.e_rms() > allowed(fit.e_rms(), kDropRise)) continue;
      fit = std::move(tried);
      ++dropped;
      again = true;
      break;
    }
  }
  return dropped;
}

int hang_evenly(SkeletonFit& fit, const MirrorPlane& plane) {
  const double most = allowed(fit.e_rms(), kEvenRise);
  SkeletonFit even = fit;
  if (!seen_from_trunk(even, plane)) return 0;
  int hung = 0;
  for (; hung < fit.tree.bones(); ++hung) {
    SkeletonFit settled = even;
    const double hopeless = settle_tree(settled, 1) + kElsewhere * even.state.squares;
    SkeletonFit best;
    for (const TreeEdge& edge : evener_edges(even, plane)) {
      SkeletonFit tried = with_edge(even, edge);
      if (settle_tree(tried, 1, hopeless) > hopeless) continue;
      update_weights(tried);
      strict_rounds(tried, kTidyRounds, 4);
      if (tried.e_rms() <= most && tried.state.squares < best.state.squares) best = std::move(tried);
    }
    if (best.tree.bones() == 0) break;
    even = std::move(best);
  }
  if (hung > 0) fit = std::move(even);
  return hung;
}

int spread_joints(SkeletonFit& fit) {
  const double diagonal = diagonal_of(fit);
  for (const NearPair& pair : near_pairs(fit.tree, kTooNear * diagonal)) {
    SkeletonFit tried = fit;
    tried.joints_stay = true;
    if (!move_apart(pair, kSpread * diagonal, tried)) continue;
    strict_rounds(tried, kTidyRounds, 4);
    if (tried.e_rms() <= allowed(fit.e_rms(), kSpreadRise)) fit = std::move(tried);
  }
  return static_cast<int>(near_pairs(fit.tree, kTooNear * diagonal).size());
}

void even_joints(SkeletonFit& fit, const MirrorPlane& plane) {
  if (!seen_from_trunk(fit, plane)) return;
  const std::vector<int> partner = mirrored_bones(fit, plane);
  for (const double place : {kEvenPlace, kEvenPlace / 2, kEvenPlace / 4}) {
    SkeletonFit tried = fit;
    tried.joints_stay = true;
    tried.symmetry = {plane, even_bones(fit, plane, partner, place)};
    leave_outside_alone(tried);
    tried.symmetry.apply_to(tried.tree.joint);
    strict_rounds(tried, kTidyRounds, 4);
    if (tried.e_rms() > allowed(fit.e_rms(), kEvenRise)) continue;
    fit = std::move(tried);
    return;
  }
}

}  // namespace sinew::skeleton
