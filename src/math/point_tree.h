#pragma once

#include <Eigen/Core>
#include <memory>
#include <vector>

#include "sinew/core/types.h"

namespace sinew {

/// Points that are searched by place. The points must outlive the tree.
class PointTree {
 public:
  explicit PointTree(const Points& points);
  ~PointTree();
  PointTree(const PointTree&) = delete;
  PointTree& operator=(const PointTree&) = delete;

  /// At most `most` points, the nearest first; of equally near ones the first.
  std::vector<Index> nearest(const Vector3& place, std::size_t most) const;

 private:
  struct Tree;
  std::unique_ptr<Tree> tree_;
};

}  // namespace sinew
