#pragma once

#include <string>
#include <vector>

#include "solve/skeleton/bone_shapes.h"
#include "solve/skeleton/facing.h"
#include "solve/skeleton/tree.h"

/// Which part of a character every bone is, as far as shape, symmetry and gravity tell (up is +Y).
namespace sinew::skeleton {

/// A tree of bones seen from one of them.
struct RootedTree {
  std::vector<int> order;   // B; the root first, parents before children
  std::vector<int> parent;  // B; −1 for the root
  std::vector<std::vector<int>> children;
  Eigen::Matrix3Xd joint;  // 3×B; of a bone with its parent
};

RootedTree rooted(const std::vector<TreeEdge>& edges, int bones, int root);

/// A subtree and another of the same kind on the other side of the body.
struct LimbPair {
  int left;  // first bone of each
  int right;
  bool reaches_floor = false;
  double reach = 0;                                   // length along its bones, mean of both
  Eigen::Vector3d between = Eigen::Vector3d::Zero();  // of their first joints, the middle
};

/// What was found. Numbers of bones are those of the edges.
struct Anatomy {
  int root = 0;                  // the pelvis; where no legs tell, the bone in the middle
  std::vector<LimbPair> legs;    // from the front to the back
  std::vector<LimbPair> others;  // arms, wings, ears, …: largest first
  std::vector<int> spine;        // from the root (left out) to where the foremost limbs hang
  std::vector<int> neck;         // from there to the end: the last is the head
  std::vector<int> tail;         // from the root (left out) outwards
  bool upright = false;          // its spine stands rather than lies
  Eigen::Vector3d forward = Eigen::Vector3d::UnitZ();
};

/// The bone in the middle: what hangs from it is nowhere more than need be of the surface.
int middle_bone(const std::vector<TreeEdge>& edges, const BoneShapes& shapes);

/// Pairs of limbs of a tree, largest first; `left` and `right` are meant only after `tell_sides`. With sides known
/// (BoneShapes::left measured against the plane) by place, otherwise by size alone.
std::vector<LimbPair> limb_pairs(const RootedTree& tree, const BoneShapes& shapes, const MirrorPlane* plane);

/// The plane half-way between the legs of a character that does not rest symmetrically; nothing where the pairs do not
/// agree on one.
std::optional<MirrorPlane> plane_between(const RootedTree& tree, std::vector<LimbPair>& pairs);

/// Everything else, for pairs whose left is where `facing` says it is.
Anatomy anatomy_of(const RootedTree& tree, const BoneShapes& shapes, const std::vector<LimbPair>& pairs,
                   const Facing& facing);

/// A name for every bone that has a place: pelvis, spine_1, neck, head, tail_1, arm_L_1, leg_front_R_2, …; empty for
/// the others. Engine-safe and each only once.
std::vector<std::string> names_by_place(const RootedTree& tree, const BoneShapes& shapes, const Anatomy& anatomy);

}  // namespace sinew::skeleton
