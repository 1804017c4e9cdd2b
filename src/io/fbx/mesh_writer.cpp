#include "io/fbx/mesh_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "io/fbx/materials.h"
#include "io/gltf/write_mesh.h"

namespace sinew::fbx {
namespace {

/// Corners and faces of a piece within the mesh.
struct Range {
  std::size_t first_corner = 0;
  std::size_t corners = 0;
};

std::vector<Range> corner_ranges(const Mesh& mesh, const std::vector<Piece>& pieces) {
  std::vector<Range> out;
  std::size_t corner = 0;
  for (const Piece& piece : pieces) {
    std::size_t count = 0;
    for (Index face = 0; face < piece.faces; ++face) count += mesh.face_sizes[piece.first_face + face];
    out.push_back({corner, count});
    corner += count;
  }
  return out;
}

std::vector<double> doubles(const float* values, std::size_t count) {
  return {values, values + count};
}

void write_polygons(const Mesh& mesh, const Piece& piece, const Range& range, Writer& out) {
  out.leaf("Vertices", {std::span<const double>(
                           doubles(mesh.positions.col(piece.first_vertex).data(), std::size_t{piece.vertices} * 3))});
  std::vector<std::int32_t> polygons;
  polygons.reserve(range.corners);
  std::size_t corner = range.first_corner;
  for (Index face = 0; face < piece.faces; ++face) {
    for (Index i = 0; i < mesh.face_sizes[piece.first_face + face]; ++i)
      polygons.push_back(static_cast<std::int32_t>(mesh.corners[corner++] - piece.first_vertex));
    polygons.back() = ~polygons.back();  // the last corner of a polygon is told by its sign
  }
  out.leaf("PolygonVertexIndex", {std::span<const std::int32_t>(polygons)});
}

/// Values that corners of the piece use, each once and in order of use, and the number of each corner's.
template <int N>
void write_corner_values(const CornerAttribute<N>& attribute, const Range& range, const char* values_key,
                         const char* index_key, bool turn_v, Writer& out) {
  constexpr std::int32_t kNone = -1;
  std::vector<std::int32_t> number(attribute.values.size() / N, kNone);
  std::vector<std::int32_t> indices;
  std::vector<double> values;
  indices.reserve(range.corners);
  for (std::size_t c = range.first_corner; c < range.first_corner + range.corners; ++c) {
    const Index at = attribute.indices[c];
    if (number[at] == kNone) {
      number[at] = static_cast<std::int32_t>(values.size() / N);
      for (int i = 0; i < N; ++i) {
        const double value = attribute.values[std::size_t{at} * N + static_cast<std::size_t>(i)];
        values.push_back(turn_v && i == 1 ? 1 - value : value);
      }
    }
    indices.push_back(number[at]);
  }
  out.leaf(values_key, {std::span<const double>(values)});
  out.leaf(index_key, {std::span<const std::int32_t>(indices)});
}

void open_element(const char* type, std::int32_t index, const std::string& name, const char* mapping,
                  const char* reference, Writer& out) {
  out.open(type, {index});
  out.leaf("Version", {101});
  out.leaf("Name", {name});
  out.leaf("MappingInformationType", {std::string(mapping)});
  out.leaf("ReferenceInformationType", {std::string(reference)});
}

void write_normals(const Mesh& mesh, const Points& computed, const Piece& piece, const Range& range, Writer& out) {
  if (!mesh.normals.empty()) {
    open_element("LayerElementNormal", 0, "", "ByPolygonVertex", "IndexToDirect", out);
    write_corner_values(mesh.normals, range, "Normals", "NormalsIndex", false, out);
  } else {
    open_element("LayerElementNormal", 0, "", "ByVertice", "Direct", out);
    out.leaf(
        "Normals",
        {std::span<const double>(doubles(computed.col(piece.first_vertex).data(), std::size_t{piece.vertices} * 3))});
  }
  out.close();
}

void write_layers(const Mesh& mesh, bool materials, Writer& out) {
  const std::size_t layers = std::max({std::size_t{1}, mesh.uv_sets.size(), mesh.color_sets.size()});
  for (std::size_t layer = 0; layer < layers; ++layer) {
    const auto index = static_cast<std::int32_t>(layer);
    out.open("Layer", {index});
    out.leaf("Version", {100});
    const auto element = [&](const char* type) {
      out.open("LayerElement");
      out.leaf("Type", {std::string(type)});
      out.leaf("TypedIndex", {index});
      out.close();
    };
    if (layer == 0) element("LayerElementNormal");
    if (layer == 0 && materials) element("LayerElementMaterial");
    if (layer < mesh.uv_sets.size()) element("LayerElementUV");
    if (layer < mesh.color_sets.size()) element("LayerElementColor");
    out.close();
  }
}

/// Materials that faces of a piece use, in order of use; -1 stands for none where others have one.
std::vector<int> used_materials(const Mesh& mesh, const Piece& piece) {
  std::vector<int> out;
  if (mesh.face_materials.empty()) return out;
  for (Index face = 0; face < piece.faces; ++face) {
    const int material = mesh.face_materials[piece.first_face + face];
    if (std::find(out.begin(), out.end(), material) == out.end()) out.push_back(material);
  }
  if (out == std::vector<int>{-1}) out.clear();
  return out;
}

void write_materials(const Mesh& mesh, const Piece& piece, const std::vector<int>& used, Writer& out) {
  const bool same = used.size() == 1;
  open_element("LayerElementMaterial", 0, "", same ? "AllSame" : "ByPolygon", "IndexToDirect", out);
  std::vector<std::int32_t> numbers{0};
  if (!same) {
    numbers.clear();
    for (Index face = 0; face < piece.faces; ++face) {
      const auto at = std::find(used.begin(), used.end(), mesh.face_materials[piece.first_face + face]);
      numbers.push_back(static_cast<std::int32_t>(at - used.begin()));
    }
  }
  out.leaf("Materials", {std::span<const std::int32_t>(numbers)});
  out.close();
}

std::string set_name(const std::string& name, const char* fallback, std::size_t set) {
  return name.empty() ? fmt::format("{}{}", fallback, set) : name;
}

void write_geometry(const Mesh& mesh, const Points& normals, const Piece& piece, const Range& range,
                    const std::vector<int>& materials, const std::string& name, Writer& out, Id id) {
  out.open("Geometry", {id, object_name(name, "Geometry"), std::string("Mesh")});
  out.leaf("GeometryVersion", {124});
  write_polygons(mesh, piece, range, out);
  write_normals(mesh, normals, piece, range, out);
  for (std::size_t set = 0; set < mesh.uv_sets.size(); ++set) {
    open_element("LayerElementUV", static_cast<std::int32_t>(set), set_name(mesh.uv_sets[set].name, "UV", set),
                 "ByPolygonVertex", "IndexToDirect", out);
    write_corner_values(mesh.uv_sets[set], range, "UV", "UVIndex", true, out);
    out.close();
  }
  for (std::size_t set = 0; set < mesh.color_sets.size(); ++set) {
    open_element("LayerElementColor", static_cast<std::int32_t>(set), set_name(mesh.color_sets[set].name, "Color", set),
                 "ByPolygonVertex", "IndexToDirect", out);
    write_corner_values(mesh.color_sets[set], range, "Colors", "ColorIndex", false, out);
    out.close();
  }
  if (!materials.empty()) write_materials(mesh, piece, materials, out);
  write_layers(mesh, !materials.empty(), out);
  out.close();
}

void write_mesh_model(const std::string& name, Writer& out, Id id) {
  out.open("Model", {id, object_name(name, "Model"), std::string("Mesh")});
  out.leaf("Version", {232});
  out.open("Properties70");
  out.property("InheritType", "enum", "", "", {1});
  out.property("DefaultAttributeIndex", "int", "Integer", "", {0});
  out.close();
  out.leaf("Shading", {true});
  out.leaf("Culling", {std::string("CullingOff")});
  out.close();
}

/// Vertices of a piece that a correction moves, from the piece's first.
std::vector<std::int32_t> moved_vertices(const Points& offsets, const Piece& piece) {
  std::vector<std::int32_t> out;
  for (Index v = 0; v < piece.vertices; ++v)
    if (!offsets.col(piece.first_vertex + v).isZero(0)) out.push_back(static_cast<std::int32_t>(v));
  return out;
}

void write_shape(const Corrections& corrections, std::size_t rank, const Piece& piece, Writer& out, Id id) {
  const std::vector<std::int32_t> moved = moved_vertices(corrections.offsets[rank], piece);
  const auto gathered = [&](const Points& points) {
    std::vector<double> values;
    values.reserve(moved.size() * 3);
    for (const std::int32_t v : moved) {
      const auto column = points.col(piece.first_vertex + static_cast<Index>(v));
      values.insert(values.end(), {column.x(), column.y(), column.z()});
    }
    return values;
  };
  out.open("Geometry", {id, object_name(fmt::format("correction_{}", rank), "Geometry"), std::string("Shape")});
  out.leaf("Version", {100});
  out.leaf("Indexes", {std::span<const std::int32_t>(moved)});
  out.leaf("Vertices", {std::span<const double>(gathered(corrections.offsets[rank]))});
  if (!corrections.normal_offsets.empty())
    out.leaf("Normals", {std::span<const double>(gathered(corrections.normal_offsets[rank]))});
  out.close();
}

void write_channel(const std::string& name, Writer& out, Id id) {
  static constexpr double kFull[] = {100};
  out.open("Deformer", {id, object_name(name, "SubDeformer"), std::string("BlendShapeChannel")});
  out.leaf("Version", {100});
  out.leaf("DeformPercent", {0.0});
  out.leaf("FullWeights", {std::span<const double>(kFull)});
  out.open("Properties70");
  out.property("DeformPercent", "Number", "", "A", {0.0});
  out.close();
  out.close();
}

}  // namespace

std::vector<WrittenPiece> add_meshes(const Mesh& mesh, gltf::Names& names, ObjectList& objects) {
  std::vector<Piece> pieces = mesh.pieces;
  if (pieces.empty())
    pieces.push_back({"mesh", 0, static_cast<Index>(mesh.vertex_count()), 0, static_cast<Index>(mesh.face_count())});
  const std::vector<Range> ranges = corner_ranges(mesh, pieces);
  auto normals = std::make_shared<Points>();
  if (mesh.normals.empty()) {
    *normals = gltf::smooth_normals(mesh, triangulate_corners(mesh));
    normals->colwise().normalize();  // leaves zero where nothing points anywhere
  }
  MaterialObjects materials(mesh, objects);
  for (std::size_t m = 0; m < mesh.appearance.materials.size(); ++m) materials.id(static_cast<int>(m));
  std::vector<WrittenPiece> out;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].vertices == 0) continue;
    WrittenPiece written{pieces[i], 0, 0};
    const std::string name = names.take(pieces[i].name, "mesh");
    const std::vector<int> used = used_materials(mesh, pieces[i]);
    written.geometry =
        objects.add("Geometry", [&mesh, normals, piece = pieces[i], range = ranges[i], used, name](Writer& to, Id id) {
          write_geometry(mesh, *normals, piece, range, used, name, to, id);
        });
    written.model = objects.add("Model", [name](Writer& to, Id id) { write_mesh_model(name, to, id); });
    objects.connect(written.model, 0);
    objects.connect(written.geometry, written.model);
    for (const int material : used) objects.connect(materials.id(material), written.model);
    out.push_back(std::move(written));
  }
  return out;
}

std::vector<std::vector<Id>> add_shapes(const Rig& rig, const std::vector<std::size_t>& ranks,
                                        const std::vector<WrittenPiece>& pieces, ObjectList& objects) {
  std::vector<std::vector<Id>> channels(ranks.size());
  for (const WrittenPiece& written : pieces) {
    Id deformer = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (moved_vertices(rig.corrections->offsets[ranks[i]], written.piece).empty()) continue;
      if (deformer == 0) {
        deformer = objects.add("Deformer", [](Writer& to, Id id) {
          to.open("Deformer", {id, object_name("corrections", "Deformer"), std::string("BlendShape")});
          to.leaf("Version", {100});
          to.close();
        });
        objects.connect(deformer, written.geometry);
      }
      const std::string name = fmt::format("correction_{}", ranks[i]);
      const Id channel = objects.add("Deformer", [name](Writer& to, Id id) { write_channel(name, to, id); });
      const Id shape = objects.add("Geometry", [&rig, rank = ranks[i], piece = written.piece](Writer& to, Id id) {
        write_shape(*rig.corrections, rank, piece, to, id);
      });
      objects.connect(channel, deformer);
      objects.connect(shape, channel);
      channels[i].push_back(channel);
    }
  }
  return channels;
}

}  // namespace sinew::fbx
