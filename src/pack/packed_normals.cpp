#include "pack/packed_normals.h"

#include <meshoptimizer.h>

#include <Eigen/Geometry>
#include <cmath>
#include <cstring>

#include "io/scene/split_mesh.h"

namespace sinew::pack {

std::vector<float> normals_of(const Rig& rig, const DrawnPiece& piece, const Points& normals) {
  const Mesh& mesh = rig.rest;
  std::vector<float> own;
  if (!mesh.normals.empty()) own = gltf::vertex_values<3>(piece.corner, mesh.normals, {0.0F, 0.0F, 1.0F});
  std::vector<float> out;
  for (std::size_t i = 0; i < piece.point.size(); ++i) {
    const Vector3 given =
        own.empty() ? Vector3(normals.col(piece.point[i])) : Vector3(Eigen::Map<const Vector3>(own.data() + 3 * i));
    Eigen::Vector3d n = given.cast<double>();
    n = n.norm() > 1e-30 ? Eigen::Vector3d(n.normalized()) : Eigen::Vector3d::UnitZ();
    for (Eigen::Index c = 0; c < 3; ++c) out.push_back(static_cast<float>(n[c]));
    out.push_back(0);
  }
  return out;
}

std::size_t bytes_of_normal(int bits) {
  return bits <= 8 ? 4 : 8;
}

double normals_lost(const Rig& rig, const std::vector<DrawnPiece>& pieces, const Points& normals, int bits) {
  double squares = 0;
  std::size_t count = 0;
  if (bits == 0) return 0;
  for (const DrawnPiece& piece : pieces) {
    if (!piece.lit) continue;
    const std::vector<float> exact = normals_of(rig, piece, normals);
    const std::size_t bytes = bytes_of_normal(bits);
    std::vector<std::int8_t> coded(piece.point.size() * bytes);
    meshopt_encodeFilterOct(coded.data(), piece.point.size(), bytes, bits, exact.data());
    meshopt_decodeFilterOct(coded.data(), piece.point.size(), bytes);
    for (std::size_t i = 0; i < piece.point.size(); ++i, ++count) {
      Eigen::Vector3d n;
      for (Eigen::Index c = 0; c < 3; ++c) {
        std::int16_t wide = 0;
        std::memcpy(&wide, coded.data() + i * bytes + (bytes == 8 ? 2 * static_cast<std::size_t>(c) : 0), 2);
        n[c] = bytes == 8 ? wide : coded[i * bytes + static_cast<std::size_t>(c)];
      }
      const Eigen::Vector3d e = Eigen::Map<const Vector3>(exact.data() + 4 * i).cast<double>();
      const double angle = std::atan2(e.cross(n).norm(), e.dot(n));
      squares += angle * angle;
    }
  }
  return count == 0 ? 0 : std::sqrt(squares / static_cast<double>(count)) * 180 / 3.14159265358979323846;
}

}  // namespace sinew::pack
