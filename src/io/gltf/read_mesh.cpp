#include "io/gltf/read_mesh.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "sinew/core/error.h"

namespace sinew::gltf {
namespace {

/// Raw vertices of a mesh while its primitives are joined.
struct RawVertices {
  bool started = false;  // a primitive has been read
  std::size_t count = 0;
  std::vector<float> positions;             // ×3
  std::vector<std::vector<Index>> joints;   // per set ×4
  std::vector<std::vector<float>> weights;  // per set ×4
  std::vector<std::vector<float>> targets;  // per target ×3
  std::vector<std::vector<float>> target_normals;
  std::vector<float> control_points;  // _CONTROL_POINT; empty: none
  std::vector<bool> used;
};

/// Reads attribute `key` of a primitive and appends it to `out`, which has held `before` vertices and shall hold
/// `count` more; `fill` stands where there is none. Returns whether there is one.
template <class T, class Read>
bool append_attribute(const Document& document, const Json& attributes, const std::string& key, std::size_t before,
                      std::size_t count, std::size_t width, T fill, const std::string& where, std::vector<T>& out,
                      const Read& read) {
  const std::optional<std::size_t> accessor = document.index(attributes, key.c_str(), "accessors", where);
  if (!accessor) {
    if (!out.empty()) out.resize((before + count) * width, fill);
    return false;
  }
  if (document.element_count(*accessor) != count)
    document.refuse(
        fmt::format("{}: {} has {} entries, POSITION has {}", where, key, document.element_count(*accessor), count));
  out.resize(before * width, fill);
  const std::vector<T> values = read(*accessor);
  out.insert(out.end(), values.begin(), values.end());
  return true;
}

/// Appends sets KEY_0, KEY_1, ... as long as there are any.
template <class T, class Read>
void append_sets(const Document& document, const Json& attributes, const char* key, std::size_t before,
                 std::size_t count, std::size_t width, T fill, const std::string& where,
                 std::vector<std::vector<T>>& sets, const Read& read) {
  for (std::size_t set = 0;; ++set) {
    const std::string name = fmt::format("{}_{}", key, set);
    const bool present = attributes.contains(name);
    if (!present && set >= sets.size()) return;
    if (set >= sets.size()) sets.emplace_back();
    append_attribute(document, attributes, name, before, count, width, fill, where, sets[set], read);
  }
}

std::vector<float> read_colors(const Document& document, std::size_t accessor, const std::string& where) {
  if (document.width(accessor) == 4) return document.floats(accessor, 4, where);
  const std::vector<float> rgb = document.floats(accessor, 3, where);
  std::vector<float> out;
  for (std::size_t i = 0; i + 2 < rgb.size(); i += 3) out.insert(out.end(), {rgb[i], rgb[i + 1], rgb[i + 2], 1.0F});
  return out;
}

void append_targets(const Document& document, const Json& primitive, std::size_t count, const std::string& where,
                    RawVertices& raw) {
  const Json& targets = document.array(primitive, "targets", where);
  if (!raw.started) raw.targets.resize(targets.size());
  raw.started = true;
  if (targets.size() != raw.targets.size())
    document.refuse(fmt::format("{}: {} morph targets, the mesh's first primitive has {}", where, targets.size(),
                                raw.targets.size()));
  raw.target_normals.resize(targets.size());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (!targets[i].is_object()) document.refuse(fmt::format("{}: morph target {} is not an object", where, i));
    const auto read = [&](std::size_t accessor) { return document.floats(accessor, 3, where); };
    append_attribute(document, targets[i], "POSITION", raw.count, count, 3, 0.0F, where, raw.targets[i], read);
    append_attribute(document, targets[i], "NORMAL", raw.count, count, 3, 0.0F, where, raw.target_normals[i], read);
    raw.targets[i].resize((raw.count + count) * 3, 0.0F);
  }
}

/// Appends the vertices of one primitive.
void append_vertices(const Document& document, const Json& primitive, const std::string& where, RawVertices& raw,
                     MeshData& out) {
  const Json* attributes = document.find(primitive, "attributes");
  if (attributes == nullptr || !attributes->is_object()) document.refuse(fmt::format("{} has no attributes", where));
  const std::size_t accessor = document.required_index(*attributes, "POSITION", "accessors", where);
  const std::vector<float> positions = document.floats(accessor, 3, where);
  const std::size_t count = positions.size() / 3;
  const std::size_t before = raw.count;
  raw.positions.insert(raw.positions.end(), positions.begin(), positions.end());
  append_targets(document, primitive, count, where, raw);
  const auto floats = [&](int width) {
    return [&document, &where, width](std::size_t index) { return document.floats(index, width, where); };
  };
  append_attribute(document, *attributes, "NORMAL", before, count, 3, 0.0F, where, out.normals, floats(3));
  append_attribute(document, *attributes, "_CONTROL_POINT", before, count, 1, -1.0F, where, raw.control_points,
                   floats(1));
  append_sets(document, *attributes, "TEXCOORD", before, count, 2, 0.0F, where, out.uvs, floats(2));
  append_sets(document, *attributes, "COLOR", before, count, 4, 1.0F, where, out.colors,
              [&](std::size_t index) { return read_colors(document, index, where); });
  append_sets(document, *attributes, "JOINTS", before, count, 4, Index{0}, where, raw.joints,
              [&](std::size_t index) { return document.integers(index, 4, where); });
  append_sets(document, *attributes, "WEIGHTS", before, count, 4, 0.0F, where, raw.weights, [&](std::size_t index) {
    const int type = document.component_type(index);
    out.weight_tolerance = std::max(out.weight_tolerance, type == 5121 ? 0.01 : 1e-4);
    return document.floats(index, 4, where);
  });
  raw.count += count;
  raw.used.resize(raw.count, false);
}

/// Triangle list of a primitive's mode; vertex numbers as in the file.
std::vector<Index> triangle_list(std::size_t mode, const std::vector<Index>& indices) {
  if (mode == 4) return {indices.begin(), indices.begin() + static_cast<std::ptrdiff_t>(indices.size() / 3 * 3)};
  std::vector<Index> out;
  for (std::size_t i = 2; i < indices.size(); ++i) {
    if (mode == 6)
      out.insert(out.end(), {indices[i - 1], indices[i], indices[0]});
    else if (i % 2 == 0)
      out.insert(out.end(), {indices[i - 2], indices[i - 1], indices[i]});
    else
      out.insert(out.end(), {indices[i - 1], indices[i - 2], indices[i]});
  }
  return out;
}

/// Appends the triangles of one primitive whose vertices start at `first`.
void append_faces(const Document& document, const Json& primitive, std::size_t first, std::size_t count,
                  const std::string& where, RawVertices& raw, MeshData& out) {
  const std::size_t mode = document.unsigned_value(primitive, "mode", 4, where);
  if (mode > 6) document.refuse(fmt::format("{}: its mode is {}", where, mode));
  std::vector<Index> indices;
  if (const auto accessor = document.index(primitive, "indices", "accessors", where)) {
    indices = document.integers(*accessor, 1, where);
  } else {
    indices.resize(count);
    for (std::size_t i = 0; i < count; ++i) indices[i] = static_cast<Index>(i);
  }
  for (Index& i : indices) {
    if (i >= count) document.refuse(fmt::format("{}: index {}, there are {} vertices", where, i, count));
    i += static_cast<Index>(first);
    raw.used[i] = true;
  }
  if (mode < 4) return;  // points and lines have vertices and no faces
  const std::vector<Index> triangles = triangle_list(mode, indices);
  const std::optional<std::size_t> material = document.index(primitive, "material", "materials", where);
  out.corners.insert(out.corners.end(), triangles.begin(), triangles.end());
  out.materials.insert(out.materials.end(), triangles.size() / 3, material ? static_cast<int>(*material) : -1);
}

/// Influences of one raw vertex that are not zero, by joint, each joint once.
void influences(const RawVertices& raw, std::size_t vertex, std::vector<std::pair<Index, double>>& out) {
  out.clear();
  for (std::size_t set = 0; set < std::min(raw.joints.size(), raw.weights.size()); ++set)
    for (std::size_t i = vertex * 4; i < vertex * 4 + 4; ++i)
      if (raw.weights[set][i] != 0) out.emplace_back(raw.joints[set][i], static_cast<double>(raw.weights[set][i]));
  std::sort(out.begin(), out.end());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (kept > 0 && out[kept - 1].first == out[i].first)
      out[kept - 1].second += out[i].second;
    else
      out[kept++] = out[i];
  }
  out.resize(kept);
}

/// What makes two raw vertices one control point, as bytes. `row` is scratch.
std::string weld_key(const RawVertices& raw, std::size_t vertex, std::vector<std::pair<Index, double>>& row) {
  std::string key;
  const auto add = [&](double value) {
    value += 0.0;  // -0 is 0
    key.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  for (std::size_t c = 0; c < 3; ++c) add(static_cast<double>(raw.positions[vertex * 3 + c]));
  for (const auto& target : raw.targets)
    for (std::size_t c = 0; c < 3; ++c) add(static_cast<double>(target[vertex * 3 + c]));
  influences(raw, vertex, row);
  for (const auto& [joint, weight] : row) {
    add(joint);
    add(weight);
  }
  return key;
}

/// Control points by value, in order of first appearance. Returns a raw vertex for each.
std::vector<std::size_t> weld_by_value(const RawVertices& raw, MeshData& out) {
  std::unordered_map<std::string, Index> found;
  std::vector<std::pair<Index, double>> row;
  std::vector<std::size_t> representative;
  out.control_point.assign(raw.count, MeshData::kUnused);
  for (std::size_t i = 0; i < raw.count; ++i) {
    if (!raw.used[i]) continue;
    const auto [entry, is_new] = found.try_emplace(weld_key(raw, i, row), static_cast<Index>(representative.size()));
    if (is_new) representative.push_back(i);
    out.control_point[i] = entry->second;
  }
  return representative;
}

std::vector<std::size_t> weld_as_told(const Document& document, const RawVertices& raw, const std::string& where,
                                      MeshData& out) {
  std::vector<std::size_t> representative;
  out.control_point.resize(raw.count);
  for (std::size_t i = 0; i < raw.count; ++i) {
    std::size_t v = i;
    if (!raw.control_points.empty()) {
      const auto told = static_cast<double>(raw.control_points[i]);
      if (!(told >= 0) || told != std::floor(told) || !(told < static_cast<double>(raw.count)))
        document.refuse(fmt::format("{}: vertex {} is said to be control point {}", where, i, told));
      v = static_cast<std::size_t>(told);
    }
    out.control_point[i] = static_cast<Index>(v);
    if (v >= representative.size()) representative.resize(v + 1, raw.count);
    if (representative[v] == raw.count) representative[v] = i;
  }
  const auto missing = std::find(representative.begin(), representative.end(), raw.count);
  if (missing != representative.end())
    document.refuse(fmt::format("{}: no vertex is control point {}", where, missing - representative.begin()));
  return representative;
}

void fill_control_points(const RawVertices& raw, const std::vector<std::size_t>& representative, MeshData& out) {
  const auto count = static_cast<Eigen::Index>(representative.size());
  const auto gather = [&](const std::vector<float>& values) {
    Points points(3, count);
    for (Eigen::Index v = 0; v < count; ++v)
      points.col(v) = Eigen::Map<const Vector3>(values.data() + representative[static_cast<std::size_t>(v)] * 3);
    return points;
  };
  out.positions = gather(raw.positions);
  const bool bent =
      std::any_of(raw.target_normals.begin(), raw.target_normals.end(), [](const auto& t) { return !t.empty(); });
  for (std::size_t i = 0; i < raw.targets.size(); ++i) {
    out.targets.push_back(gather(raw.targets[i]));
    if (bent)
      out.target_normals.push_back(raw.target_normals[i].size() == raw.positions.size()
                                       ? gather(raw.target_normals[i])
                                       : Points(Points::Zero(3, count)));
  }
  out.influence_slots = raw.joints.size() * 4;
  out.first_influence.push_back(0);
  std::vector<std::pair<Index, double>> row;
  for (const std::size_t i : representative) {
    influences(raw, i, row);
    for (const auto& [joint, weight] : row) {
      out.joints.push_back(joint);
      out.weights.push_back(weight);
    }
    out.first_influence.push_back(out.joints.size());
  }
}

}  // namespace

MeshData read_mesh(const Document& document, std::size_t mesh, Welding welding) {
  const Json& object = document.at("meshes", mesh);
  MeshData out;
  out.name = document.text(object, "name");
  RawVertices raw;
  std::vector<std::pair<const Json*, std::size_t>> known;  // primitives and where their vertices start
  std::size_t number = 0;
  for (const Json& primitive : document.array(object, "primitives", fmt::format("mesh {}", mesh))) {
    const std::string where = fmt::format("mesh {} '{}', primitive {}", mesh, out.name, number++);
    if (!primitive.is_object()) document.refuse(fmt::format("{} is not an object", where));
    const auto same_vertices = [&](const auto& entry) {
      const Json& other = *entry.first;
      return other["attributes"] == primitive.value("attributes", Json()) &&
             document.array(other, "targets", where) == document.array(primitive, "targets", where);
    };
    const auto shared = std::find_if(known.begin(), known.end(), same_vertices);
    const std::size_t first = shared != known.end() ? shared->second : raw.count;
    if (shared == known.end()) {
      append_vertices(document, primitive, where, raw, out);
      known.emplace_back(&primitive, first);
    }
    const Json& attributes = primitive["attributes"];
    const std::size_t count =
        document.element_count(document.required_index(attributes, "POSITION", "accessors", where));
    append_faces(document, primitive, first, count, where, raw, out);
  }
  if (raw.count > MeshData::kUnused / 2) document.refuse(fmt::format("mesh {} has {} vertices", mesh, raw.count));
  const std::string where = fmt::format("mesh {} '{}'", mesh, out.name);
  const bool told = welding == Welding::as_told;
  const Json named = object.value("/extras/targetNames"_json_pointer, Json());
  for (std::size_t i = 0; i < raw.targets.size(); ++i) {
    const bool has = named.is_array() && i < named.size() && named[i].is_string();
    out.target_names.push_back(has ? named[i].get<std::string>() : fmt::format("target_{}", i));
  }
  fill_control_points(raw, told ? weld_as_told(document, raw, where, out) : weld_by_value(raw, out), out);
  return out;
}

}  // namespace sinew::gltf
