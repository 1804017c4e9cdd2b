// Starting flats [Liu2020 §4.1]: an affine map per one-ring (eq. 8), principal components of the best of them.

#include "solve/flats/one_rings.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "math/adjacency.h"
#include "math/decompositions.h"
#include "math/parallel.h"
#include "solve/flats/kernels.h"

namespace sinew::flats {
VertexMaps fit_one_rings(const FlatProblem& problem, const Mesh& mesh, int threads) {
  const Eigen::Index r = problem.rank;
  const Adjacency rings = mesh_adjacency(mesh);
  VertexMaps maps;
  maps.maps.resize(4 * r, static_cast<Eigen::Index>(problem.vertices));
  maps.error.resize(problem.vertices);
  maps.flatness.resize(problem.vertices);
  parallel_for(problem.vertices, 256, threads, [&](std::size_t begin, std::size_t end) {
    Eigen::MatrixXd C(4, r);
    Eigen::RowVectorXd y(r);
    for (std::size_t v = begin; v < end; ++v) {
      Eigen::Matrix4d K = Eigen::Matrix4d::Zero();
      C.setZero();
      const auto add = [&](std::size_t j) {
        Eigen::Vector4d u;
        for (std::size_t c = 0; c < 4; ++c) u(static_cast<Eigen::Index>(c)) = problem.rest(j, c);
        for (Eigen::Index k = 0; k < r; ++k) y(k) = problem.points(j, static_cast<std::size_t>(k));
        K += u * u.transpose();
        C += u * y;
      };
      add(v);
      for (const Index j : rings[v]) add(j);
      const Eigen::Vector3d mean = K.topRightCorner<3, 1>() / K(3, 3);
      const Eigen::Matrix3d spread = K.topLeftCorner<3, 3>() / K(3, 3) - mean * mean.transpose();
      const SymmetricEigen3 axes = symmetric_eigen3(spread);
      const double widest = axes.values(2);
      maps.flatness[v] = widest > 0 ? std::max(0.0, axes.values(0)) / widest : 0;
      // Centred fit: the linear part on the directions that the ring spans, zero (the base map) on the others.
      Eigen::Matrix3d inverse = Eigen::Matrix3d::Zero();
      for (int k = 0; k < 3; ++k)
        if (axes.values(k) > 1e-9 * widest && axes.values(k) > 0)
          inverse += axes.vectors.col(k) * axes.vectors.col(k).transpose() / axes.values(k);
      const Eigen::RowVectorXd target = C.row(3) / K(3, 3);
      const Eigen::Matrix3Xd centred = C.topRows<3>() / K(3, 3) - mean * target;
      const Eigen::Matrix3Xd linear = inverse * centred;
      Eigen::Map<Eigen::MatrixXd> map(maps.maps.col(static_cast<Eigen::Index>(v)).data(), 4, r);
      map.topRows(3) = linear;
      map.row(3) = target - mean.transpose() * linear;
      const auto squared_error = [&](std::size_t j) {
        Eigen::Vector4d u;
        for (std::size_t c = 0; c < 4; ++c) u(static_cast<Eigen::Index>(c)) = problem.rest(j, c);
        for (Eigen::Index k = 0; k < r; ++k) y(k) = problem.points(j, static_cast<std::size_t>(k));
        return (y - u.transpose() * map).squaredNorm();
      };
      maps.error[v] = squared_error(v);
      for (const Index j : rings[v]) maps.error[v] += squared_error(j);
    }
  });
  return maps;
}

std::vector<std::size_t> best_maps(const VertexMaps& maps, double fraction, double min_flatness) {
  std::vector<std::size_t> usable;
  for (std::size_t v = 0; v < maps.error.size(); ++v)
    if (maps.flatness[v] > min_flatness) usable.push_back(v);
  std::sort(usable.begin(), usable.end(), [&](std::size_t a, std::size_t b) {
    return maps.error[a] != maps.error[b] ? maps.error[a] < maps.error[b] : a < b;
  });
  usable.resize(static_cast<std::size_t>(std::ceil(fraction * static_cast<double>(usable.size()))));
  return usable;
}

Eigen::MatrixXd flat_through(const VertexMaps& maps, const std::vector<std::size_t>& chosen, int handles) {
  const Eigen::Index size = maps.maps.rows();
  const Eigen::Index r = size / 4;
  Eigen::MatrixXd points(size, static_cast<Eigen::Index>(chosen.size()));
  for (std::size_t n = 0; n < chosen.size(); ++n)
    points.col(static_cast<Eigen::Index>(n)) = maps.maps.col(static_cast<Eigen::Index>(chosen[n]));
  const Eigen::VectorXd mean = points.rowwise().mean();
  points.colwise() -= mean;
  Eigen::MatrixXd theta = Eigen::MatrixXd::Zero(4 * handles, r);
  theta.topRows(4) = Eigen::Map<const Eigen::MatrixXd>(mean.data(), 4, r);
  const bool wide = points.cols() >= size;
  const SymmetricEigen eigen = symmetric_eigen(wide ? Eigen::MatrixXd(points * points.transpose())
                                                    : Eigen::MatrixXd(points.transpose() * points));
  const Eigen::Index count = std::min<Eigen::Index>(handles - 1, eigen.values.size());
  for (Eigen::Index k = 0; k < count; ++k) {
    const Eigen::VectorXd axis = eigen.vectors.col(eigen.values.size() - 1 - k);
    Eigen::VectorXd direction = wide ? axis : Eigen::VectorXd(points * axis);
    // Principal components have no sign of their own: the map farthest along this one lies on its positive side.
    const Eigen::VectorXd along = points.transpose() * direction;
    if (along.maxCoeff() < -along.minCoeff()) direction = -direction;
    theta.middleRows(4 * (k + 1), 4) = Eigen::Map<const Eigen::MatrixXd>(direction.data(), 4, r);
  }
  return theta;
}

}  // namespace sinew::flats
