#include "io/fbx/mesh.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sinew::fbx {
namespace {

/// Reads the parts of one Geometry.
class PolygonReader {
 public:
  PolygonReader(const Document& document, std::size_t geometry, const ReadOptions& options)
      : tree_(document.tree), record_(*document.objects[geometry].record), options_(options) {
    out_.name = document.objects[geometry].name;
    where_ = fmt::format("Geometry {} '{}'", document.objects[geometry].id, out_.name);
  }

  Polygons run() {
    read_positions();
    read_faces();
    for (const Record& element : record_.children) {
      if (element.name == "LayerElementUV")
        add_set(element, "UV", "UVIndex", out_.mesh.uv_sets);
      else if (element.name == "LayerElementColor")
        add_set(element, "Colors", "ColorIndex", out_.mesh.color_sets);
      else if (element.name == "LayerElementNormal" && out_.mesh.normals.empty())
        read_attribute(element, "Normals", "NormalsIndex", out_.mesh.normals);
      else if (element.name == "LayerElementMaterial" && out_.materials.empty())
        read_face_materials(element);
    }
    for (CornerAttribute<2>& uv : out_.mesh.uv_sets)
      for (std::size_t i = 1; i < uv.values.size(); i += 2) uv.values[i] = 1 - uv.values[i];
    drop_small_faces();
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { tree_.refuse(fmt::format("{}: {}", where_, what)); }

  void read_positions() {
    const std::vector<double> values = tree_.doubles(record_.find("Vertices"), where_);
    if (values.size() % 3 != 0) refuse(fmt::format("{} coordinates, expected a multiple of 3", values.size()));
    if (values.size() / 3 > 0x7FFFFFFF) refuse(fmt::format("{} vertices are too many", values.size() / 3));
    out_.mesh.positions.resize(3, static_cast<Eigen::Index>(values.size() / 3));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto value = static_cast<float>(values[i]);
      if (!std::isfinite(value)) refuse(fmt::format("vertex {} is not finite", i / 3));
      out_.mesh.positions.data()[i] = value;
    }
  }

  void read_faces() {
    const std::vector<std::int64_t> corners = tree_.integers(record_.find("PolygonVertexIndex"), where_);
    const auto vertices = static_cast<std::int64_t>(out_.mesh.vertex_count());
    Index size = 0;
    for (std::size_t c = 0; c < corners.size(); ++c) {
      const std::int64_t vertex = corners[c] < 0 ? ~corners[c] : corners[c];
      if (vertex >= vertices)
        refuse(fmt::format("corner {} refers to vertex {}, there are {} vertices", c, vertex, vertices));
      out_.mesh.corners.push_back(static_cast<Index>(vertex));
      ++size;
      if (corners[c] >= 0) continue;
      out_.mesh.face_sizes.push_back(size);
      size = 0;
    }
    if (size != 0) refuse(fmt::format("its last polygon of {} corners does not end", size));
  }

  template <int N>
  void add_set(const Record& element, const char* values, const char* indices, std::vector<CornerAttribute<N>>& sets) {
    CornerAttribute<N> set;
    if (const Record* const name = element.find("Name")) set.name = std::string(name->text(0));
    for (char& c : set.name)
      if (static_cast<unsigned char>(c) < ' ' || static_cast<unsigned char>(c) > '~') c = '?';
    if (read_attribute(element, values, indices, set)) sets.push_back(std::move(set));
  }

  /// Values of a layer element, one number per corner; false when it has none for some corner.
  template <int N>
  bool read_attribute(const Record& element, const char* values_key, const char* index_key, CornerAttribute<N>& out) {
    const auto text = [&](const char* key) {
      const Record* const found = element.find(key);
      return found == nullptr ? std::string_view() : found->text(0);
    };
    const std::vector<double> values = tree_.doubles(element.find(values_key), where_);
    const std::string_view reference = text("ReferenceInformationType");
    std::vector<std::int64_t> indices;
    const bool indexed = reference == "IndexToDirect" || reference == "Index";
    if (indexed) indices = tree_.integers(element.find(index_key), where_);
    const std::string_view mapping = text("MappingInformationType");
    const Mesh& mesh = out_.mesh;
    const std::size_t count = values.size() / N;
    std::vector<Index> numbers;
    numbers.reserve(mesh.corners.size());
    std::size_t c = 0;
    for (std::size_t face = 0; face < mesh.face_count(); ++face)
      for (Index i = 0; i < mesh.face_sizes[face]; ++i, ++c) {
        std::size_t at = 0;
        if (mapping == "ByPolygonVertex")
          at = c;
        else if (mapping == "ByVertice" || mapping == "ByVertex" || mapping == "ByControlPoint")
          at = mesh.corners[c];
        else if (mapping == "ByPolygon")
          at = face;
        else if (mapping != "AllSame")
          return left_out(element, fmt::format("is mapped '{}'", mapping));
        if (indexed && !indices.empty()) {
          if (at >= indices.size()) return left_out(element, fmt::format("has {} indices", indices.size()));
          if (indices[at] < 0 || indices[at] >= static_cast<std::int64_t>(count))
            return left_out(element, fmt::format("refers to value {} of {}", indices[at], count));
          at = static_cast<std::size_t>(indices[at]);
        }
        if (at >= count) return left_out(element, fmt::format("has {} values", count));
        numbers.push_back(static_cast<Index>(at));
      }
    for (std::size_t i = 0; i < count * N; ++i) {
      const auto value = static_cast<float>(values[i]);
      if (!std::isfinite(value)) return left_out(element, "holds a number that is not finite");
      out.values.push_back(value);
    }
    out.indices = std::move(numbers);
    return !out.indices.empty();
  }

  bool left_out(const Record& element, const std::string& why) const {
    if (options_.warn) options_.warn(fmt::format("{}: {}: {} {}; left out", tree_.file, where_, element.name, why));
    return false;
  }

  void read_face_materials(const Record& element) {
    const Record* const mapping = element.find("MappingInformationType");
    if (mapping == nullptr || mapping->text(0) != "ByPolygon") return;  // AllSame: the first
    out_.materials = tree_.integers(element.find("Materials"), where_);
    out_.materials.resize(out_.mesh.face_count(), 0);
  }

  /// Polygons of one or two corners are edges of something else.
  void drop_small_faces() {
    Mesh& mesh = out_.mesh;
    const auto small = std::count_if(mesh.face_sizes.begin(), mesh.face_sizes.end(), [](Index n) { return n < 3; });
    if (small == 0) return;
    if (options_.warn)
      options_.warn(fmt::format("{}: {}: {} faces of fewer than 3 corners are left out", tree_.file, where_, small));
    std::vector<std::size_t> kept;
    std::vector<Index> sizes;
    std::vector<std::int64_t> materials;
    std::size_t corner = 0;
    for (std::size_t face = 0; face < mesh.face_count(); ++face) {
      for (Index i = 0; i < mesh.face_sizes[face] && mesh.face_sizes[face] >= 3; ++i) kept.push_back(corner + i);
      corner += mesh.face_sizes[face];
      if (mesh.face_sizes[face] < 3) continue;
      sizes.push_back(mesh.face_sizes[face]);
      if (!out_.materials.empty()) materials.push_back(out_.materials[face]);
    }
    const auto keep = [&](std::vector<Index>& values) {
      if (values.empty()) return;
      std::vector<Index> left;
      for (const std::size_t c : kept) left.push_back(values[c]);
      values = std::move(left);
    };
    keep(mesh.corners);
    keep(mesh.normals.indices);
    for (auto& set : mesh.uv_sets) keep(set.indices);
    for (auto& set : mesh.color_sets) keep(set.indices);
    mesh.face_sizes = std::move(sizes);
    out_.materials = std::move(materials);
  }

  const Tree& tree_;
  const Record& record_;
  const ReadOptions& options_;
  std::string where_;
  Polygons out_;
};

}  // namespace

Polygons read_polygons(const Document& document, std::size_t geometry, const ReadOptions& options) {
  return PolygonReader(document, geometry, options).run();
}

}  // namespace sinew::fbx
