#include "sinew/core/mesh.h"

#include <fmt/format.h>

#include <Eigen/Geometry>
#include <array>
#include <cmath>

#include "core/refuse.h"

namespace sinew {
namespace {

template <int N>
void check_attribute(const CornerAttribute<N>& attribute, std::size_t corners, const std::string& name,
                     const char* what) {
  if (attribute.empty()) return;
  if (attribute.indices.size() != corners)
    refuse(
        fmt::format("{}: {} has {} entries, the faces have {} corners", name, what, attribute.indices.size(), corners));
  const std::size_t values = attribute.values.size() / N;
  for (std::size_t c = 0; c < corners; ++c)
    if (attribute.indices[c] >= values)
      refuse(fmt::format("{}: {} index {} at corner {}, there are {} values", name, what, attribute.indices[c], c,
                         values));
  for (const float value : attribute.values)
    if (!std::isfinite(value)) refuse(fmt::format("{}: {} holds a number that is not finite", name, what));
}

void check_pieces(const Mesh& mesh, const std::string& name) {
  std::size_t vertex = 0;
  std::size_t face = 0;
  for (const Piece& piece : mesh.pieces) {
    if (piece.first_vertex != vertex || piece.first_face != face)
      refuse(fmt::format("{}: piece '{}' does not start where the one before it ends", name, piece.name));
    vertex += piece.vertices;
    face += piece.faces;
  }
  if (!mesh.pieces.empty() && (vertex != mesh.vertex_count() || face != mesh.face_count()))
    refuse(fmt::format("{}: pieces hold {} vertices and {} faces, the mesh has {} and {}", name, vertex, face,
                       mesh.vertex_count(), mesh.face_count()));
}

double cross2(const Eigen::Vector2d& a, const Eigen::Vector2d& b) {
  return a.x() * b.y() - a.y() * b.x();
}

/// Cuts one polygon with more than three corners by ear clipping; appends corner numbers starting at `first`.
void clip_ears(const Mesh& mesh, Index first, Index size, std::vector<Index>& out) {
  Eigen::Vector3d area = Eigen::Vector3d::Zero();
  const auto point = [&](Index i) -> Eigen::Vector3d {
    return mesh.positions.col(mesh.corners[first + i]).cast<double>();
  };
  const Eigen::Vector3d origin = point(0);
  for (Index i = 1; i + 1 < size; ++i) area += (point(i) - origin).cross(point(i + 1) - origin);
  Eigen::Vector3d u = area.unitOrthogonal();
  if (!u.allFinite()) u = Eigen::Vector3d::UnitX();
  const Eigen::Vector3d w =
      area.squaredNorm() > 0 ? Eigen::Vector3d(area.normalized().cross(u)) : Eigen::Vector3d::UnitY();

  std::vector<Eigen::Vector2d> flat(size);
  std::vector<Index> left(size);
  for (Index i = 0; i < size; ++i) {
    const Eigen::Vector3d d = point(i) - origin;
    flat[i] = {d.dot(u), d.dot(w)};
    left[i] = i;
  }
  const auto is_ear = [&](std::size_t at) {
    const std::size_t n = left.size();
    const Index a = left[(at + n - 1) % n];
    const Index b = left[at];
    const Index c = left[(at + 1) % n];
    if (cross2(flat[b] - flat[a], flat[c] - flat[b]) <= 0) return false;
    for (const Index i : left) {
      if (i == a || i == b || i == c) continue;
      const Eigen::Vector2d& p = flat[i];
      if (cross2(flat[b] - flat[a], p - flat[a]) >= 0 && cross2(flat[c] - flat[b], p - flat[b]) >= 0 &&
          cross2(flat[a] - flat[c], p - flat[c]) >= 0)
        return false;
    }
    return true;
  };
  while (left.size() > 3) {
    const std::size_t n = left.size();
    // Corner 1 first, so that convex polygons become the fan around corner 0; any corner when none is an ear
    // (degenerate polygons), so that the loop always ends.
    std::size_t at = 1;
    for (std::size_t tried = 0; tried < n; ++tried) {
      const std::size_t candidate = (1 + tried) % n;
      if (is_ear(candidate)) {
        at = candidate;
        break;
      }
    }
    out.insert(out.end(), {first + left[(at + n - 1) % n], first + left[at], first + left[(at + 1) % n]});
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(at));
  }
  out.insert(out.end(), {first + left[0], first + left[1], first + left[2]});
}

}  // namespace

void Mesh::check(const std::string& name) const {
  const std::size_t vertices = vertex_count();
  std::size_t corner_count = 0;
  for (std::size_t i = 0; i < face_sizes.size(); ++i) {
    if (face_sizes[i] < 3)
      refuse(fmt::format("{}: face {} has {} corners, at least 3 are needed", name, i, face_sizes[i]));
    corner_count += face_sizes[i];
  }
  if (corner_count != corners.size())
    refuse(fmt::format("{}: face sizes add up to {} corners, there are {}", name, corner_count, corners.size()));
  for (std::size_t c = 0; c < corners.size(); ++c)
    if (corners[c] >= vertices)
      refuse(fmt::format("{}: corner {} refers to vertex {}, there are {} vertices", name, c, corners[c], vertices));
  for (std::size_t v = 0; v < vertices; ++v)
    if (!positions.col(static_cast<Eigen::Index>(v)).allFinite())
      refuse(fmt::format("{}: position of vertex {} is not finite", name, v));
  for (const auto& uv : uv_sets) check_attribute(uv, corners.size(), name, "a UV set");
  check_attribute(normals, corners.size(), name, "the normals");
  for (const auto& colors : color_sets) check_attribute(colors, corners.size(), name, "a colour set");
  if (!face_materials.empty() && face_materials.size() != face_count())
    refuse(fmt::format("{}: {} face materials for {} faces", name, face_materials.size(), face_count()));
  for (const int material : face_materials)
    if (material < -1 || material >= static_cast<int>(appearance.materials.size()))
      refuse(fmt::format("{}: a face uses material {}, there are {}", name, material, appearance.materials.size()));
  check_pieces(*this, name);
  for (const Shape& shape : shapes) {
    const bool whole = shape.offsets.cols() == positions.cols() &&
                       (shape.normal_offsets.cols() == 0 || shape.normal_offsets.cols() == positions.cols());
    if (!whole || !shape.offsets.allFinite() || !shape.normal_offsets.allFinite())
      refuse(fmt::format("{}: shape '{}' has no finite offset for each of {} vertices", name, shape.name, vertices));
  }
}

std::vector<Index> triangulate_corners(const Mesh& mesh) {
  std::vector<Index> out;
  out.reserve((mesh.corners.size() - 2 * mesh.face_count()) * 3);
  Index first = 0;
  for (const Index size : mesh.face_sizes) {
    if (size == 3)
      out.insert(out.end(), {first, first + 1, first + 2});
    else
      clip_ears(mesh, first, size, out);
    first += size;
  }
  return out;
}

std::vector<Index> triangles_of(const Mesh& mesh) {
  std::vector<Index> corners = triangulate_corners(mesh);
  for (Index& corner : corners) corner = mesh.corners[corner];
  return corners;
}

}  // namespace sinew
