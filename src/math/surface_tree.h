#pragma once

#include <Eigen/Core>
#include <cmath>
#include <cstdint>
#include <vector>

#include "sinew/core/types.h"

namespace sinew {

/// The nearest point of a triangle, corners as columns: on its face, or on the nearest of its edges.
Eigen::Vector3d nearest_on(const Eigen::Matrix3d& triangle, const Eigen::Vector3d& x);

/// The shares of a triangle's corners in a point on it.
Eigen::Vector3d shares_on(const Eigen::Matrix3d& triangle, const Eigen::Vector3d& on);

/// A hierarchy over the triangles of a surface that answers what is inside and what is nearest.
///
/// Inside is read off the generalised winding number [Jacobson 2013]: the share of all directions in which the surface
/// is seen from within, 1 inside and 0 outside a closed one. A surface with holes has values between, several
/// components add up, and one that is turned inside out counts as well: inside is where its size is above a half. Far
/// triangles are seen as one dipole per node [Barill 2018].
class SurfaceTree {
 public:
  /// `triangles`: three vertex numbers each, counter-clockwise seen from outside. Those without area are left out.
  SurfaceTree(const Eigen::Matrix3Xd& positions, const std::vector<Index>& triangles);

  bool empty() const { return nodes_.empty(); }

  double winding(const Eigen::Vector3d& x) const;
  bool inside(const Eigen::Vector3d& x) const { return std::abs(winding(x)) > 0.5; }

  /// The nearest point of the surface; x itself where there is none.
  Eigen::Vector3d nearest(const Eigen::Vector3d& x) const { return closest(x).point; }

  /// A point of the surface: which triangle of those given, and the shares of its corners.
  struct Place {
    std::size_t triangle = 0;
    Eigen::Vector3d weights = Eigen::Vector3d::UnitX();  // >= 0, sum 1
    Eigen::Vector3d point = Eigen::Vector3d::Zero();
  };
  /// The nearest one. Where there is no surface its point is x.
  Place closest(const Eigen::Vector3d& x) const;

 private:
  struct Node {
    Eigen::Vector3d low = Eigen::Vector3d::Zero();  // bounds
    Eigen::Vector3d high = Eigen::Vector3d::Zero();
    Eigen::Vector3d centre = Eigen::Vector3d::Zero();  // weighted by area
    Eigen::Vector3d normal = Eigen::Vector3d::Zero();  // sum of area vectors
    double radius = 0;                                 // of the ball around the centre that holds all
    std::uint32_t first = 0, last = 0;                 // triangles
    std::uint32_t right = 0;                           // its second child; the first comes next; 0: a leaf
  };

  std::uint32_t build(std::uint32_t first, std::uint32_t last);
  void summarise(Node& node) const;

  struct Triangle {
    Eigen::Matrix3d corners;  // as columns
    std::size_t number;       // among those given
  };
  std::vector<Triangle> triangles_;
  std::vector<Node> nodes_;
};

}  // namespace sinew
