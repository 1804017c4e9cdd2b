#include "solve/skeleton/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/index.h"
#include "math/mirror.h"
#include "sinew/core/error.h"
#include "solve/lbs/to_rig.h"
#include "solve/skeleton/facing.h"

namespace sinew::skeleton {
namespace {

constexpr double kOffPlane =
    0.03;  // distance from the mirror plane beyond which a bone has a side; radius of the mesh is 1

/// The heavier bone at the joint nearest the centroid of the rest pose [Le2014 §3.6].
int central_bone(const SkeletonFit& fit, const std::vector<TreeEdge>& edges) {
  if (edges.empty()) return 0;
  const Eigen::Vector3d centroid = fit.problem->rest().rowwise().mean();
  const TreeEdge& nearest = *std::min_element(edges.begin(), edges.end(), [&](const TreeEdge& a, const TreeEdge& b) {
    return (a.joint - centroid).squaredNorm() < (b.joint - centroid).squaredNorm();
  });
  const WeightSums& sums = fit.state.sums;
  return blend(sums, nearest.to, nearest.to) > blend(sums, nearest.from, nearest.from) ? nearest.to : nearest.from;
}

/// The middle of the outermost tenth of what a bone mostly moves, seen from its head along a direction; the head where
/// it moves nothing that way.
Eigen::Vector3d tip_of(const Problem& problem, const SparseWeights& w, int bone, const Eigen::Vector3d& head,
                       const Eigen::Vector3d& direction) {
  constexpr double kOutermost = 0.9;
  std::vector<Eigen::Vector3d> moved;
  double reach = 0;
  for (std::size_t v = 0; v < w.vertex_count(); ++v)
    for (std::size_t k = w.slot(v); k < w.slot(v) + w.count[v]; ++k)
      if (w.bone[k] == bone && w.value[k] > 0.5F) {
        moved.emplace_back(problem.rest().col(static_cast<Eigen::Index>(v)) - head);
        reach = std::max(reach, moved.back().dot(direction));
      }
  Eigen::Vector3d sum = Eigen::Vector3d::Zero();
  double count = 0;
  for (const Eigen::Vector3d& x : moved)
    if (reach > 0 && x.dot(direction) >= kOutermost * reach) {
      sum += x;
      ++count;
    }
  return count > 0 ? Eigen::Vector3d(head + sum / count) : head;
}

/// For display: the child's head or the middle of several; a leaf ends at the tip of what it moves, in the body.
Eigen::Vector3d tail_of(const SkeletonFit& fit, const FitState& state, const JointTree& tree, int bone,
                        const Eigen::Vector3d& centroid) {
  const Eigen::Vector3d head = tree.joint.col(bone);
  Eigen::Vector3d sum = Eigen::Vector3d::Zero();
  int children = 0;
  for (int b = 0; b < tree.bones(); ++b)
    if (tree.parent[at(b)] == bone) {
      sum += tree.joint.col(b);
      ++children;
    }
  if (children > 0 && (sum / children - head).norm() > 1e-3) return sum / children;
  const Eigen::Vector3d outwards = centroid - head;
  if (outwards.norm() < 1e-6) return head + Eigen::Vector3d(0, 0.05, 0);
  const Eigen::Vector3d tip = tip_of(*fit.problem, state.weights, bone, head, outwards.normalized());
  Eigen::Vector3d tail = (tip - head).norm() > 1e-3 ? tip : centroid;
  if (fit.body == nullptr || fit.body->holds(tail) || !fit.body->holds(head)) return tail;
  const Eigen::Vector3d within = fit.body->brought_in(tail, head);
  return (within - head).norm() > 1e-3 ? within : tail;
}

/// root, bone_01, bone_02_L, ...; in a symmetric skeleton bone_02_R mirrors bone_02_L. `left`: see Facing.
std::vector<std::string> names_of(const JointTree& tree, const Eigen::Matrix3Xd& centroid,
                                  const std::optional<MirrorPlane>& mirror, const Symmetry& symmetry, double left) {
  std::vector<std::string> out{"root"};
  for (int b = 1; b < tree.bones(); ++b) {
    const int p = symmetry.partner.empty() ? b : symmetry.partner[at(b)];
    if (p != b) {  // a pair: one number, two sides
      const double apart = symmetry.plane.normal.dot(tree.joint.col(b) - tree.joint.col(p));
      const double lean = std::abs(apart) > 1e-6 ? apart : symmetry.plane.normal.dot(centroid.col(b) - centroid.col(p));
      const bool on_left = left * lean > 0 || (lean == 0 && b < p);
      out.push_back(fmt::format("bone_{:02}_{}", std::min(b, p), on_left ? "L" : "R"));
      continue;
    }
    const double side = mirror ? left * (mirror->normal.dot(centroid.col(b)) - mirror->offset) : 0;
    out.push_back(fmt::format("bone_{:02}{}", b, side > kOffPlane ? "_L" : side < -kOffPlane ? "_R" : ""));
  }
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

/// A state and tree rooted at `root`, bones depth first.
void root_at(int root, FitState& state, JointTree& tree) {
  tree = adopt_edges(directed_edges(edges_of(tree), root), state);
}

}  // namespace

Rig lay_out_skeleton(const Sequence& sequence, const SkeletonFit& fit, const SkeletonOptions& options,
                     FitReport& report) {
  const Problem& problem = *fit.problem;
  const std::string& wanted = options.root;
  const std::optional<MirrorPlane> mirror = find_mirror_plane(problem.rest());
  const std::optional<MirrorPlane> plane = fit.symmetry.partner.empty() ? mirror : fit.symmetry.plane;
  const Facing facing = plane ? facing_of(sequence, problem, *plane) : Facing{};
  if (report.remark.empty()) report.remark = sentence_about(facing);
  FitState state = fit.state;
  JointTree tree = fit.tree;
  if (fit.symmetry.partner.empty()) root_at(central_bone(fit, edges_of(tree)), state, tree);
  std::vector<std::string> names = names_of(tree, bone_centroids(state, problem), mirror, fit.symmetry, facing.left);
  if (!wanted.empty() && wanted != "auto") {
    const auto found = std::find(names.begin(), names.end(), wanted);
    if (found == names.end())
      throw Error(
          ErrorKind::usage,
          fmt::format("skeleton: no bone is called '{}', the root asked for; a solve without a root shows the names",
                      wanted));
    root_at(static_cast<int>(found - names.begin()), state, tree);
    names = names_of(tree, bone_centroids(state, problem), mirror, fit.symmetry, facing.left);
  }
  const Eigen::Matrix3Xd centroid = bone_centroids(state, problem);
  tree.joint.col(0) = fit.body == nullptr ? centroid.col(0) : fit.body->middle(centroid.col(0));
  fit.symmetry.apply_to(tree.joint);
  Eigen::Matrix3Xd tail(3, tree.bones());
  for (int b = 0; b < tree.bones(); ++b) tail.col(b) = tail_of(fit, state, tree, b, centroid.col(b));
  fit.symmetry.apply_to(tail);

  Rig rig = to_rig(sequence, problem, state.D, state.weights, Transforms::rigid, options.influences);
  rig.jointed = true;
  const auto to_input = [&](const Eigen::Vector3d& x) -> Vector3 {
    return (x / problem.scaling().scale + problem.scaling().center).cast<float>();
  };
  for (int b = 0; b < tree.bones(); ++b)
    rig.bones[at(b)] = {names[at(b)], tree.parent[at(b)], to_input(tree.joint.col(b)), to_input(tail.col(b))};
  return rig;
}

}  // namespace sinew::skeleton
