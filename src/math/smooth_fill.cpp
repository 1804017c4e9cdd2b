#include "math/smooth_fill.h"

#include <Eigen/Geometry>
#include <Eigen/SparseCholesky>
#include <Eigen/SparseCore>
#include <algorithm>
#include <cmath>

#include "core/index.h"

namespace sinew {
namespace {

using Sparse = Eigen::SparseMatrix<double>;
using Triplet = Eigen::Triplet<double>;

constexpr double kSmallestCotangent = 1e-3;
constexpr double kLargestCotangent = 1e3;

/// L and the diagonal of M of a surface.
struct Surface {
  Sparse laplacian;
  Eigen::VectorXd area;
};

Surface make_surface(const Eigen::Matrix3Xd& positions, const std::vector<Index>& triangles, double scale) {
  Surface out;
  out.area = Eigen::VectorXd::Zero(positions.cols());
  std::vector<Triplet> entries;
  entries.reserve(4 * triangles.size());
  for (std::size_t t = 0; t + 2 < triangles.size(); t += 3)
    for (std::size_t i = 0; i < 3; ++i) {
      const Index a = triangles[t + (i + 1) % 3];
      const Index b = triangles[t + (i + 2) % 3];
      const Index apex = triangles[t + i];
      if (a == b || a == apex || b == apex) continue;
      const Eigen::Vector3d u = (positions.col(a) - positions.col(apex)) / scale;
      const Eigen::Vector3d v = (positions.col(b) - positions.col(apex)) / scale;
      const double twice = u.cross(v).norm();
      out.area[apex] += twice / 6;
      const double cotangent = u.dot(v) / std::max(twice, 1e-12);
      const double weight = std::clamp(cotangent, kSmallestCotangent, kLargestCotangent) / 2;
      entries.insert(entries.end(), {Triplet(static_cast<int>(a), static_cast<int>(b), -weight),
                                     Triplet(static_cast<int>(b), static_cast<int>(a), -weight),
                                     Triplet(static_cast<int>(a), static_cast<int>(a), weight),
                                     Triplet(static_cast<int>(b), static_cast<int>(b), weight)});
    }
  out.laplacian.resize(positions.cols(), positions.cols());
  out.laplacian.setFromTriplets(entries.begin(), entries.end());
  // A vertex of slivers alone would bend for nothing: no area is far below the others'.
  const double mean = out.area.size() == 0 ? 0 : out.area.mean();
  out.area = out.area.cwiseMax(1e-6 * mean).cwiseMax(1e-300);
  return out;
}

/// The unknown vertices that are joined to a known one by edges.
std::vector<bool> reached_from(const Sparse& laplacian, const std::vector<bool>& known) {
  std::vector<bool> seen = known;
  std::vector<Eigen::Index> open;
  for (std::size_t v = 0; v < known.size(); ++v)
    if (known[v]) open.push_back(index(v));
  while (!open.empty()) {
    const Eigen::Index v = open.back();
    open.pop_back();
    for (Sparse::InnerIterator entry(laplacian, v); entry; ++entry) {
      const auto u = static_cast<std::size_t>(entry.row());
      if (seen[u]) continue;
      seen[u] = true;
      open.push_back(entry.row());
    }
  }
  return seen;
}

}  // namespace

Eigen::MatrixXd smooth_fill(const Eigen::Matrix3Xd& positions, const std::vector<Index>& triangles,
                            const std::vector<bool>& known, Eigen::MatrixXd values) {
  if (positions.cols() == 0) return values;
  const double diagonal = (positions.rowwise().maxCoeff() - positions.rowwise().minCoeff()).norm();
  const Surface surface = make_surface(positions, triangles, std::max(diagonal, 1e-300));
  const std::vector<bool> reached = reached_from(surface.laplacian, known);
  std::vector<int> number(known.size(), -1);
  std::vector<Eigen::Index> unknown;
  for (std::size_t v = 0; v < known.size(); ++v)
    if (reached[v] && !known[v]) {
      number[v] = static_cast<int>(unknown.size());
      unknown.push_back(index(v));
    }
  if (unknown.empty()) return values;

  const Sparse bent = surface.laplacian * surface.area.cwiseInverse().asDiagonal() * surface.laplacian;
  const Sparse energy = surface.laplacian + bent;
  const auto count = index(unknown.size());
  Eigen::MatrixXd right = Eigen::MatrixXd::Zero(count, values.cols());
  std::vector<Triplet> entries;
  for (Eigen::Index i = 0; i < count; ++i)
    for (Sparse::InnerIterator entry(energy, unknown[static_cast<std::size_t>(i)]); entry; ++entry) {
      const int row = number[static_cast<std::size_t>(entry.row())];
      if (row >= 0)
        entries.emplace_back(row, static_cast<int>(i), entry.value());
      else
        right.row(i) -= entry.value() * values.row(entry.row());
    }
  Sparse system(count, count);
  system.setFromTriplets(entries.begin(), entries.end());
  const Eigen::SimplicialLDLT<Sparse> factor(system);
  const Eigen::MatrixXd solution = factor.solve(right);
  for (Eigen::Index i = 0; i < count; ++i) values.row(unknown[static_cast<std::size_t>(i)]) = solution.row(i);
  return values;
}

}  // namespace sinew
