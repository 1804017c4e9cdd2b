#pragma once

#include <Eigen/Core>
#include <limits>
#include <string>

#include "sinew/core/mesh.h"
#include "sinew/io/io.h"

/// Corner attributes of meshes that are put together from several: appended one mesh after another, completed at the
/// end.
namespace sinew {

/// Marks corners of meshes without an attribute until all meshes are there and the gaps can be filled.
inline constexpr Index kMissing = std::numeric_limits<Index>::max();

/// Appends the attribute of one mesh, or gaps where it has none; corners_before and corners_after count the corners
/// before it and with it.
template <int N>
void append_attribute(CornerAttribute<N>&& part, std::size_t corners_before, std::size_t corners_after,
                      CornerAttribute<N>& whole) {
  if (part.empty() && whole.empty()) return;
  if (whole.name.empty()) whole.name = part.name;
  whole.indices.resize(corners_before, kMissing);
  const auto base = static_cast<Index>(whole.values.size() / N);
  whole.values.insert(whole.values.end(), part.values.begin(), part.values.end());
  for (const Index index : part.indices) whole.indices.push_back(base + index);
  whole.indices.resize(corners_after, kMissing);
}

/// Completes attributes that only some of the pieces have ((0, 0) for UVs, white, area-weighted vertex normals) and
/// makes equal values one.
void complete_attributes(const std::string& archive_name, const Warnings& warn, Mesh& mesh);

/// Normals by the inverse transpose into world space and to unit length; false when one has no direction there.
bool place_normals(const Eigen::Matrix4d& world, CornerAttribute<3>& normals);

}  // namespace sinew
