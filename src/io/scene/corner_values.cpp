#include "io/scene/corner_values.h"

#include <fmt/format.h>

#include <Eigen/Geometry>
#include <Eigen/LU>
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <span>
#include <unordered_map>

#include "io/scene/posed_normals.h"

namespace sinew {
namespace {

/// Makes equal values one, so that corners that agree in value agree in index.
template <int N>
void weld(CornerAttribute<N>& attribute) {
  using Key = std::array<std::uint32_t, N>;
  struct Hash {
    std::size_t operator()(const Key& key) const {
      std::uint64_t hash = 0;
      for (const std::uint32_t word : key) hash = (hash ^ word) * 0x9e3779b97f4a7c15 + (hash >> 29);
      return static_cast<std::size_t>(hash);
    }
  };
  const std::size_t count = attribute.values.size() / N;
  std::unordered_map<Key, Index, Hash> known;
  known.reserve(count);
  std::vector<Index> merged(count);
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i) {
    Key key;
    for (std::size_t k = 0; k < N; ++k) key[k] = std::bit_cast<std::uint32_t>(attribute.values[N * i + k] + 0.0f);
    const auto [entry, added] = known.try_emplace(key, static_cast<Index>(known.size()));
    merged[i] = entry->second;
    if (added)
      for (std::size_t k = 0; k < N; ++k) values.push_back(attribute.values[N * i + k]);
  }
  if (known.size() == count) return;
  attribute.values = std::move(values);
  for (Index& index : attribute.indices) index = merged[index];
}

/// Gives corners without a normal the mean of the faces around their vertex.
void fill_normals(const std::string& archive_name, const Warnings& warn, Mesh& mesh) {
  if (std::ranges::find(mesh.normals.indices, kMissing) == mesh.normals.indices.end()) return;
  if (warn) warn(fmt::format("{}: meshes without normals get the mean of the faces around each vertex", archive_name));
  const ConstPointsMap positions(mesh.positions.data(), 3, mesh.positions.cols());
  Eigen::Matrix3Xd sums = Eigen::Matrix3Xd::Zero(3, mesh.positions.cols());
  std::size_t first = 0;
  for (const Index size : mesh.face_sizes) {
    const Eigen::Vector3d area = area_vector(positions, std::span(mesh.corners).subspan(first, size));
    for (std::size_t k = 0; k < size; ++k) sums.col(mesh.corners[first + k]) += area;
    first += size;
  }
  std::map<Index, Index> added;
  for (std::size_t c = 0; c < mesh.corners.size(); ++c) {
    if (mesh.normals.indices[c] != kMissing) continue;
    const Index vertex = mesh.corners[c];
    const auto [entry, fresh] = added.try_emplace(vertex, static_cast<Index>(mesh.normals.values.size() / 3));
    mesh.normals.indices[c] = entry->second;
    if (!fresh) continue;
    const double length = sums.col(vertex).norm();
    const Eigen::Vector3f n =
        length > 0 ? Eigen::Vector3f((sums.col(vertex) / length).cast<float>()) : Vector3::UnitY();
    mesh.normals.values.insert(mesh.normals.values.end(), n.begin(), n.end());
  }
}

}  // namespace

bool place_normals(const Eigen::Matrix4d& world, CornerAttribute<3>& normals) {
  constexpr double kUnit = 1e-6;  // | |n|^2 - 1 | <= kUnit counts as unit length
  const bool moved = !world.topLeftCorner<3, 3>().isIdentity(0);
  const Eigen::Matrix3d A = world.topLeftCorner<3, 3>();
  // The cofactor matrix is det(A) · A^-T: it takes normals along and exists for flat transforms as well.
  Eigen::Matrix3d cofactor;
  cofactor << A.col(1).cross(A.col(2)), A.col(2).cross(A.col(0)), A.col(0).cross(A.col(1));
  if (A.determinant() < 0) cofactor = -cofactor;
  for (std::size_t i = 0; i + 2 < normals.values.size(); i += 3) {
    Eigen::Map<Eigen::Vector3f> value(normals.values.data() + i);
    Eigen::Vector3d n = value.cast<double>();
    if (!moved && std::abs(n.squaredNorm() - 1) <= kUnit) continue;
    if (moved) n = cofactor * n;
    if (!(n.norm() > 0) || !std::isfinite(n.norm())) return false;
    value = n.normalized().cast<float>();
  }
  return true;
}

void complete_attributes(const std::string& archive_name, const Warnings& warn, Mesh& mesh) {
  const auto missing = [](const auto& attribute) {
    return std::ranges::find(attribute.indices, kMissing) != attribute.indices.end();
  };
  const auto fill = [&](auto& sets, std::string_view what, std::initializer_list<float> value) {
    std::erase_if(sets, [](const auto& set) { return set.empty(); });
    for (auto& set : sets) {
      set.indices.resize(mesh.corners.size(), kMissing);
      if (!missing(set)) continue;
      if (warn) warn(fmt::format("{}: some meshes have no {} '{}' and get a constant", archive_name, what, set.name));
      std::ranges::replace(set.indices, kMissing, static_cast<Index>(set.values.size() / value.size()));
      set.values.insert(set.values.end(), value);
    }
  };
  if (!mesh.face_materials.empty()) mesh.face_materials.resize(mesh.face_count(), -1);
  fill(mesh.uv_sets, "UVs", {0, 0});
  fill(mesh.color_sets, "colours", {1, 1, 1, 1});
  for (CornerAttribute<2>& uv : mesh.uv_sets) weld(uv);
  for (CornerAttribute<4>& colors : mesh.color_sets) weld(colors);
  fill_normals(archive_name, warn, mesh);
  weld(mesh.normals);
}

}  // namespace sinew
