#include "sinew/math/mirror.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cstdint>
#include <nanoflann.hpp>

namespace sinew {
namespace {

constexpr double kWithin = 0.015;  // of the diagonal
constexpr double kShare = 0.95;
constexpr Eigen::Index kSamples = 2000;

/// nanoflann's view of a matrix of points.
struct Cloud {
  const Eigen::Matrix3Xd& points;
  std::size_t kdtree_get_point_count() const { return static_cast<std::size_t>(points.cols()); }
  double kdtree_get_pt(std::size_t i, std::size_t axis) const {
    return points(static_cast<Eigen::Index>(axis), static_cast<Eigen::Index>(i));
  }
  template <class Box>
  bool kdtree_get_bbox(Box& /*box*/) const {
    return false;
  }
};
using Tree = nanoflann::KDTreeSingleIndexAdaptor<nanoflann::L2_Simple_Adaptor<double, Cloud>, Cloud, 3>;

/// Share of sampled points whose mirror image is on the shape.
double mirrored_share(const Tree& tree, const Eigen::Matrix3Xd& points, const MirrorPlane& plane, double within) {
  const Eigen::Index step = std::max<Eigen::Index>(1, points.cols() / kSamples);
  Eigen::Index tried = 0;
  Eigen::Index hit = 0;
  for (Eigen::Index v = 0; v < points.cols(); v += step, ++tried) {
    const Eigen::Vector3d image = plane.mirrored(points.col(v));
    std::uint32_t nearest = 0;
    double squared = 0;
    tree.knnSearch(image.data(), 1, &nearest, &squared);
    if (squared <= within * within) ++hit;
  }
  return tried == 0 ? 0 : static_cast<double>(hit) / static_cast<double>(tried);
}

}  // namespace

std::optional<MirrorPlane> find_mirror_plane(const Eigen::Matrix3Xd& points) {
  if (points.cols() < 4) return std::nullopt;
  const Eigen::Vector3d low = points.rowwise().minCoeff();
  const Eigen::Vector3d high = points.rowwise().maxCoeff();
  const double diagonal = (high - low).norm();
  if (!(diagonal > 0)) return std::nullopt;
  const Eigen::Vector3d mean = points.rowwise().mean();
  const Eigen::Matrix3Xd centred = points.colwise() - mean;
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> principal(centred * centred.transpose());

  std::vector<Eigen::Vector3d> normals{Eigen::Vector3d::UnitX(), Eigen::Vector3d::UnitZ(), Eigen::Vector3d::UnitY()};
  for (int i = 0; i < 3; ++i) normals.emplace_back(principal.eigenvectors().col(i));
  const Cloud cloud{points};
  Tree tree(3, cloud, nanoflann::KDTreeSingleIndexAdaptorParams(10));
  tree.buildIndex();
  for (Eigen::Vector3d normal : normals) {
    Eigen::Index largest = 0;
    normal.cwiseAbs().maxCoeff(&largest);
    if (normal[largest] < 0) normal = -normal;
    const Eigen::VectorXd along = points.transpose() * normal;
    if (along.maxCoeff() - along.minCoeff() < 2 * kWithin * diagonal) continue;
    // The middle of the extent, the mean, and the origin plane that modellers use.
    for (const double offset : {0.5 * (along.maxCoeff() + along.minCoeff()), normal.dot(mean), 0.0}) {
      const MirrorPlane plane{normal, offset};
      if (mirrored_share(tree, points, plane, kWithin * diagonal) >= kShare) return plane;
    }
  }
  return std::nullopt;
}

}  // namespace sinew
