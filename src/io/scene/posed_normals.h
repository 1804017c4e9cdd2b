#pragma once

#include <span>
#include <utility>
#include <vector>

#include "sinew/core/mesh.h"
#include "sinew/core/types.h"

namespace sinew {

/// Twice the area of a polygon times its normal.
Eigen::Vector3d area_vector(const ConstPointsMap& positions, std::span<const Index> corners);

/// Takes the normals of a part of a rest mesh along with its motion, since a sequence has positions only.
///
/// Corners that share a vertex and a rest normal form a group. The area vectors of a group's faces and the edge that
/// leaves its first corner make an orthonormal frame at rest and in a frame; the rest normal turns as the one turns
/// into the other. Smooth and hard edges and normals set by hand thus stay what they are, rigid motion turns normals
/// exactly as it turns the mesh, and a frame equal to the rest pose has the rest normals bit for bit.
class PosedNormals {
 public:
  /// Faces [first_face, first_face + faces) of a mesh that has normals, whose corners start at `first_corner`.
  PosedNormals(const Mesh& rest, std::size_t first_face, std::size_t faces, std::size_t first_corner);

  /// Group of each corner, in the order of the corners.
  const std::vector<Index>& groups() const { return group_of_corner_; }

  /// Normals of the rest pose, 3 per group.
  const std::vector<float>& rest() const { return rest_normals_; }

  /// Normals of a frame, 3 per group.
  std::vector<float> pose(const ConstPointsMap& positions) const;

 private:
  /// Area vector and edge of every group.
  struct Directions {
    Eigen::Matrix3Xd area;
    Eigen::Matrix3Xd edge;
  };
  Directions group_directions(const ConstPointsMap& positions) const;

  std::vector<Index> face_sizes_;
  std::vector<Index> corners_;
  std::vector<Index> group_of_corner_;
  std::vector<float> rest_normals_;
  std::vector<std::pair<Index, Index>> edge_of_group_;  // its two vertices
  Directions rest_directions_;
};

}  // namespace sinew
