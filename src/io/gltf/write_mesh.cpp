#include "io/gltf/write_mesh.h"
#include "io/json_text.h"

#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

#include "io/scene/split_mesh.h"
#include "sinew/core/error.h"

namespace sinew::gltf {
namespace {

constexpr std::size_t kLargestExactFloat = std::size_t{1} << 24;

/// Length one, or +Z for what has no direction.
Vector3 unit(const Vector3& v) {
  const Eigen::Vector3d d = v.cast<double>();
  return d.norm() > 1e-30 ? Vector3(d.normalized().cast<float>()) : Vector3(0, 0, 1);
}

/// Slots that some vertex uses.
std::size_t used_slots(const SkinWeights& weights) {
  const auto slots = static_cast<std::size_t>(weights.influences);
  std::size_t used = 1;
  for (std::size_t i = 0; i < weights.values.size(); ++i)
    if (weights.values[i] > 0) used = std::max(used, i % slots + 1);
  return used;
}

/// JOINTS_n and WEIGHTS_n. Rows whose float sum is off by more than rounding are scaled to sum 1.
void add_weights(const Rig& rig, const SplitPiece& piece, Json& attributes, GlbBuilder& out) {
  const auto slots = static_cast<std::size_t>(rig.weights.influences);
  const std::size_t sets = (used_slots(rig.weights) + 3) / 4;
  std::vector<float> values(piece.source.size() * 4);
  std::vector<std::uint16_t> joints(values.size());
  for (std::size_t set = 0; set < sets; ++set) {
    for (std::size_t i = 0; i < piece.source.size(); ++i) {
      const std::size_t row = (piece.piece.first_vertex + piece.source[i]) * slots;
      double sum = 0;
      for (std::size_t k = 0; k < slots; ++k) sum += static_cast<double>(rig.weights.values[row + k]);
      for (std::size_t k = 0; k < 4; ++k) {
        const std::size_t slot = set * 4 + k;
        const float w = slot < slots ? rig.weights.values[row + slot] : 0.0F;
        values[i * 4 + k] = std::abs(sum - 1) <= 1e-7 ? w : static_cast<float>(static_cast<double>(w) / sum);
        joints[i * 4 + k] = w > 0 ? static_cast<std::uint16_t>(rig.weights.bones[row + slot]) : std::uint16_t{0};
      }
    }
    const std::vector<std::uint8_t> bytes(joints.begin(), joints.end());
    attributes[fmt::format("JOINTS_{}", set)] =
        rig.bone_count() <= 256 ? out.add_bytes(bytes, 4, Use::vertices) : out.add_shorts(joints, 4, Use::vertices);
    attributes[fmt::format("WEIGHTS_{}", set)] = out.add_floats(values, 4, Use::vertices);
  }
}

std::vector<float> point_values(const SplitPiece& piece, const Points& points) {
  std::vector<float> out;
  out.reserve(piece.source.size() * 3);
  for (const Index v : piece.source) {
    const auto column = points.col(piece.piece.first_vertex + v);
    out.insert(out.end(), {column.x(), column.y(), column.z()});
  }
  return out;
}

Json add_attributes(const Rig& rig, const SplitPiece& piece, const Points& normals, GlbBuilder& out) {
  const Mesh& mesh = rig.rest;
  Json attributes = {{"POSITION", out.add_floats(point_values(piece, mesh.positions), 3, Use::vertices, true)}};
  if (piece.piece.faces > 0 && !(mesh.normals.empty() && mesh.flat)) {
    std::vector<float> values = mesh.normals.empty() ? point_values(piece, normals)
                                                     : vertex_values<3>(piece.corner, mesh.normals, {0.0F, 0.0F, 1.0F});
    for (std::size_t i = 0; i < values.size(); i += 3) {
      Eigen::Map<Vector3> n(values.data() + i);
      n = unit(n);
    }
    attributes["NORMAL"] = out.add_floats(values, 3, Use::vertices);
  }
  if (piece.piece.faces > 0) {
    for (std::size_t set = 0; set < mesh.uv_sets.size(); ++set)
      if (!mesh.uv_sets[set].empty())
        attributes[fmt::format("TEXCOORD_{}", set)] =
            out.add_floats(vertex_values<2>(piece.corner, mesh.uv_sets[set], {0.0F, 0.0F}), 2, Use::vertices);
    for (std::size_t set = 0; set < mesh.color_sets.size(); ++set)
      if (!mesh.color_sets[set].empty())
        attributes[fmt::format("COLOR_{}", set)] = out.add_floats(
            vertex_values<4>(piece.corner, mesh.color_sets[set], {1.0F, 1.0F, 1.0F, 1.0F}), 4, Use::vertices);
  }
  add_weights(rig, piece, attributes, out);
  if (!piece.split()) return attributes;
  if (piece.piece.vertices > kLargestExactFloat)
    throw Error(ErrorKind::output, fmt::format("mesh '{}' has {} vertices and seams, at most {} can be numbered in GLB",
                                               piece.piece.name, piece.piece.vertices, kLargestExactFloat));
  attributes["_CONTROL_POINT"] =
      out.add_floats(std::vector<float>(piece.source.begin(), piece.source.end()), 1, Use::vertices);
  return attributes;
}

/// Shapes that move something of a piece.
std::vector<const Shape*> shapes_of(const Mesh& mesh, const Piece& piece) {
  std::vector<const Shape*> out;
  for (const Shape& shape : mesh.shapes)
    if (!shape.offsets.middleCols(piece.first_vertex, piece.vertices).isZero(0)) out.push_back(&shape);
  return out;
}

/// Corrections, then shapes. Offsets of normals are written for all of them or for none.
Json add_targets(const Rig& rig, const SplitPiece& piece, const std::vector<std::size_t>& corrections,
                 const std::vector<const Shape*>& shapes, GlbBuilder& out) {
  const bool lit = piece.piece.faces > 0 && !(rig.rest.normals.empty() && rig.rest.flat);
  const bool bent = lit && ((!corrections.empty() && !rig.corrections->normal_offsets.empty()) ||
                            std::any_of(shapes.begin(), shapes.end(),
                                        [](const Shape* shape) { return shape->normal_offsets.cols() > 0; }));
  Json list = Json::array();
  const auto add = [&](const Points& offsets, const Points* normals) {
    Json target = {{"POSITION", out.add_floats(point_values(piece, offsets), 3, Use::vertices, true)}};
    if (bent) {
      const Points none = normals == nullptr ? Points(Points::Zero(3, offsets.cols())) : Points();
      target["NORMAL"] = out.add_floats(point_values(piece, normals == nullptr ? none : *normals), 3, Use::vertices);
    }
    list.push_back(std::move(target));
  };
  for (const std::size_t r : corrections)
    add(rig.corrections->offsets[r],
        rig.corrections->normal_offsets.empty() ? nullptr : &rig.corrections->normal_offsets[r]);
  for (const Shape* shape : shapes)
    add(shape->offsets, shape->normal_offsets.cols() == 0 ? nullptr : &shape->normal_offsets);
  return list;
}

std::size_t add_indices(const std::vector<Index>& indices, std::size_t vertices, GlbBuilder& out) {
  if (vertices > 65535) return out.add_integers(indices, 1, Use::indices);
  return out.add_shorts(std::vector<std::uint16_t>(indices.begin(), indices.end()), 1, Use::indices);
}

Json add_primitives(const Rig& rig, const SplitPiece& piece, const Points& normals,
                    const std::vector<std::size_t>& targets, const std::vector<const Shape*>& shapes, GlbBuilder& out) {
  Json primitive = {{"attributes", add_attributes(rig, piece, normals, out)}};
  if (!targets.empty() || !shapes.empty()) primitive["targets"] = add_targets(rig, piece, targets, shapes, out);
  if (piece.triangles.empty()) {
    primitive["mode"] = 0;
    return Json::array({std::move(primitive)});
  }
  Json list = Json::array();
  for (const auto& [material, indices] : piece.triangles) {
    Json entry = primitive;  // primitives share their vertices
    entry["indices"] = add_indices(indices, piece.source.size(), out);
    if (material >= 0) entry["material"] = material;
    list.push_back(std::move(entry));
  }
  return list;
}

void declare_extensions(const Json& object, GlbBuilder& out) {
  if (!object.is_structured()) return;
  if (object.is_object() && object.contains("extensions"))
    for (const auto& [name, ignored] : object["extensions"].items()) {
      Json& used = out.root["extensionsUsed"];
      if (std::find(used.begin(), used.end(), name) == used.end()) used.push_back(name);
    }
  for (const Json& child : object) declare_extensions(child, out);
}

/// Text that came from a reader; what does not parse is left out.
Json parsed(const std::string& text) {
  return parse_json(text);
}

}  // namespace

Points smooth_normals(const Mesh& mesh, const std::vector<Index>& triangulation) {
  Points out = Points::Zero(3, mesh.positions.cols());
  for (std::size_t i = 0; i + 2 < triangulation.size(); i += 3) {
    const auto vertex = [&](std::size_t corner) { return mesh.corners[triangulation[i + corner]]; };
    const Vector3 a = mesh.positions.col(vertex(0));
    const Vector3 area = (mesh.positions.col(vertex(1)) - a).cross(mesh.positions.col(vertex(2)) - a);
    for (std::size_t j = 0; j < 3; ++j) out.col(vertex(j)) += area;
  }
  return out;
}

std::vector<std::size_t> effective_corrections(const Rig& rig) {
  std::vector<std::size_t> out;
  if (!rig.corrections) return out;
  for (std::size_t r = 0; r < rig.corrections->rank(); ++r)
    if (!rig.corrections->offsets[r].isZero(0) &&
        !rig.corrections->coefficients.col(static_cast<Eigen::Index>(r)).isZero(0))
      out.push_back(r);
  return out;
}

void add_appearance(const Appearance& appearance, GlbBuilder& out) {
  for (const Image& image : appearance.images) {
    Json entry = Json::object();
    if (!image.name.empty()) entry["name"] = image.name;
    if (!image.bytes.empty()) {
      entry["bufferView"] = out.add_view(std::as_bytes(std::span(image.bytes)));
      entry["mimeType"] = image.mime_type;
    } else {
      entry["uri"] = image.uri.empty() ? "missing" : image.uri;
      if (!image.mime_type.empty()) entry["mimeType"] = image.mime_type;
    }
    out.append("images", std::move(entry));
  }
  for (const auto& [key, text] :
       {std::pair{"samplers", &appearance.gltf_samplers}, {"textures", &appearance.gltf_textures}}) {
    const Json list = parsed(*text);
    if (!list.is_array() || list.empty()) continue;
    out.root[key] = list;
    declare_extensions(list, out);
  }
  for (const Material& material : appearance.materials) {
    Json entry = parsed(material.gltf);
    if (!entry.is_object()) entry = Json::object();
    if (!material.name.empty()) entry["name"] = material.name;
    declare_extensions(entry, out);
    out.append("materials", std::move(entry));
  }
  for (const std::string& name : appearance.required) {
    const Json used = out.root.value("extensionsUsed", Json::array());
    if (std::find(used.begin(), used.end(), name) != used.end()) out.root["extensionsRequired"].push_back(name);
  }
}

std::vector<WrittenMesh> add_meshes(const Rig& rig, const std::vector<std::size_t>& targets, GlbBuilder& out) {
  const Mesh& mesh = rig.rest;
  const std::vector<Index> triangulation = triangulate_corners(mesh);
  const Points normals = mesh.normals.empty() && !mesh.flat ? smooth_normals(mesh, triangulation) : Points();
  std::vector<WrittenMesh> written;
  for (const SplitPiece& split : split_pieces(mesh, triangulation)) {
    const Piece& piece = split.piece;
    const std::vector<const Shape*> shapes = shapes_of(mesh, piece);
    Json entry = {{"primitives", add_primitives(rig, split, normals, targets, shapes, out)}};
    if (!targets.empty() || !shapes.empty()) entry["weights"] = std::vector<int>(targets.size() + shapes.size(), 0);
    for (const std::size_t r : targets) entry["extras"]["targetNames"].push_back(fmt::format("correction_{}", r));
    for (const Shape* shape : shapes) entry["extras"]["targetNames"].push_back(shape->name);
    written.push_back({out.append("meshes", std::move(entry)), piece.name, shapes.size()});
  }
  return written;
}

}  // namespace sinew::gltf
