#include "io/alembic/mesh.h"

#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <unordered_map>

#include "io/scene/corner_values.h"

namespace sinew::alembic {
namespace {

/// Faces of one sample as stored: clockwise seen from outside.
struct StoredFaces {
  std::vector<std::int32_t> sizes;
  std::vector<std::int32_t> corners;
};

/// Which stored face and corner became which of ours. Faces with fewer than three corners are left out.
struct FaceOrder {
  std::vector<Index> faces;    // stored face of each of our faces
  std::vector<Index> corners;  // stored corner of each of our corners
  std::vector<Index> face_of;  // stored face of each of our corners
};

Samples open_array(const Archive& archive, const MeshSource& source, std::string_view name, ElementType type,
                   std::size_t extent) {
  const Property* property = find(source.geometry, name);
  if (property == nullptr)
    archive.refuse(fmt::format("{}: a {} without {}", source.node->path, source.node->type, name));
  if (!property->is(type, extent) || property->kind != PropertyKind::array)
    archive.refuse(fmt::format("{}: not an array of {} {}-byte elements", property->path, extent, element_size(type)));
  return archive.samples(*property);
}

StoredFaces read_faces(const Archive& archive, const MeshSource& source, const Moment& rest) {
  StoredFaces faces;
  const auto at = [&](const Samples& samples) { return rest.sample(archive, samples.property()); };
  if (!source.face_sizes.empty()) faces.sizes = source.face_sizes.values<std::int32_t>(at(source.face_sizes));
  if (!source.corners.empty()) faces.corners = source.corners.values<std::int32_t>(at(source.corners));
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < faces.sizes.size(); ++i) {
    if (faces.sizes[i] < 0)
      archive.refuse(fmt::format("{}: face {} has {} corners", source.node->path, i, faces.sizes[i]));
    sum += static_cast<std::uint64_t>(faces.sizes[i]);
  }
  if (sum != faces.corners.size())
    archive.refuse(
        fmt::format("{}: face sizes add up to {} corners, there are {}", source.node->path, sum, faces.corners.size()));
  for (std::size_t c = 0; c < faces.corners.size(); ++c)
    if (faces.corners[c] < 0 || static_cast<std::size_t>(faces.corners[c]) >= source.vertices)
      archive.refuse(fmt::format("{}: corner {} is vertex {}, there are {}", source.node->path, c, faces.corners[c],
                                 source.vertices));
  return faces;
}

/// Stored faces are clockwise, ours are not: each is reversed, unless the transform mirrors it already.
FaceOrder order_faces(const StoredFaces& stored, bool mirrored) {
  FaceOrder order;
  Index first = 0;
  for (std::size_t i = 0; i < stored.sizes.size(); ++i) {
    const auto size = static_cast<Index>(stored.sizes[i]);
    if (size >= 3) {
      order.faces.push_back(static_cast<Index>(i));
      for (Index k = 0; k < size; ++k) {
        order.corners.push_back(first + (mirrored ? k : size - 1 - k));
        order.face_of.push_back(static_cast<Index>(i));
      }
    }
    first += size;
  }
  return order;
}

/// Reads the faces' attributes of one mesh.
class AttributeReader {
 public:
  AttributeReader(const Archive& archive, const MeshSource& source, const Moment& rest, const StoredFaces& stored,
                  const FaceOrder& order, const Warnings& warn)
      : archive_(archive), source_(source), rest_(rest), stored_(stored), order_(order), warn_(warn) {}

  /// The attribute `name` of the geometry, one index per corner of ours; empty when there is none.
  template <int N>
  CornerAttribute<N> read(const Properties& properties, std::string_view name) const {
    CornerAttribute<N> out;
    const Property* property = find(properties, name);
    if (property == nullptr) return out;
    const bool indexed = property->kind == PropertyKind::compound;
    const Properties parts = indexed ? archive_.open(*property) : Properties{};
    const Property* values = indexed ? find(parts, ".vals") : property;
    if (values == nullptr || values->samples == 0) return out;
    if (!values->is(ElementType::float32, N)) {
      if (warn_)
        warn_(fmt::format("{}: {} does not hold {} floats an item and is left out", archive_.container().name(),
                          values->path, N));
      return out;
    }
    out.name = property->metadata["sourceName"];
    out.values = archive_.samples(*values).values<float>(rest_.sample(archive_, *values));
    const std::size_t count = out.values.size() / N;
    std::vector<std::uint32_t> table;
    if (const Property* indices = find(parts, ".indices"); indices != nullptr && indices->samples > 0) {
      if (!indices->is(ElementType::uint32, 1))
        archive_.refuse(fmt::format("{}: not an array of unsigned numbers", indices->path));
      table = archive_.samples(*indices).values<std::uint32_t>(rest_.sample(archive_, *indices));
    } else {
      table.resize(count);
      std::iota(table.begin(), table.end(), 0);
    }
    const auto item = item_of_corner(*property, table.size());
    if (!item) return {};
    for (std::size_t c = 0; c < order_.corners.size(); ++c) {
      const std::uint32_t index = table[item(c)];
      if (index >= count)
        archive_.refuse(fmt::format("{}: index {} at corner {}, there are {} values", property->path, index,
                                    order_.corners[c], count));
      out.indices.push_back(index);
    }
    for (const float value : out.values)
      if (!std::isfinite(value)) archive_.refuse(fmt::format("{}: holds a number that is not finite", property->path));
    return out;
  }

 private:
  /// Which of `count` items belongs to a corner of ours, by the scope that the property states, or by the count where
  /// it states none. Null when the property has no items at all.
  std::function<std::size_t(std::size_t)> item_of_corner(const Property& property, std::size_t count) const {
    const std::string_view scope = property.metadata["geoScope"];
    const std::size_t corners = stored_.corners.size();
    const auto expect = [&](std::size_t wanted, std::string_view what) {
      if (count != wanted)
        archive_.refuse(fmt::format("{}: {} items, the mesh has {} {}", property.path, count, wanted, what));
    };
    if (count == 0) return nullptr;
    if (scope == "fvr" || (scope.empty() && count == corners)) {
      expect(corners, "corners");
      return [this](std::size_t c) { return order_.corners[c]; };
    }
    if (scope == "uni") {
      expect(stored_.sizes.size(), "faces");
      return [this](std::size_t c) { return order_.face_of[c]; };
    }
    if (scope == "con") {
      expect(1, "value in all");
      return [](std::size_t) { return 0; };
    }
    expect(source_.vertices, "vertices");
    return [this](std::size_t c) { return static_cast<std::size_t>(stored_.corners[order_.corners[c]]); };
  }

  const Archive& archive_;
  const MeshSource& source_;
  const Moment& rest_;
  const StoredFaces& stored_;
  const FaceOrder& order_;
  const Warnings& warn_;
};

/// The set of this name, new where there is none. Set 0 is the one that has a place of its own in the geometry.
template <class Set>
Set& named_set(std::vector<Set>& sets, const std::string& name, std::size_t first) {
  for (std::size_t i = first; i < sets.size(); ++i)
    if (sets[i].name == name) return sets[i];
  sets.resize(std::max(first, sets.size()) + 1);
  sets.back().name = name;
  return sets.back();
}

/// The UVs of the geometry, then further ones and colours among its other values.
void append_uv_and_colors(const Archive& archive, const MeshSource& source, const AttributeReader& attributes,
                          std::size_t corners_before, Mesh& out) {
  const auto read_uv = [&](const Properties& properties, std::string_view name) {
    CornerAttribute<2> uv = attributes.read<2>(properties, name);
    for (std::size_t i = 1; i < uv.values.size(); i += 2) uv.values[i] = 1 - uv.values[i];  // ours count from the top
    return uv;
  };
  if (out.uv_sets.empty()) out.uv_sets.emplace_back();
  append_attribute(read_uv(source.geometry, "uv"), corners_before, out.corners.size(), out.uv_sets.front());
  const Properties others = archive.open(source.geometry, ".arbGeomParams");
  for (const Property& property : others) {
    const std::string_view meaning = property.metadata["interpretation"];
    const std::string_view extent = property.metadata["podExtent"];
    if (property.metadata["podName"] != "float32_t") continue;
    if (meaning == "vector" && extent == "2") {
      append_attribute(read_uv(others, property.name), corners_before, out.corners.size(),
                       named_set(out.uv_sets, property.name, 1));
    } else if (meaning == "rgba" && extent == "4") {
      append_attribute(attributes.read<4>(others, property.name), corners_before, out.corners.size(),
                       named_set(out.color_sets, property.name, 0));
    } else if (meaning == "rgb" && extent == "3") {
      const CornerAttribute<3> rgb = attributes.read<3>(others, property.name);
      CornerAttribute<4> colors{rgb.name, {}, rgb.indices};
      for (std::size_t i = 0; i < rgb.values.size(); i += 3)
        colors.values.insert(colors.values.end(), {rgb.values[i], rgb.values[i + 1], rgb.values[i + 2], 1});
      append_attribute(std::move(colors), corners_before, out.corners.size(),
                       named_set(out.color_sets, property.name, 0));
    }
  }
}

int material_index(const std::string& name, Appearance& appearance) {
  const auto found = std::ranges::find(appearance.materials, name, &Material::name);
  if (found == appearance.materials.end()) appearance.materials.push_back({name, {}});
  return static_cast<int>(std::ranges::find(appearance.materials, name, &Material::name) -
                          appearance.materials.begin());
}

/// Face sets become materials; a face in several belongs to the first.
void append_face_sets(const Archive& archive, const MeshSource& source, const Moment& rest, const FaceOrder& order,
                      std::size_t stored_faces, std::size_t faces_before, Mesh& out) {
  std::vector<int> material(stored_faces, -1);
  for (const Node* node : source.face_sets) {
    const Properties properties = archive.open(node->properties, ".faceset");
    const Property* faces = find(properties, ".faces");
    if (faces == nullptr || faces->samples == 0) continue;
    if (!faces->is(ElementType::int32, 1)) archive.refuse(fmt::format("{}: not an array of numbers", faces->path));
    const int number = material_index(node->name, out.appearance);
    for (const std::int32_t face : archive.samples(*faces).values<std::int32_t>(rest.sample(archive, *faces))) {
      if (face < 0 || static_cast<std::size_t>(face) >= stored_faces)
        archive.refuse(fmt::format("{}: face {}, the mesh has {}", faces->path, face, stored_faces));
      int& own = material[static_cast<std::size_t>(face)];
      if (own < 0) own = number;
    }
  }
  if (source.face_sets.empty() && out.face_materials.empty()) return;
  out.face_materials.resize(faces_before, -1);
  for (const Index face : order.faces) out.face_materials.push_back(material[face]);
}

}  // namespace

MeshSource open_mesh(const Archive& archive, const std::vector<Node>& nodes, int index) {
  MeshSource source;
  source.node = &nodes[static_cast<std::size_t>(index)];
  source.index = index;
  // Children follow their parent at greater depth.
  for (std::size_t i = static_cast<std::size_t>(index) + 1; i < nodes.size() && nodes[i].depth > source.node->depth;
       ++i)
    if (nodes[i].parent == index && nodes[i].type == "FaceSet") source.face_sets.push_back(&nodes[i]);
  source.geometry = archive.open(source.node->properties, ".geom");
  source.points = open_array(archive, source, "P", ElementType::float32, 3);
  source.face_sizes = open_array(archive, source, ".faceCounts", ElementType::int32, 1);
  source.corners = open_array(archive, source, ".faceIndices", ElementType::int32, 1);
  return source;
}

bool read_reference_pose(const Archive& archive, const MeshSource& source, const Moment& rest,
                         std::span<float> points) {
  const Properties others = archive.open(source.geometry, ".arbGeomParams");
  const Property* property = find(others, "Pref");
  if (property == nullptr || property->samples == 0 || !property->is(ElementType::float32, 3)) return false;
  const Samples samples = archive.samples(*property);
  const std::size_t sample = rest.sample(archive, *property);
  if (samples.items(sample) != source.vertices) return false;
  samples.read(sample, std::as_writable_bytes(points));
  return true;
}

void append_mesh(const Archive& archive, const MeshSource& source, const Moment& rest, const Eigen::Matrix4d& world,
                 const Warnings& warn, Mesh& out) {
  const StoredFaces stored = read_faces(archive, source, rest);
  const FaceOrder order = order_faces(stored, world.topLeftCorner<3, 3>().determinant() < 0);
  if (order.faces.size() != stored.sizes.size() && warn)
    warn(fmt::format("{}: {}: {} faces with fewer than 3 corners are left out", archive.container().name(),
                     source.node->path, stored.sizes.size() - order.faces.size()));
  const std::size_t corners_before = out.corners.size();
  const std::size_t faces_before = out.face_sizes.size();
  for (const Index face : order.faces) out.face_sizes.push_back(static_cast<Index>(stored.sizes[face]));
  for (const Index corner : order.corners)
    out.corners.push_back(static_cast<Index>(source.first_vertex) + static_cast<Index>(stored.corners[corner]));

  const AttributeReader attributes(archive, source, rest, stored, order, warn);
  append_uv_and_colors(archive, source, attributes, corners_before, out);
  CornerAttribute<3> normals = source.at_reference
                                   ? attributes.read<3>(archive.open(source.geometry, ".arbGeomParams"), "Nref")
                                   : attributes.read<3>(source.geometry, "N");
  if (!place_normals(world, normals)) {
    if (warn)
      warn(fmt::format("{}: {}: a normal has no direction; the normals are left out", archive.container().name(),
                       source.node->path));
    normals = {};
  }
  append_attribute(std::move(normals), corners_before, out.corners.size(), out.normals);
  append_face_sets(archive, source, rest, order, stored.sizes.size(), faces_before, out);
  out.pieces.push_back({source.node->name, static_cast<Index>(source.first_vertex), static_cast<Index>(source.vertices),
                        static_cast<Index>(faces_before), static_cast<Index>(out.face_sizes.size() - faces_before)});
}

void check_same_faces(const Archive& archive, const MeshSource& source, const Moment& rest, const Moment& now) {
  for (const Samples* samples : {&source.face_sizes, &source.corners}) {
    if (samples->empty() || samples->property().constant) continue;
    const std::size_t first = rest.sample(archive, samples->property());
    const std::size_t sample = now.sample(archive, samples->property());
    if (samples->entry(first) == samples->entry(sample)) continue;
    const std::size_t wanted = samples->items(first);
    const std::size_t found = samples->items(sample);
    const std::string_view what = samples == &source.corners ? "corners" : "faces";
    if (wanted != found)
      archive.refuse(fmt::format("{}: topology changes: sample {} has {} {}, sample {} has {}", source.node->path,
                                 sample, found, what, first, wanted));
    if (samples->values<std::int32_t>(first) != samples->values<std::int32_t>(sample))
      archive.refuse(fmt::format("{}: topology changes: the {} {} of sample {} differ from the {} of sample {}",
                                 source.node->path, found, what, sample, wanted, first));
  }
}

}  // namespace sinew::alembic
