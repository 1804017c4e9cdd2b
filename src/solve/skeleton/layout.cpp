#include "solve/skeleton/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "core/index.h"
#include "math/mirror.h"
#include "sinew/core/error.h"
#include "solve/lbs/to_rig.h"
#include "solve/skeleton/anatomy.h"
#include "solve/skeleton/facing.h"

namespace sinew::skeleton {
namespace {

constexpr double kShortestBone = 0.02;  // from a bone's head to its tail at least; the radius of the mesh is 1
constexpr double kAsLong = 0.6;         // of the longest branch at a bone, that another one counts as well

/// A fitted skeleton, and what its shape says about it. Bone b of the fit is bone b of the rest.
struct Described {
  SkeletonFit fit;
  BoneShapes shapes;
  std::optional<MirrorPlane> plane;  // of the rest shape
  Facing facing;
  Anatomy anatomy;
  std::vector<std::string> place;  // B; names by place, or empty
};

Described described(const Sequence& sequence, const SkeletonFit& fit) {
  const Problem& problem = *fit.problem;
  Described out{fit, shapes_of_bones(sequence.rest, problem, fit.state), {}, {}, {}, {}};
  const std::vector<TreeEdge> edges = edges_of(fit.tree);
  const RootedTree tree = rooted(edges, fit.tree.bones(), middle_bone(edges, out.shapes));
  out.plane = fit.symmetry.partner.empty() ? find_mirror_plane(problem.rest()) : fit.symmetry.plane;
  if (out.plane) divide(sequence.rest, problem, fit.state.weights, *out.plane, out.shapes);
  std::vector<LimbPair> pairs = limb_pairs(tree, out.shapes, out.plane ? &*out.plane : nullptr);
  const std::optional<MirrorPlane> between = out.plane ? out.plane : plane_between(tree, pairs);
  if (between)
    out.facing = facing_of(sequence, problem, *between);
  else
    pairs.clear();
  out.anatomy = anatomy_of(tree, out.shapes, pairs, out.facing);
  out.place = names_by_place(tree, out.shapes, out.anatomy);
  return out;
}

/// root, bone_01, bone_02_L, … where no place tells; in a symmetric skeleton bone_02_R mirrors bone_02_L.
std::vector<std::string> names_of(const Described& skeleton) {
  std::vector<std::string> out = skeleton.place;
  const std::vector<int>& partner = skeleton.fit.symmetry.partner;
  const double left = skeleton.facing.left;
  for (int b = 0; b < skeleton.fit.tree.bones(); ++b) {
    if (!out[at(b)].empty()) continue;
    const int p = partner.empty() || partner[at(b)] < 0 ? b : partner[at(b)];
    if (p != b) {  // a pair: one number, two sides
      const Eigen::Vector3d& normal = skeleton.fit.symmetry.plane.normal;
      const double apart = normal.dot(skeleton.fit.tree.joint.col(b) - skeleton.fit.tree.joint.col(p));
      const double lean =
          std::abs(apart) > 1e-6 ? apart : normal.dot(skeleton.shapes.middle.col(b) - skeleton.shapes.middle.col(p));
      const bool on_left = left * lean > 0 || (lean == 0 && b < p);
      out[at(b)] = fmt::format("bone_{:02}_{}", std::min(b, p), on_left ? "L" : "R");
      continue;
    }
    const double share = left > 0 ? skeleton.shapes.left[b] : 1 - skeleton.shapes.left[b];
    const char* side = share >= kOneSide ? "_L" : share <= 1 - kOneSide ? "_R" : "";
    out[at(b)] = b == 0 ? "root" : fmt::format("bone_{:02}{}", b, skeleton.plane ? side : "");
  }
  return out;
}

/// The same skeleton seen from another bone, bones depth first.
void root_at(int root, SkeletonFit& fit) {
  const std::vector<TreeEdge> edges = directed_edges(edges_of(fit.tree), root);
  if (edges.empty()) return;
  std::vector<int> number(at(fit.tree.bones()), 0);
  for (std::size_t i = 0; i < edges.size(); ++i) number[at(edges[i].to)] = static_cast<int>(i) + 1;
  const std::vector<int> partner = fit.symmetry.partner;
  for (std::size_t b = 0; b < partner.size(); ++b)
    fit.symmetry.partner[at(number[b])] = partner[b] < 0 ? -1 : number[at(partner[b])];
  fit.tree = adopt_edges(edges, fit.state);
}

/// Where the root's joint is drawn: between the hips, or in the middle of what it moves; in the body, and on the plane
/// of a shape whose two sides it moves alike.
Eigen::Vector3d root_joint(const Described& skeleton) {
  const Body* body = skeleton.fit.body;
  const JointTree& tree = skeleton.fit.tree;
  const bool hips = !skeleton.anatomy.legs.empty() && skeleton.anatomy.root == 0;
  const auto placed = [&](Eigen::Vector3d x, bool to_the_middle) {
    if (body != nullptr && (to_the_middle || !body->holds(x))) x = body->middle(x);
    const bool even = skeleton.shapes.left[0] <= kOneSide && skeleton.shapes.left[0] >= 1 - kOneSide;
    if (!skeleton.plane || !even) return x;
    const Eigen::Vector3d between = 0.5 * (x + skeleton.plane->mirrored(x));
    return body == nullptr || body->holds(between) ? between : x;
  };
  const auto near_another = [&](const Eigen::Vector3d& x) {
    return tree.bones() > 1 &&
           (tree.joint.rightCols(tree.bones() - 1).colwise() - x).colwise().norm().minCoeff() < kShortestBone;
  };
  if (hips)
    if (Eigen::Vector3d x = placed(skeleton.anatomy.legs.back().between, false); !near_another(x)) return x;
  return placed(skeleton.shapes.middle.col(0), true);
}

/// Where a bone ends: at the joint of the bone that goes on from it, or, where none does, at the tip of what it moves.
Eigen::Vector3d tail_of(const Described& skeleton, const Eigen::VectorXd& reach, int bone) {
  const JointTree& tree = skeleton.fit.tree;
  const Eigen::Vector3d head = tree.joint.col(bone);
  const Anatomy& anatomy = skeleton.anatomy;
  std::vector<int> onwards;
  double longest = 0;
  for (int b = bone + 1; b < tree.bones(); ++b) {
    if (tree.parent[at(b)] != bone || (tree.joint.col(b) - head).norm() < kShortestBone) continue;
    for (const auto* chain : {&anatomy.spine, &anatomy.neck})
      if (std::find(chain->begin(), chain->end(), b) != chain->end()) return tree.joint.col(b);
    onwards.push_back(b);
    longest = std::max(longest, reach[b]);
  }
  if (onwards.empty()) return tip_of(skeleton.fit, bone, head, skeleton.shapes.middle.col(bone));
  Eigen::Vector3d sum = Eigen::Vector3d::Zero();
  double count = 0;
  for (const int b : onwards)
    if (reach[b] >= kAsLong * longest) {
      sum += tree.joint.col(b);
      ++count;
    }
  const Eigen::Vector3d mean = sum / count;
  const int nearest = *std::min_element(onwards.begin(), onwards.end(), [&](int a, int b) {
    return (tree.joint.col(a) - mean).norm() < (tree.joint.col(b) - mean).norm();
  });
  const bool between = bone == 0 && count > 1 && (mean - head).norm() >= kShortestBone;
  return between ? mean : Eigen::Vector3d(tree.joint.col(nearest));
}

Eigen::Matrix3Xd tails_of(const Described& skeleton) {
  const JointTree& tree = skeleton.fit.tree;
  Eigen::VectorXd reach = (skeleton.shapes.middle - tree.joint).colwise().norm().transpose();
  for (int b = tree.bones() - 1; b > 0; --b) {
    const int p = tree.parent[at(b)];
    reach[p] = std::max(reach[p], reach[b] + (tree.joint.col(b) - tree.joint.col(p)).norm());
  }
  Eigen::Matrix3Xd out(3, tree.bones());
  for (int b = 0; b < tree.bones(); ++b) {
    const Eigen::Vector3d head = tree.joint.col(b);
    out.col(b) = tail_of(skeleton, reach, b);
    if ((out.col(b) - head).norm() < 1e-6) out.col(b) = head + Eigen::Vector3d(0, kShortestBone, 0);
  }
  // Tips are measured: those of bones that mirror each other are made to as well.
  const Symmetry& even = skeleton.fit.symmetry;
  const auto ends = [&](int b) { return std::find(tree.parent.begin(), tree.parent.end(), b) == tree.parent.end(); };
  const Eigen::Matrix3Xd before = out;
  for (std::size_t b = 0; b < even.partner.size(); ++b)
    if (const int p = even.partner[b]; p >= 0 && ends(p) && ends(static_cast<int>(b)))
      out.col(index(b)) = 0.5 * (before.col(index(b)) + even.plane.mirrored(before.col(p)));
  return out;
}

/// Where left and right do not follow from glTF's +Z: what told them. Else nothing.
std::string sentence_about(const Facing& facing) {
  const Eigen::Vector3d& to = facing.forward;
  if (facing.by == Facing::By::convention || to.z() > std::abs(to.x())) return "";
  const char* axis = std::abs(to.z()) >= std::abs(to.x()) ? "-Z" : to.x() > 0 ? "+X" : "-X";
  const char* by = facing.by == Facing::By::travel ? "it travels that way" : "its feet point there";
  return fmt::format("left and right of a character that faces {}: {}", axis, by);
}

/// The skeleton as the shape tells, and then as the options ask: a root is asked for by the name it has otherwise.
Described rooted_skeleton(const Sequence& sequence, SkeletonFit fit, const std::string& wanted) {
  Described out = described(sequence, fit);
  const std::vector<int>& partner = fit.symmetry.partner;
  const int root = out.anatomy.root;
  const bool all_even = !partner.empty() && std::find(partner.begin(), partner.end(), -1) == partner.end();
  if (!all_even || partner[at(root)] == root) root_at(root, fit);
  out = described(sequence, fit);
  if (wanted.empty() || wanted == "auto") return out;
  const std::vector<std::string> names = names_of(out);
  const auto found = std::find(names.begin(), names.end(), wanted);
  if (found == names.end())
    throw Error(
        ErrorKind::usage,
        fmt::format("skeleton: no bone is called '{}', the root asked for; a solve without a root shows the names",
                    wanted));
  root_at(static_cast<int>(found - names.begin()), fit);
  return described(sequence, fit);
}

}  // namespace

Rig lay_out_skeleton(const Sequence& sequence, const SkeletonFit& fit, const SkeletonOptions& options,
                     FitReport& report) {
  const Problem& problem = *fit.problem;
  Described skeleton = rooted_skeleton(sequence, fit, options.root);
  if (report.remark.empty()) report.remark = sentence_about(skeleton.facing);
  const std::vector<std::string> names = names_of(skeleton);
  JointTree& tree = skeleton.fit.tree;
  tree.joint.col(0) = root_joint(skeleton);
  const Eigen::Matrix3Xd tail = tails_of(skeleton);

  Rig rig = to_rig(sequence, problem, skeleton.fit.state.D, skeleton.fit.state.weights, Transforms::rigid,
                   options.influences);
  rig.jointed = true;
  const auto to_input = [&](const Eigen::Vector3d& x) -> Vector3 {
    return (x / problem.scaling().scale + problem.scaling().center).cast<float>();
  };
  for (int b = 0; b < tree.bones(); ++b)
    rig.bones[at(b)] = {names[at(b)], tree.parent[at(b)], to_input(tree.joint.col(b)), to_input(tail.col(b))};
  return rig;
}

}  // namespace sinew::skeleton
