#pragma once

#include <gmock/gmock.h>

#include <Eigen/LU>
#include <cmath>
#include <cstddef>

#include "sinew/core/rig.h"

/// Matchers for what the maths promises; each prints where it is broken.
namespace sinew::test {

/// A 3×4 transform whose linear part is a rotation within `tolerance`.
MATCHER_P(IsRigid, tolerance, "is a rotation and a translation") {
  const Eigen::Matrix3d A = arg.template leftCols<3>().template cast<double>();
  if (!arg.allFinite()) {
    *result_listener << "it is not finite";
    return false;
  }
  Eigen::Index row = 0;
  Eigen::Index column = 0;
  const Eigen::Matrix3d defect = A.transpose() * A - Eigen::Matrix3d::Identity();
  const double most = defect.cwiseAbs().maxCoeff(&row, &column);
  if (most > tolerance) {
    *result_listener << "AᵀA - I has " << defect(row, column) << " at (" << row << ", " << column << ")";
    return false;
  }
  if (A.determinant() < 0) {
    *result_listener << "it reflects";
    return false;
  }
  return true;
}

/// A vector (or row) of numbers >= 0 that sum to 1 within `tolerance`.
MATCHER_P(IsConvexRow, tolerance, "has entries >= 0 that sum to 1") {
  double sum = 0;
  for (Eigen::Index i = 0; i < arg.size(); ++i) {
    const auto value = static_cast<double>(arg(i));
    if (!std::isfinite(value) || value < 0) {
      *result_listener << "entry " << i << " is " << value;
      return false;
    }
    sum += value;
  }
  if (std::abs(sum - 1) > tolerance) {
    *result_listener << "the sum is " << sum;
    return false;
  }
  return true;
}

/// SkinWeights whose every row is convex within 1e-6·K, with at most `influences` bones each.
MATCHER_P(HasConvexRows, influences, "has convex rows") {
  const auto slots = static_cast<std::size_t>(arg.influences);
  for (std::size_t v = 0; v < arg.vertex_count(); ++v) {
    double sum = 0;
    int used = 0;
    for (std::size_t k = 0; k < slots; ++k) {
      const double value = arg.values[v * slots + k];
      if (!std::isfinite(value) || value < 0) {
        *result_listener << "vertex " << v << ", slot " << k << ": weight " << value;
        return false;
      }
      used += value > 0 ? 1 : 0;
      sum += value;
    }
    if (std::abs(sum - 1) > 1e-6 * arg.influences) {
      *result_listener << "vertex " << v << ": weights sum to " << sum;
      return false;
    }
    if (used > influences) {
      *result_listener << "vertex " << v << ": " << used << " bones";
      return false;
    }
  }
  return true;
}

}  // namespace sinew::test
