#include "math/mirror.h"
#include "math/decompositions.h"

#include <algorithm>
#include <cmath>
#include <nanoflann.hpp>

namespace sinew {
namespace {

constexpr double kWithin = 0.015;  // of the diagonal
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

/// Combination of the neighbours of an image that is the image: least squares of weights that grow with the distance,
/// subject to Σ w = 1 and Σ w x = image as far as the neighbours span it.
void combine(const Eigen::Matrix3Xd& points, const Eigen::Vector3d& image, const std::array<double, 6>& squared,
             MirrorImage& out) {
  Eigen::Matrix<double, 4, Eigen::Dynamic> constraint(4, out.count);  // offsets from the image, then ones
  Eigen::VectorXd ease(out.count);
  const double reach = std::sqrt(squared[static_cast<std::size_t>(out.count) - 1]);
  for (int i = 0; i < out.count; ++i) {
    const auto n = static_cast<std::size_t>(i);
    constraint.col(i).head<3>() = (points.col(out.point[n]) - image) / reach;
    constraint(3, i) = 1;
    ease[i] = 1 / (squared[n] / (reach * reach) + 1e-3);
  }
  Eigen::Matrix4d normal = constraint * ease.asDiagonal() * constraint.transpose();
  normal.diagonal().head<3>().array() += 1e-3 * normal.diagonal().maxCoeff();  // flat neighbourhoods span a plane only
  const Eigen::Vector4d y = solve_symmetric(normal, Eigen::Vector4d::UnitW());
  Eigen::VectorXd w = ease.asDiagonal() * (constraint.transpose() * y);
  w /= w.sum();
  for (int i = 0; i < out.count; ++i) out.weight[static_cast<std::size_t>(i)] = w[i];
}

}  // namespace

MirrorFit best_mirror_plane(const Eigen::Matrix3Xd& points) {
  MirrorFit best;
  if (points.cols() < 4) return best;
  const Eigen::Vector3d low = points.rowwise().minCoeff();
  const Eigen::Vector3d high = points.rowwise().maxCoeff();
  const double diagonal = (high - low).norm();
  if (!(diagonal > 0)) return best;
  const Eigen::Vector3d mean = points.rowwise().mean();
  const Eigen::Matrix3Xd centred = points.colwise() - mean;
  const SymmetricEigen3 principal = symmetric_eigen3(centred * centred.transpose());

  std::vector<Eigen::Vector3d> normals{Eigen::Vector3d::UnitX(), Eigen::Vector3d::UnitZ(), Eigen::Vector3d::UnitY()};
  for (int i = 0; i < 3; ++i) normals.emplace_back(principal.vectors.col(i));
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
      const double share = mirrored_share(tree, points, plane, kWithin * diagonal);
      if (share > best.share) best = {plane, share};
      if (share >= kMirroredShare) return best;
    }
  }
  return best;
}

std::optional<MirrorPlane> find_mirror_plane(const Eigen::Matrix3Xd& points) {
  const MirrorFit best = best_mirror_plane(points);
  return best.share >= kMirroredShare ? std::optional(best.plane) : std::nullopt;
}

std::vector<MirrorImage> mirror_images(const Eigen::Matrix3Xd& points, const MirrorPlane& plane) {
  std::vector<MirrorImage> out(static_cast<std::size_t>(points.cols()));
  const Cloud cloud{points};
  Tree tree(3, cloud, nanoflann::KDTreeSingleIndexAdaptorParams(10));
  tree.buildIndex();
  const double same = 1e-5 * (points.rowwise().maxCoeff() - points.rowwise().minCoeff()).norm();
  for (std::size_t v = 0; v < out.size(); ++v) {
    const Eigen::Vector3d image = plane.mirrored(points.col(static_cast<Eigen::Index>(v)));
    std::array<double, MirrorImage::kMost> squared{};
    out[v].count =
        static_cast<int>(tree.knnSearch(image.data(), MirrorImage::kMost, out[v].point.data(), squared.data()));
    if (squared[0] <= same * same) {
      out[v].count = 1;
      out[v].weight[0] = 1;
    } else {
      combine(points, image, squared, out[v]);
    }
  }
  return out;
}

}  // namespace sinew
