#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "io/usd/model.h"
#include "io/usd/value.h"

namespace sinew::usd {
namespace {

constexpr std::size_t kMostVertices = std::numeric_limits<Index>::max() / 2;

/// The corners of a mesh as the file has them, and which are kept: faces of fewer than three corners are not.
struct Topology {
  std::vector<Index> sizes;
  std::vector<Index> corners;
  std::vector<Index> kept_faces;    // numbers of the file's faces
  std::vector<Index> kept_corners;  // numbers of the file's corners, turned where the mesh is left-handed
};

std::vector<Index> read_indices(const Stage& stage, const Prim& prim, const char* name, std::size_t below) {
  const std::optional<Value> value = stage.value(prim, name);
  std::vector<Index> out;
  if (!value) return out;
  for (const std::int64_t i : read_integers(stage.layer(), *value)) {
    if (i < 0 || static_cast<std::size_t>(i) >= below)
      stage.layer().refuse(fmt::format("<{}>: {} has {}, expected 0 to {}", prim.path, name, i, below - 1));
    out.push_back(static_cast<Index>(i));
  }
  return out;
}

/// Refuses faces that change over time.
void check_constant(const Stage& stage, const Prim& prim, const char* name) {
  const Attribute found = stage.attribute(prim, name);
  if (found.values == nullptr || found.values->samples.size() < 2) return;
  const auto& samples = found.values->samples;
  const std::vector<std::int64_t> first = read_integers(stage.layer(), samples[0].second);
  for (const auto& [code, value] : samples)
    if (value != samples[0].second && read_integers(stage.layer(), value) != first)
      stage.layer().refuse(fmt::format("<{}>: topology changes: {} at time code {} differs from {} at {}", prim.path,
                                       name, code, name, samples[0].first));
}

Topology read_topology(const Stage& stage, const Prim& prim, std::size_t vertices, const ReadOptions& options) {
  for (const char* name : {"faceVertexCounts", "faceVertexIndices"}) check_constant(stage, prim, name);
  Topology out;
  out.sizes = read_indices(stage, prim, "faceVertexCounts", kMostVertices);
  out.corners = read_indices(stage, prim, "faceVertexIndices", vertices);
  std::size_t sum = 0;
  for (const Index size : out.sizes) sum += size;
  if (sum != out.corners.size())
    stage.layer().refuse(
        fmt::format("<{}>: the faces have {} corners, there are {}", prim.path, sum, out.corners.size()));
  const bool turned = stage.text(prim, "orientation", "rightHanded") == "leftHanded";
  Index corner = 0;
  std::size_t dropped = 0;
  for (Index face = 0; face < out.sizes.size(); corner += out.sizes[face], ++face) {
    const Index size = out.sizes[face];
    if (size < 3) {
      ++dropped;
      continue;
    }
    out.kept_faces.push_back(face);
    out.kept_corners.push_back(corner);
    for (Index i = 1; i < size; ++i) out.kept_corners.push_back(corner + (turned ? size - i : i));
  }
  if (dropped > 0 && options.warn)
    options.warn(fmt::format("{}: <{}>: {} faces of fewer than three corners are left out", stage.layer().name,
                             prim.path, dropped));
  return out;
}

/// Values that belong to corners, vertices, faces or the mesh, as one index per kept corner.
template <int N>
std::optional<CornerAttribute<N>> read_corner_values(const Stage& stage, const Prim& prim, const std::string& name,
                                                     int width, const Topology& topology, std::size_t vertices,
                                                     const ReadOptions& options) {
  const std::optional<Value> value = stage.value(prim, name);
  if (!value) return std::nullopt;
  const std::vector<float> numbers = read_floats(stage.layer(), *value, width);
  const std::size_t count = numbers.size() / static_cast<std::size_t>(width);
  const std::vector<Index> indices =
      read_indices(stage, prim, (name + ":indices").c_str(), std::max<std::size_t>(count, 1));
  const std::optional<Value> told = stage.metadata(prim, name, "interpolation");
  // Normals that say nothing are per vertex; primvars are constant.
  const std::string how = told ? read_text(stage.layer(), *told) : name == "normals" ? "vertex" : "constant";
  const std::size_t items = indices.empty() ? count : indices.size();
  const bool per_vertex = how == "vertex" || how == "varying";
  const std::size_t expected = how == "constant"  ? 1
                               : how == "uniform" ? topology.sizes.size()
                               : per_vertex       ? vertices
                                                  : topology.corners.size();
  if (count == 0 || (how == "constant" ? items < 1 : items != expected)) {
    if (options.warn)
      options.warn(fmt::format("{}: <{}>: {} has {} values ({}), {} expected; it is left out", stage.layer().name,
                               prim.path, name, items, how, expected));
    return std::nullopt;
  }
  CornerAttribute<N> out;
  out.name = name.starts_with("primvars:") ? name.substr(9) : name;
  for (std::size_t i = 0; i < count; ++i)
    for (int k = 0; k < N; ++k)
      out.values.push_back(k < width ? numbers[i * static_cast<std::size_t>(width) + static_cast<std::size_t>(k)]
                                     : 1.0F);
  std::size_t at = 0;
  for (const Index face : topology.kept_faces)
    for (Index i = 0; i < topology.sizes[face]; ++i, ++at) {
      const Index corner = topology.kept_corners[at];
      const Index item = how == "constant"  ? 0
                         : how == "uniform" ? face
                         : per_vertex       ? topology.corners[corner]
                                            : corner;
      out.indices.push_back(indices.empty() ? item : indices[item]);
    }
  return out;
}

void read_normals(const Stage& stage, const Prim& prim, const Topology& topology, const ReadOptions& options,
                  MeshPart& part) {
  const std::string name = stage.value(prim, "primvars:normals") ? "primvars:normals" : "normals";
  auto found = read_corner_values<3>(stage, prim, name, 3, topology, part.vertex_count(), options);
  if (found) part.normals = std::move(*found);
}

/// Opacity beside the colour of the first set, where both are given for the same places.
void add_opacity(const CornerAttribute<4>& opacity, CornerAttribute<4>& color) {
  CornerAttribute<4> out;
  out.name = color.name;
  for (std::size_t c = 0; c < color.indices.size(); ++c) {
    const float* rgb = &color.values[4 * std::size_t{color.indices[c]}];
    out.values.insert(out.values.end(), {rgb[0], rgb[1], rgb[2], opacity.values[4 * std::size_t{opacity.indices[c]}]});
    out.indices.push_back(static_cast<Index>(c));
  }
  color = std::move(out);
}

/// UV sets ("st" first), then colours, the display colour first among them.
void read_primvars(const Stage& stage, const Prim& prim, const Topology& topology, const ReadOptions& options,
                   MeshPart& part) {
  std::vector<std::string> names = stage.property_names(prim);
  std::stable_partition(names.begin(), names.end(), [](const std::string& name) {
    return name == "primvars:st" || name == "primvars:displayColor";
  });
  for (const std::string& name : names) {
    if (!name.starts_with("primvars:") || name == "primvars:normals" || name.ends_with(":indices")) continue;
    const Attribute found = stage.attribute(prim, name);
    if (!found.has_value()) continue;
    const std::string& type = found.values->type;
    if (type.starts_with("texCoord2") || ((type == "float2[]" || type == "double2[]") && part.uv_sets.size() < 8)) {
      auto uv = read_corner_values<2>(stage, prim, name, 2, topology, part.vertex_count(), options);
      if (!uv) continue;
      for (std::size_t i = 1; i < uv->values.size(); i += 2) uv->values[i] = 1 - uv->values[i];  // v from the top here
      part.uv_sets.push_back(std::move(*uv));
    } else if (type.starts_with("color3") || type.starts_with("color4")) {
      const int width = type[5] - '0';
      auto color = read_corner_values<4>(stage, prim, name, width, topology, part.vertex_count(), options);
      if (color) part.color_sets.push_back(std::move(*color));
    }
  }
  if (part.color_sets.empty() || part.color_sets[0].name != "displayColor") return;
  const auto opacity =
      read_corner_values<4>(stage, prim, "primvars:displayOpacity", 1, topology, part.vertex_count(), options);
  if (opacity) add_opacity(*opacity, part.color_sets[0]);
}

/// Number of a material; what is none has none.
int material_number(const std::string& path, const Model& model) {
  const auto found = model.material_numbers.find(path);
  return found == model.material_numbers.end() ? -1 : found->second;
}

/// The material bound to a prim or, where it has none, to one above it.
int bound_material(const Stage& stage, std::size_t prim, const Model& model) {
  for (int at = static_cast<int>(prim); at >= 0; at = stage.prims()[static_cast<std::size_t>(at)].parent) {
    const auto bound = stage.targets(stage.prims()[static_cast<std::size_t>(at)], "material:binding");
    if (!bound.empty()) return material_number(bound.front(), model);
  }
  return -1;
}

void read_face_materials(const Stage& stage, std::size_t prim, const Topology& topology, const Model& model,
                         MeshPart& part) {
  std::vector<int> of_face(topology.sizes.size(), bound_material(stage, prim, model));
  for (std::size_t child = prim + 1; child < stage.prims().size(); ++child) {
    const Prim& subset = stage.prims()[child];
    if (!subset.path.starts_with(stage.prims()[prim].path + "/")) break;
    if (subset.type != "GeomSubset" || subset.parent != static_cast<int>(prim)) continue;
    const auto bound = stage.targets(subset, "material:binding");
    if (bound.empty() || stage.text(subset, "elementType", "face") != "face") continue;
    const int material = material_number(bound.front(), model);
    for (const Index face : read_indices(stage, subset, "indices", of_face.size())) of_face[face] = material;
  }
  if (std::all_of(of_face.begin(), of_face.end(), [](int m) { return m < 0; })) return;
  for (const Index face : topology.kept_faces) part.face_materials.push_back(of_face[face]);
}

}  // namespace

MeshPart read_mesh(const Stage& stage, std::size_t prim_number, const Model& model, const ReadOptions& options) {
  const Prim& prim = stage.prims()[prim_number];
  MeshPart part;
  part.name = prim.name;
  part.prim = prim_number;
  part.points = stage.attribute(prim, "points");
  if (!part.points.has_value()) return part;
  const Property& points = *part.points.values;
  // The value without a time is the rest pose, unless it is a mere stand-in for the samples.
  std::vector<float> numbers;
  if (points.value) numbers = read_floats(stage.layer(), *points.value, 3);
  if (!points.samples.empty()) {
    std::vector<float> first = read_floats(stage.layer(), points.samples.front().second, 3);
    if (first.size() != numbers.size()) numbers = std::move(first);
  }
  if (numbers.size() / 3 > kMostVertices)
    stage.layer().refuse(
        fmt::format("<{}> has {} vertices, at most {} are read", prim.path, numbers.size() / 3, kMostVertices));
  part.control.positions = Eigen::Map<const Points>(numbers.data(), 3, static_cast<Eigen::Index>(numbers.size() / 3));
  if (part.vertex_count() == 0) return part;
  const Topology topology = read_topology(stage, prim, part.vertex_count(), options);
  for (const Index face : topology.kept_faces) part.face_sizes.push_back(topology.sizes[face]);
  for (const Index corner : topology.kept_corners) part.corners.push_back(topology.corners[corner]);
  read_normals(stage, prim, topology, options, part);
  read_primvars(stage, prim, topology, options, part);
  read_face_materials(stage, prim_number, topology, model, part);
  return part;
}

}  // namespace sinew::usd
