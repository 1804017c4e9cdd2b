#include "math/point_tree.h"

#include <algorithm>
#include <nanoflann.hpp>

namespace sinew {

struct PointTree::Tree {
  /// nanoflann's view of the points.
  struct Cloud {
    const Points& points;
    std::size_t kdtree_get_point_count() const { return static_cast<std::size_t>(points.cols()); }
    double kdtree_get_pt(std::size_t i, std::size_t c) const {
      return static_cast<double>(points(static_cast<Eigen::Index>(c), static_cast<Eigen::Index>(i)));
    }
    template <class Box>
    bool kdtree_get_bbox(Box& /*box*/) const {
      return false;
    }
  };
  using KdTree =
      nanoflann::KDTreeSingleIndexAdaptor<nanoflann::L2_Simple_Adaptor<double, Cloud>, Cloud, 3, std::size_t>;

  explicit Tree(const Points& points) : cloud{points}, tree(3, cloud, nanoflann::KDTreeSingleIndexAdaptorParams(10)) {
    tree.buildIndex();
  }
  Cloud cloud;
  KdTree tree;
};

PointTree::PointTree(const Points& points) : tree_(std::make_unique<Tree>(points)) {}
PointTree::~PointTree() = default;

std::vector<Index> PointTree::nearest(const Vector3& place, std::size_t most) const {
  std::vector<std::size_t> found(most);
  std::vector<double> distances(most);
  const Eigen::Vector3d at = place.cast<double>();
  const std::size_t count = tree_->tree.knnSearch(at.data(), most, found.data(), distances.data());
  std::vector<std::pair<double, Index>> sorted;
  for (std::size_t i = 0; i < count; ++i) sorted.emplace_back(distances[i], static_cast<Index>(found[i]));
  std::sort(sorted.begin(), sorted.end());
  std::vector<Index> out;
  for (const auto& [distance, point] : sorted) out.push_back(point);
  return out;
}

}  // namespace sinew
