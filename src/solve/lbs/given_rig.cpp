#include "solve/lbs/given_rig.h"
#include "core/index.h"
#include "solve/lbs/bones.h"

#include <algorithm>

namespace sinew::lbs {
namespace {}  // namespace

SparseWeights weights_in(const Rig& given, int capacity) {
  const auto K = static_cast<std::size_t>(given.weights.influences);
  SparseWeights weights(given.vertex_count(), std::max(capacity, given.weights.influences));
  for (std::size_t v = 0; v < given.vertex_count(); ++v) {
    std::size_t count = 0;
    for (std::size_t k = v * K; k < (v + 1) * K; ++k) {
      if (!(given.weights.values[k] > 0)) continue;
      weights.bone[weights.slot(v) + count] = static_cast<std::uint16_t>(given.weights.bones[k]);
      weights.value[weights.slot(v) + count++] = given.weights.values[k];
    }
    weights.count[v] = static_cast<std::uint16_t>(count);
  }
  return weights;
}

Eigen::MatrixXd motion_in(const Problem& problem, const Motion& motion) {
  Eigen::MatrixXd D = Eigen::MatrixXd::Zero(index(3 * problem.frame_count()), index(4 * motion.bone_count()));
  if (motion.frame_count() != problem.frame_count()) return D;
  for (std::size_t f = 0; f < motion.frame_count(); ++f) {
    for (std::size_t b = 0; b < motion.bone_count(); ++b) {
      D.block<3, 4>(index(3 * f), index(4 * b)) =
          problem.to_scaled(motion(f, b)) - problem.common().middleRows<3>(index(3 * f));
    }
  }
  return D;
}

Eigen::MatrixXd motion_in(const Problem& problem, const Rig& given, const std::vector<std::uint8_t>& locked,
                          Transforms transforms) {
  Eigen::MatrixXd D = motion_in(problem, given.motion);
  if (transforms == Transforms::affine || given.frame_count() != problem.frame_count()) return D;
  Eigen::Matrix3Xd centers(3, index(given.bone_count()));
  for (std::size_t b = 0; b < given.bone_count(); ++b) {
    centers.col(index(b)) = (given.bones[b].head.cast<double>() - problem.scaling().center) * problem.scaling().scale;
  }
  Eigen::MatrixXd rigid = D;
  make_rigid(problem, centers, rigid);
  for (std::size_t b = 0; b < given.bone_count(); ++b) {
    if (locked[b] == 0) D.middleCols<4>(index(4 * b)) = rigid.middleCols<4>(index(4 * b));
  }
  return D;
}

}  // namespace sinew::lbs
