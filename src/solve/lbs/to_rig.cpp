#include "solve/lbs/to_rig.h"
#include "core/index.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

namespace sinew::lbs {
namespace {

/// Rows of descending weight that sum to 1; slots that nothing uses are {0, 0}.
SkinWeights pack(const SparseWeights& weights, int influences) {
  const auto K = static_cast<std::size_t>(influences);
  SkinWeights packed;
  packed.influences = influences;
  packed.bones.assign(weights.vertex_count() * K, 0);
  packed.values.assign(weights.vertex_count() * K, 0);
  std::vector<std::size_t> order;
  for (std::size_t v = 0; v < weights.vertex_count(); ++v) {
    const float* value = weights.value.data() + weights.slot(v);
    order.resize(weights.count[v]);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return value[a] > value[b]; });
    order.resize(std::min(order.size(), K));
    double sum = 0;
    for (const std::size_t k : order) sum += value[k];
    for (std::size_t k = 0; k < order.size(); ++k) {
      packed.bones[v * K + k] = weights.bone[weights.slot(v) + order[k]];
      packed.values[v * K + k] = static_cast<float>(value[order[k]] / sum);
    }
  }
  return packed;
}

/// Head at the centre of the weights, tail where they end on the longer side.
void place_bones(const Mesh& rest, const SkinWeights& weights, std::vector<Bone>& bones) {
  Eigen::Matrix3Xd center = Eigen::Matrix3Xd::Zero(3, index(bones.size()));
  std::vector<double> mass(bones.size(), 0);
  const auto K = static_cast<std::size_t>(weights.influences);
  const auto for_each = [&](const auto& visit) {
    for (std::size_t i = 0; i < weights.values.size(); ++i) {
      if (weights.values[i] > 0)
        visit(weights.bones[i], static_cast<double>(weights.values[i]),
              rest.positions.col(index(i / K)).cast<double>());
    }
  };
  for_each([&](Index b, double w, const Eigen::Vector3d& p) { center.col(b) += w * p, mass[b] += w; });
  for (std::size_t b = 0; b < bones.size(); ++b) {
    if (mass[b] > 0) center.col(index(b)) /= mass[b];
  }
  std::vector<double> reach(bones.size(), 0);
  Eigen::Matrix3Xd tail = center;
  for_each([&](Index b, double w, const Eigen::Vector3d& p) {
    const double distance = w * (p - center.col(b)).norm();
    if (distance > reach[b]) reach[b] = distance, tail.col(b) = p;
  });
  for (std::size_t b = 0; b < bones.size(); ++b) {
    bones[b].head = center.col(index(b)).cast<float>();
    bones[b].tail = tail.col(index(b)).cast<float>();
  }
}

}  // namespace

Rig to_rig(const Sequence& sequence, const Problem& problem, const Eigen::MatrixXd& D, const SparseWeights& weights,
           Transforms transforms, int influences) {
  const auto B = static_cast<std::size_t>(D.cols() / 4);
  Rig rig;
  rig.rest = sequence.rest;
  rig.times = sequence.times;
  rig.clips = sequence.clips;
  rig.transforms = transforms;
  const int fullest = *std::max_element(weights.count.begin(), weights.count.end());
  rig.weights = pack(weights, influences == 0 ? fullest : influences);
  rig.bones.resize(B);
  for (std::size_t b = 0; b < B; ++b) rig.bones[b].name = "bone_" + std::to_string(b);
  place_bones(rig.rest, rig.weights, rig.bones);
  rig.motion = Motion(problem.frame_count(), B);
  for (std::size_t f = 0; f < problem.frame_count(); ++f) {
    for (std::size_t b = 0; b < B; ++b) {
      const Eigen::Matrix<double, 3, 4> T =
          D.block<3, 4>(index(3 * f), index(4 * b)) + problem.common().middleRows<3>(index(3 * f));
      rig.motion(f, b) = problem.to_input(T);
    }
  }
  return rig;
}

}  // namespace sinew::lbs
