#pragma once

#include <cstdint>
#include <functional>

#include "solve/skeleton/skeleton_fit.h"

/// Changes of bones, edges and influences that alternation cannot make.
namespace sinew::skeleton {

/// Takes bone b out of the tree: its neighbours join the one it blends with most, each keeping its joint.
void contract_bone(SkeletonFit& fit, int b);

/// So many bones one after the other: `next` names the one that goes in the skeleton without those before, whose bones
/// have other numbers.
void contract_bones(SkeletonFit& fit, int count, const std::function<int(const SkeletonFit&)>& next);

/// Makes one bone of b and the bone it blends with most: that gets its weights and neighbours, and the motion that
/// fits both. Where two bones did the work of one, contract_bone() would leave the motion of one of them.
void merge_bone(SkeletonFit& fit, int b);

/// Takes away the bones that cost least until `most` are left, with two rounds after each.
void shrink_to(SkeletonFit& fit, int most);

/// Adds bones where they gain most.
void grow_by(SkeletonFit& fit, int count, std::uint64_t seed);

/// Exchanges edges of the tree for others across the same cut while that lowers the error for the current weights.
/// Returns how many were exchanged.
int exchange_edges(SkeletonFit& fit);

/// Allows more influences per vertex for a while, then takes them back one by one.
void loosen(SkeletonFit& fit);

}  // namespace sinew::skeleton
