#include "sinew/evaluate/rig_match.h"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "core/index.h"
#include "math/assignment.h"
#include "sinew/core/error.h"

namespace sinew {
namespace {

/// Weights of one vertex, one for each bone.
void weights_of(const SkinWeights& weights, std::size_t v, Eigen::VectorXd& row) {
  const auto K = static_cast<std::size_t>(weights.influences);
  row.setZero();
  for (std::size_t k = 0; k < K; ++k)
    row[static_cast<Eigen::Index>(weights.bones[v * K + k])] += weights.values[v * K + k];
}

/// For each known bone the one it is paired with, or -1: the sum of |a - b|² over all pairs is least.
std::vector<int> partners(const Rig& found, const Rig& known) {
  Eigen::MatrixXd cost = Eigen::MatrixXd::Zero(index(known.bone_count()), index(found.bone_count()));
  Eigen::VectorXd a(cost.rows());
  Eigen::VectorXd b(cost.cols());
  for (std::size_t v = 0; v < known.vertex_count(); ++v) {
    weights_of(known.weights, v, a);
    weights_of(found.weights, v, b);
    cost.colwise() += a.cwiseAbs2();
    cost.rowwise() += b.cwiseAbs2().transpose();
    cost.noalias() -= 2 * a * b.transpose();
  }
  return least_assignment(cost);
}

/// Mean of |a - b| over vertices and known bones.
double weight_error(const Rig& found, const Rig& known, const std::vector<int>& partner) {
  Eigen::VectorXd a(index(known.bone_count()));
  Eigen::VectorXd b(index(found.bone_count()));
  double sum = 0;
  for (std::size_t v = 0; v < known.vertex_count(); ++v) {
    weights_of(known.weights, v, a);
    weights_of(found.weights, v, b);
    for (std::size_t i = 0; i < partner.size(); ++i)
      sum += std::abs(a[index(i)] - (partner[i] < 0 ? 0.0 : b[partner[i]]));
  }
  return sum / std::max(1.0, static_cast<double>(known.vertex_count() * known.bone_count()));
}

/// The blended transform of a vertex in a frame.
Affine blended(const Rig& rig, std::size_t f, std::size_t v) {
  const auto K = static_cast<std::size_t>(rig.weights.influences);
  Affine sum = Affine::Zero();
  for (std::size_t k = 0; k < K; ++k) {
    const float w = rig.weights.values[v * K + k];
    if (w > 0) sum += w * rig.motion(f, rig.weights.bones[v * K + k]);
  }
  return sum;
}

double mean_difference(const Affine& a, const Affine& b) {
  return (a - b).cast<double>().cwiseAbs().mean();
}

}  // namespace

RigMatch match_rigs(const Rig& found, const Rig& known) {
  if (found.vertex_count() != known.vertex_count() || found.frame_count() != known.frame_count())
    throw Error(ErrorKind::input,
                fmt::format("the rig has {} vertices and {} frames, the known one {} and {}", found.vertex_count(),
                            found.frame_count(), known.vertex_count(), known.frame_count()));
  RigMatch out;
  out.partner = partners(found, known);
  out.weight_error = weight_error(found, known, out.partner);
  std::size_t paired = 0;
  for (std::size_t b = 0; b < known.bone_count(); ++b) {
    if (out.partner[b] < 0) continue;
    ++paired;
    for (std::size_t f = 0; f < known.frame_count(); ++f)
      out.transform_error += mean_difference(found.motion(f, at(out.partner[b])), known.motion(f, b));
  }
  const auto F = static_cast<double>(known.frame_count());
  const auto V = static_cast<double>(known.vertex_count());
  out.transform_error /= std::max(1.0, static_cast<double>(paired) * F);
  for (std::size_t f = 0; f < known.frame_count(); ++f)
    for (std::size_t v = 0; v < known.vertex_count(); ++v)
      out.vertex_transform_error += mean_difference(blended(found, f, v), blended(known, f, v));
  out.vertex_transform_error /= std::max(1.0, V * F);
  return out;
}

}  // namespace sinew
