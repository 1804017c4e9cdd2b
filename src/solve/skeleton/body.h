#pragma once

#include <cstdint>
#include <unordered_map>

#include "math/surface_tree.h"
#include "sinew/core/mesh.h"
#include "solve/lbs/problem.h"

namespace sinew::skeleton {

/// The rest shape, in which the joints of a skeleton are to lie; problem's units, in which its radius is 1.
///
/// A search asks for the same places over and over: what is inside and where the middle is are kept by the cells of a
/// grid. For one thread at a time.
class Body {
 public:
  Body(const Mesh& rest, const lbs::Scaling& scaling);

  /// Encloses nothing: a sheet, or no faces at all. Joints then go where they will.
  bool hollow() const { return hollow_; }

  bool holds(const Eigen::Vector3d& x) const;

  /// The same told to a fifth of a percent of the radius: quick where the same places are asked about again.
  bool roughly_holds(const Eigen::Vector3d& x) const;

  /// The middle of the limb at x: away from the surface as far as that goes, to where another side is as near. Told to
  /// a quarter of a percent of the radius.
  Eigen::Vector3d middle(const Eigen::Vector3d& x) const;

  /// A point inside for one outside: just below the nearest surface where that is near, else the last point inside on
  /// the way from `anchor`, which is inside.
  Eigen::Vector3d brought_in(const Eigen::Vector3d& x, const Eigen::Vector3d& anchor) const;

 private:
  struct Cell {
    bool within;  // its middle is
    bool cut;     // by the surface, so that its points differ
  };

  Cell cell_at(const Eigen::Vector3d& x, double side, std::unordered_map<std::uint64_t, Cell>& cells) const;
  Eigen::Vector3d middle_from(const Eigen::Vector3d& x) const;

  SurfaceTree surface_;
  mutable std::unordered_map<std::uint64_t, Eigen::Vector3d> middles_;
  mutable std::unordered_map<std::uint64_t, Cell> cells_;
  mutable std::unordered_map<std::uint64_t, Cell> small_cells_;  // within those that are cut
  bool hollow_ = false;
};

}  // namespace sinew::skeleton
