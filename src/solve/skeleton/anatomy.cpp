#include "solve/skeleton/anatomy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/index.h"

namespace sinew::skeleton {
namespace {

// Lengths: the radius of the mesh is 1. Ratios: of the larger to the smaller.
constexpr double kMirroredSize = 2;     // most ratio of area, and of reach, of a pair that mirrors
constexpr double kMirroredPlace = 0.3;  // most distance of its joint and its tip from the other's image, on average
constexpr double kAlikeArea = 1.6;      // most ratios of a pair that is told by size alone
constexpr double kAlikeReach = 1.35;    //
constexpr int kNearby = 3;              // most steps in the tree between such a pair's ends
constexpr double kFloor = 0.15;         // of the height, that a leg ends below
constexpr double kHang = 0.15;          // of the height, that a leg begins above where it ends
constexpr double kStand = 0.2;          // of its reach, that it begins above where it ends
constexpr double kAcross = 0.7;         // cosine of the largest angle between what joins the legs of pairs
constexpr double kUprightSpine = 0.6;   // share of up in the way from the legs to the end of the spine
constexpr double kArm = 0.35;           // least reach of an arm, in legs
constexpr double kTailBehind = 0.1;     // the hips, where a tail ends at least
constexpr double kAsFarAhead = 0.9;     // of the way that leads furthest ahead, that the one from the chest leads

double ratio(double a, double b) {
  return std::max(a, b) / std::max(std::min(a, b), 1e-30);
}

/// What hangs from every bone, itself included.
struct Branches {
  Eigen::VectorXd area;
  Eigen::VectorXd left;    // share of the area
  Eigen::VectorXd reach;   // longest way along its bones, from its joint to the middle of the last
  Eigen::VectorXd lowest;  // height
  Eigen::VectorXd highest;
  Eigen::Matrix3Xd tip;  // the middle of the last bone on that way

  Branches(const RootedTree& tree, const BoneShapes& shapes)
      : area(shapes.area),
        left(shapes.left.cwiseProduct(shapes.area)),
        reach((shapes.middle - tree.joint).colwise().norm().transpose()),
        lowest(shapes.lowest),
        highest(shapes.highest),
        tip(shapes.middle) {
    for (const int b : tree.order)
      if (!shapes.leads[at(b)]) {  // what it moves is anywhere
        reach[b] = 0;
        tip.col(b) = tree.joint.col(b);
      }
    for (auto b = tree.order.rbegin(); b != tree.order.rend(); ++b) {
      const int p = tree.parent[at(*b)];
      if (p < 0) continue;
      area[p] += area[*b];
      left[p] += left[*b];
      lowest[p] = std::min(lowest[p], lowest[*b]);
      highest[p] = std::max(highest[p], highest[*b]);
      const double way = tree.parent[at(p)] < 0 ? 0 : (tree.joint.col(*b) - tree.joint.col(p)).norm();
      if (way + reach[*b] <= reach[p]) continue;
      reach[p] = way + reach[*b];
      tip.col(p) = tip.col(*b);
    }
    left = left.cwiseQuotient(area);
  }
};

std::vector<int> way_up(const RootedTree& tree, int bone) {
  std::vector<int> out;
  for (int b = bone; b >= 0; b = tree.parent[at(b)]) out.push_back(b);
  return out;
}

/// From a bone to another, both included.
std::vector<int> way_between(const RootedTree& tree, int from, int to) {
  std::vector<int> up = way_up(tree, from);
  std::vector<int> down = way_up(tree, to);
  while (up.size() > 1 && down.size() > 1 && up[up.size() - 2] == down[down.size() - 2]) {
    up.pop_back();
    down.pop_back();
  }
  if (up.back() == down.back()) down.pop_back();
  up.insert(up.end(), down.rbegin(), down.rend());
  return up;
}

bool hangs_from(const RootedTree& tree, int bone, int other) {
  const std::vector<int> up = way_up(tree, bone);
  return std::find(up.begin(), up.end(), other) != up.end();
}

/// How far two branches are from being a pair; infinite where they are none.
double unlikeness(const RootedTree& tree, const Branches& all, const MirrorPlane* plane, int a, int b) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const double area = ratio(all.area[a], all.area[b]);
  const double reach = ratio(all.reach[a], all.reach[b]);
  const Eigen::Vector3d ja = tree.joint.col(a);
  const Eigen::Vector3d jb = tree.joint.col(b);
  if (plane != nullptr) {
    const double most = std::max(all.left[a], all.left[b]);
    const double least = std::min(all.left[a], all.left[b]);
    if (most < kOneSide || least > 1 - kOneSide || area > kMirroredSize || reach > kMirroredSize) return kNone;
    const double away =
        0.5 * ((plane->mirrored(ja) - jb).norm() + (plane->mirrored(all.tip.col(a)) - all.tip.col(b)).norm());
    return away <= kMirroredPlace ? away : kNone;
  }
  if (area > kAlikeArea || reach > kAlikeReach) return kNone;
  const std::size_t steps = way_between(tree, tree.parent[at(a)], tree.parent[at(b)]).size() - 1;
  if (steps > at(kNearby)) return kNone;
  return std::log(area) + std::log(reach) + (ja - jb).norm() + 0.1 * static_cast<double>(steps);
}

/// The trunk: bones that are in no limb.
std::vector<bool> trunk_of(const RootedTree& tree, const std::vector<LimbPair>& pairs) {
  std::vector<bool> out(tree.order.size(), true);
  for (const int b : tree.order) {
    const int p = tree.parent[at(b)];
    const bool begins = std::any_of(pairs.begin(), pairs.end(),
                                    [&](const LimbPair& pair) { return pair.left == b || pair.right == b; });
    out[at(b)] = !begins && (p < 0 || out[at(p)]);
  }
  return out;
}

bool in_the_middle(const BoneShapes& shapes, int bone) {
  return shapes.left[bone] <= kOneSide && shapes.left[bone] >= 1 - kOneSide;
}

/// The bone of the trunk that a pair hangs from: where its two differ, that on the way between them which is nearest;
/// the first above that is in the middle where all of these are on one side.
int held_by(const RootedTree& tree, const BoneShapes& shapes, const LimbPair& pair) {
  int best = -1;
  const auto distance = [&](int b) { return (shapes.middle.col(b) - pair.between).norm(); };
  for (const int b : way_between(tree, tree.parent[at(pair.left)], tree.parent[at(pair.right)]))
    if (in_the_middle(shapes, b) && (best < 0 || distance(b) < distance(best))) best = b;
  if (best >= 0) return best;
  const std::vector<int> up = way_up(tree, tree.parent[at(pair.left)]);
  const auto middle = std::find_if(up.begin(), up.end(), [&](int b) { return in_the_middle(shapes, b); });
  return middle != up.end() ? *middle : up.back();
}

/// The same tree seen from another bone.
RootedTree seen_from(const RootedTree& tree, int root) {
  std::vector<TreeEdge> edges;
  for (const int b : tree.order)
    if (tree.parent[at(b)] >= 0) edges.push_back({tree.parent[at(b)], b, tree.joint.col(b)});
  return rooted(edges, static_cast<int>(tree.order.size()), root);
}

/// The best way outwards from one of `from` (left out) that keeps to `open` bones and ends where none of them follows;
/// empty where no end has a score above 0.
template <class Score>
std::vector<int> way_out(const RootedTree& view, const std::vector<int>& from, const std::vector<bool>& open,
                         const Score& score) {
  std::vector<int> best;
  for (const int end : view.order) {
    const auto& below = view.children[at(end)];
    if (!open[at(end)] || std::any_of(below.begin(), below.end(), [&](int c) { return open[at(c)]; })) continue;
    std::vector<int> way;
    int b = end;
    for (; b >= 0 && open[at(b)]; b = view.parent[at(b)]) way.insert(way.begin(), b);
    if (std::find(from.begin(), from.end(), b) == from.end() || score(end) <= 0) continue;
    if (best.empty() || score(end) > score(best.back())) best = way;
  }
  return best;
}

}  // namespace

RootedTree rooted(const std::vector<TreeEdge>& edges, int bones, int root) {
  RootedTree out{{root},
                 std::vector<int>(at(bones), -1),
                 std::vector<std::vector<int>>(at(bones)),
                 Eigen::Matrix3Xd::Zero(3, bones)};
  for (const TreeEdge& edge : directed_edges(edges, root)) {
    out.order.push_back(edge.to);
    out.parent[at(edge.to)] = edge.from;
    out.children[at(edge.from)].push_back(edge.to);
    out.joint.col(edge.to) = edge.joint;
  }
  return out;
}

int middle_bone(const std::vector<TreeEdge>& edges, const BoneShapes& shapes) {
  const auto B = static_cast<int>(shapes.area.size());
  const RootedTree tree = rooted(edges, B, 0);
  const Branches all(tree, shapes);
  int best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int b = 0; b < B; ++b) {
    double most = all.area[0] - all.area[b];
    for (const int c : tree.children[at(b)]) most = std::max(most, all.area[c]);
    if (most >= least) continue;
    least = most;
    best = b;
  }
  return best;
}

std::vector<LimbPair> limb_pairs(const RootedTree& tree, const BoneShapes& shapes, const MirrorPlane* plane) {
  const Branches all(tree, shapes);
  const auto B = static_cast<int>(tree.order.size());
  const double floor = shapes.lowest.minCoeff();
  const double height = shapes.highest.maxCoeff() - floor;
  std::vector<bool> taken(at(B), false);
  taken[at(tree.order.front())] = true;
  const auto partner_of = [&](int a) {
    int best = -1;
    double least = std::numeric_limits<double>::infinity();
    for (int b = 0; b < B; ++b) {
      if (b == a || taken[at(b)] || hangs_from(tree, a, b) || hangs_from(tree, b, a)) continue;
      const double cost = unlikeness(tree, all, plane, a, b);
      if (cost >= least) continue;
      least = cost;
      best = b;
    }
    return best;
  };
  std::vector<int> by_size(tree.order.begin() + 1, tree.order.end());
  std::stable_sort(by_size.begin(), by_size.end(), [&](int a, int b) { return all.area[a] > all.area[b]; });
  std::vector<LimbPair> out;
  for (const int a : by_size) {
    if (taken[at(a)]) continue;
    const int b = partner_of(a);
    if (b < 0 || partner_of(b) != a) continue;
    LimbPair pair{a, b, true, 0.5 * (all.reach[a] + all.reach[b]), 0.5 * (tree.joint.col(a) + tree.joint.col(b))};
    for (const int limb : {a, b}) {
      const double drop = tree.joint(1, limb) - all.lowest[limb];
      pair.reaches_floor = pair.reaches_floor && all.lowest[limb] <= floor + kFloor * height &&
                           drop >= kHang * height && drop >= kStand * pair.reach;
    }
    if (plane != nullptr && all.left[a] < all.left[b]) std::swap(pair.left, pair.right);
    out.push_back(pair);
    for (int c = 0; c < B; ++c) taken[at(c)] = taken[at(c)] || hangs_from(tree, c, a) || hangs_from(tree, c, b);
  }
  return out;
}

std::optional<MirrorPlane> plane_between(const RootedTree& tree, std::vector<LimbPair>& pairs) {
  const auto across = [&](const LimbPair& pair) {
    Eigen::Vector3d d = tree.joint.col(pair.left) - tree.joint.col(pair.right);
    d.y() = 0;
    return d;
  };
  Eigen::Vector3d sum = Eigen::Vector3d::Zero();
  for (const LimbPair& pair : pairs) {
    if (!pair.reaches_floor) continue;
    const Eigen::Vector3d d = across(pair);
    sum += d.dot(sum) < 0 ? Eigen::Vector3d(-d) : d;
  }
  if (sum.norm() < 1e-3) return std::nullopt;
  MirrorPlane plane{sum.normalized(), 0};
  Eigen::Index largest = 0;
  plane.normal.cwiseAbs().maxCoeff(&largest);
  if (plane.normal[largest] < 0) plane.normal = -plane.normal;
  double legs = 0;
  std::vector<LimbPair> agree;
  for (LimbPair pair : pairs) {
    const Eigen::Vector3d d = across(pair);
    if (std::abs(plane.normal.dot(d)) < kAcross * d.norm()) {
      if (pair.reaches_floor) return std::nullopt;
      continue;
    }
    if (plane.normal.dot(d) < 0) std::swap(pair.left, pair.right);
    agree.push_back(pair);
    if (!pair.reaches_floor) continue;
    plane.offset += plane.normal.dot(pair.between);
    ++legs;
  }
  plane.offset /= legs;
  pairs = agree;
  return plane;
}

Anatomy anatomy_of(const RootedTree& tree, const BoneShapes& shapes, const std::vector<LimbPair>& pairs,
                   const Facing& facing) {
  Anatomy out;
  out.root = tree.order.front();
  out.forward = facing.forward;
  for (LimbPair pair : pairs) {
    if (facing.left < 0) std::swap(pair.left, pair.right);
    (pair.reaches_floor ? out.legs : out.others).push_back(pair);
  }
  if (out.legs.empty()) return out;
  const auto place = [&](const LimbPair& pair) { return out.forward.dot(pair.between); };
  std::stable_sort(out.legs.begin(), out.legs.end(),
                   [&](const LimbPair& a, const LimbPair& b) { return place(a) > place(b); });

  // The pelvis holds the hindmost legs; with more than two pairs the root is where most of them hang.
  std::vector<int> holders;
  for (const LimbPair& pair : out.legs) holders.push_back(held_by(tree, shapes, pair));
  const auto hanging = [&](int b) { return std::count(holders.begin(), holders.end(), b); };
  out.root = holders.back();
  if (out.legs.size() > 2) {
    const auto most =
        std::max_element(holders.begin(), holders.end(), [&](int a, int b) { return hanging(a) < hanging(b); });
    out.root = hanging(*most) > 1 ? *most : holders[holders.size() / 2];
  }

  const RootedTree view = seen_from(tree, out.root);
  const std::vector<bool> trunk = trunk_of(tree, pairs);
  const Branches all(view, shapes);
  const Eigen::Vector3d hips = out.legs.back().between;
  // Where the foremost limbs hang: the front legs, or of a biped the highest of the pairs that are long enough for
  // arms.
  int chest = out.legs.size() > 1 ? holders.front() : out.root;
  double highest = -std::numeric_limits<double>::infinity();
  for (const LimbPair& pair : out.others) {
    if (out.legs.size() > 1 || pair.reach < kArm * out.legs.front().reach || pair.between.y() < highest) continue;
    highest = pair.between.y();
    chest = held_by(tree, shapes, pair);
  }
  if (chest != out.root) {
    out.spine = way_between(view, out.root, chest);
    out.spine.erase(out.spine.begin());
  }
  // The head is at the end that goes forwards and up, the tail at one that goes back.
  const auto ahead = [&](int b) {
    const Eigen::Vector3d way = all.tip.col(b) - hips;
    return out.forward.dot(way) + way.y();
  };
  std::vector<bool> open(trunk.size(), false);  // of the trunk, but for ends that have half of no vertex
  for (auto b = view.order.rbegin(); b != view.order.rend(); ++b) {
    const auto& below = view.children[at(*b)];
    open[at(*b)] = trunk[at(*b)] && (shapes.leads[at(*b)] ||
                                     std::any_of(below.begin(), below.end(), [&](int c) { return open[at(c)]; }));
  }
  std::vector<int> body{out.root};
  body.insert(body.end(), out.spine.begin(), out.spine.end());
  for (const int b : body) open[at(b)] = false;
  // What hangs from the chest may be a belly, and the head may hang from behind the chest.
  out.neck = way_out(view, {chest}, open, ahead);
  const std::vector<int> furthest = way_out(view, body, open, ahead);
  if (!furthest.empty() && (out.neck.empty() || ahead(out.neck.back()) < kAsFarAhead * ahead(furthest.back())))
    out.neck = furthest;
  for (const int b : out.neck) open[at(b)] = false;
  out.tail = way_out(view, body, open, [&](int b) { return -out.forward.dot(all.tip.col(b) - hips) - kTailBehind; });
  if (out.legs.size() == 1 && out.spine.empty() && out.neck.size() > 2) {  // nothing says where its chest is
    out.spine.assign(out.neck.begin(), out.neck.end() - 2);
    out.neck.erase(out.neck.begin(), out.neck.end() - 2);
  }
  const int end = !out.neck.empty() ? out.neck.back() : !out.spine.empty() ? out.spine.back() : out.root;
  const Eigen::Vector3d way = shapes.middle.col(end) - hips;
  out.upright = out.legs.size() == 1 && end != out.root && way.y() > kUprightSpine * way.norm();
  return out;
}

namespace {

/// Names the bones of a limb: the longest chain is numbered from the body outwards; from where it spreads into three or
/// more, each of these is a finger or toe.
void name_limb(const RootedTree& tree, const Branches& all, int first, const std::string& part, char side,
               const std::string& digit, const Eigen::Vector3d& forward, std::vector<std::string>& name) {
  const auto chain = [&](int bone, const auto& named, bool may_spread) {
    for (int number = 1; bone >= 0; ++number) {
      name[at(bone)] = named(number);
      std::vector<int> next = tree.children[at(bone)];
      if (may_spread && next.size() >= 3) return next;
      const auto longest =
          std::max_element(next.begin(), next.end(), [&](int a, int b) { return all.reach[a] < all.reach[b]; });
      bone = longest == next.end() ? -1 : *longest;
    }
    return std::vector<int>{};
  };
  std::vector<int> digits = chain(
      first, [&](int number) { return fmt::format("{}_{}_{}", part, side, number); }, true);
  std::stable_sort(digits.begin(), digits.end(),
                   [&](int a, int b) { return forward.dot(all.tip.col(a)) > forward.dot(all.tip.col(b)); });
  for (std::size_t i = 0; i < digits.size(); ++i)
    chain(
        digits[i], [&](int number) { return fmt::format("{}_{}_{}_{}", digit, side, i + 1, number); }, false);
}

void name_chain(const std::vector<int>& bones, const char* part, bool numbered, std::vector<std::string>& name) {
  for (std::size_t i = 0; i < bones.size(); ++i)
    name[at(bones[i])] = numbered ? fmt::format("{}_{}", part, i + 1) : part;
}

/// front and hind of two pairs of legs, front, mid and hind of three, numbers of more.
std::string leg_name(std::size_t i, std::size_t pairs) {
  if (pairs == 1) return "leg";
  if (i == 0 && pairs <= 3) return "leg_front";
  if (i + 1 == pairs && pairs <= 3) return "leg_hind";
  return pairs == 3 ? "leg_mid" : fmt::format("leg_{}", i + 1);
}

}  // namespace

std::vector<std::string> names_by_place(const RootedTree& tree, const BoneShapes& shapes, const Anatomy& anatomy) {
  std::vector<std::string> out(tree.order.size());
  if (anatomy.legs.empty()) return out;
  const RootedTree view = seen_from(tree, anatomy.root);
  const Branches all(view, shapes);
  const auto name_pair = [&](const LimbPair& pair, const std::string& part, const std::string& digit,
                             const Eigen::Vector3d& forward) {
    name_limb(view, all, pair.left, part, 'L', digit, forward, out);
    name_limb(view, all, pair.right, part, 'R', digit, forward, out);
  };
  name_chain(anatomy.spine, "spine", true, out);
  name_chain(anatomy.tail, "tail", true, out);
  if (!anatomy.neck.empty()) {
    const std::vector<int> neck(anatomy.neck.begin(), anatomy.neck.end() - 1);
    name_chain(neck, "neck", neck.size() > 1, out);
    out[at(anatomy.neck.back())] = "head";
  }
  for (std::size_t i = 0; i < anatomy.legs.size(); ++i) {
    const std::string part = leg_name(i, anatomy.legs.size());
    name_pair(anatomy.legs[i], part, part == "leg" ? "toe" : "toe" + part.substr(3), anatomy.forward);
  }
  // The largest pair that hangs from the trunk behind the head and is long enough: arms of what stands, else wings.
  for (const LimbPair& pair : anatomy.others) {
    const int holder = held_by(tree, shapes, pair);
    const bool on_head = !anatomy.neck.empty() && holder == anatomy.neck.back();
    if (on_head || pair.reach < kArm * anatomy.legs.front().reach) continue;
    const bool arms = anatomy.upright;
    name_pair(pair, arms ? "arm" : "wing", arms ? "finger" : "feather", anatomy.forward);
    break;
  }
  out[at(anatomy.root)] = anatomy.legs.size() > 2 ? "root" : "pelvis";
  return out;
}

}  // namespace sinew::skeleton
