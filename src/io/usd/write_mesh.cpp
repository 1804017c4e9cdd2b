#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <limits>

#include "io/scene/posed_normals.h"
#include "io/usd/writer.h"

namespace sinew::usd {
namespace {

constexpr Index kNone = std::numeric_limits<Index>::max();

/// Corners of a piece.
std::size_t corner_count(const MeshWriter& writer) {
  std::size_t count = 0;
  for (Index i = 0; i < writer.piece.faces; ++i) count += writer.mesh.face_sizes[writer.piece.first_face + i];
  return count;
}

/// Values of a corner attribute that a piece uses, numbered by first use, and the number of each corner's.
template <int N>
struct Indexed {
  std::vector<float> values;
  std::vector<Index> indices;
};

template <int N>
Indexed<N> used_values(const CornerAttribute<N>& attribute, std::size_t first, std::size_t count) {
  Indexed<N> out;
  std::vector<Index> number(attribute.values.size() / N, kNone);
  for (std::size_t c = first; c < first + count; ++c) {
    const Index value = attribute.indices[c];
    if (number[value] == kNone) {
      number[value] = static_cast<Index>(out.values.size() / N);
      const float* from = attribute.values.data() + std::size_t{value} * N;
      out.values.insert(out.values.end(), from, from + N);
    }
    out.indices.push_back(number[value]);
  }
  return out;
}

/// The group of every vertex where its corners agree on one, kNone where it has no corner; else nothing. Groups agree
/// when they are the same or, where `values` are given, have the same three.
std::vector<Index> vertex_groups(const MeshWriter& writer, const std::vector<Index>& groups,
                                 const std::vector<float>* values) {
  std::vector<Index> out(writer.piece.vertices, kNone);
  const auto value = [&](Index group) { return values->data() + 3 * std::size_t{group}; };
  for (std::size_t c = 0; c < groups.size(); ++c) {
    Index& at = out[writer.mesh.corners[writer.first_corner + c] - writer.piece.first_vertex];
    if (at == kNone) at = groups[c];
    if (at == groups[c]) continue;
    if (values == nullptr || !std::equal(value(at), value(at) + 3, value(groups[c]))) return {};
  }
  return out;
}

/// Three numbers for each of `groups`, +Z for none.
std::vector<float> normals_of(const std::vector<Index>& groups, const std::vector<float>& values) {
  std::vector<float> out;
  out.reserve(3 * groups.size());
  for (const Index g : groups) {
    if (g == kNone)
      out.insert(out.end(), {0, 0, 1});
    else
      out.insert(out.end(), values.data() + 3 * std::size_t{g}, values.data() + 3 * std::size_t{g} + 3);
  }
  return out;
}

std::vector<std::string> interpolated(const char* how, int element_size = 1) {
  std::vector<std::string> out;
  if (element_size > 1) out.push_back(fmt::format("elementSize = {}", element_size));
  out.push_back(fmt::format("interpolation = \"{}\"", how));
  return out;
}

void write_extent(const ConstPointsMap& points, Text& out) {
  const Eigen::Vector3f low = points.rowwise().minCoeff();
  const Eigen::Vector3f high = points.rowwise().maxCoeff();
  const float both[] = {low.x(), low.y(), low.z(), high.x(), high.y(), high.z()};
  out.array(std::span<const float>(both), 3);
}

void write_uvs(const MeshWriter& writer, std::size_t corners, Text& out) {
  for (std::size_t set = 0; set < writer.mesh.uv_sets.size(); ++set) {
    if (writer.mesh.uv_sets[set].empty()) continue;
    Indexed<2> uv = used_values(writer.mesh.uv_sets[set], writer.first_corner, corners);
    for (std::size_t i = 1; i < uv.values.size(); i += 2) uv.values[i] = 1 - uv.values[i];  // v from the bottom there
    out.line() << "texCoord2f[] primvars:" << uv_name(set) << " = ";
    out.array(std::span<const float>(uv.values), 2).metadata(interpolated("faceVarying"));
    out.line() << "int[] primvars:" << uv_name(set) << ":indices = ";
    out.array(std::span<const Index>(uv.indices));
  }
}

/// The first set of colours is what viewers show where there is no material.
void write_colors(const MeshWriter& writer, std::size_t corners, Text& out) {
  for (std::size_t set = 0; set < writer.mesh.color_sets.size(); ++set) {
    if (writer.mesh.color_sets[set].empty()) continue;
    const Indexed<4> colors = used_values(writer.mesh.color_sets[set], writer.first_corner, corners);
    const auto write = [&](const char* type, const std::string& name, std::span<const float> values, int width) {
      out.line() << type << "[] primvars:" << name << " = ";
      out.array(values, width).metadata(interpolated("faceVarying"));
      out.line() << "int[] primvars:" << name << ":indices = ";
      out.array(std::span<const Index>(colors.indices));
    };
    if (set > 0) {
      write("color4f", fmt::format("color{}", set), colors.values, 4);
      continue;
    }
    std::vector<float> rgb;
    std::vector<float> alpha;
    for (std::size_t i = 0; i + 3 < colors.values.size(); i += 4) {
      rgb.insert(rgb.end(), &colors.values[i], &colors.values[i] + 3);
      alpha.push_back(colors.values[i + 3]);
    }
    write("color3f", "displayColor", rgb, 3);
    if (std::any_of(alpha.begin(), alpha.end(), [](float a) { return a != 1; }))
      write("float", "displayOpacity", alpha, 1);
  }
}

/// Slots of the weights that some vertex uses.
int used_slots(const SkinWeights& weights) {
  const auto slots = static_cast<std::size_t>(weights.influences);
  std::size_t used = 1;
  for (std::size_t i = 0; i < weights.values.size(); ++i)
    if (weights.values[i] > 0) used = std::max(used, i % slots + 1);
  return static_cast<int>(used);
}

void write_weights(const MeshWriter& writer, const SkinWeights& weights, Text& out) {
  const auto slots = static_cast<std::size_t>(weights.influences);
  const auto used = static_cast<std::size_t>(used_slots(weights));
  std::vector<Index> joints;
  std::vector<float> values;
  for (Index v = 0; v < writer.piece.vertices; ++v)
    for (std::size_t k = 0; k < used; ++k) {
      const std::size_t slot = (std::size_t{writer.piece.first_vertex} + v) * slots + k;
      joints.push_back(weights.bones[slot]);
      values.push_back(weights.values[slot]);
    }
  out.line() << "matrix4d primvars:skel:geomBindTransform = ( (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1) )";
  out.line() << "int[] primvars:skel:jointIndices = ";
  out.array(std::span<const Index>(joints)).metadata(interpolated("vertex", static_cast<int>(used)));
  out.line() << "float[] primvars:skel:jointWeights = ";
  out.array(std::span<const float>(values)).metadata(interpolated("vertex", static_cast<int>(used)));
}

/// Offsets of the vertices that a correction moves in this piece.
void write_shape(const MeshWriter& writer, const Corrections& corrections, std::size_t r, Text& out) {
  const auto columns = [&](const Points& all) {
    return all.middleCols(writer.piece.first_vertex, writer.piece.vertices);
  };
  const auto offsets = columns(corrections.offsets[r]);
  const bool bends = !corrections.normal_offsets.empty();
  std::vector<Index> moved;
  for (Eigen::Index v = 0; v < offsets.cols(); ++v)
    if (!offsets.col(v).isZero(0) || (bends && !columns(corrections.normal_offsets[r]).col(v).isZero(0)))
      moved.push_back(static_cast<Index>(v));
  if (moved.empty()) moved.push_back(0);  // none would mean all
  const auto write = [&](const char* name, const auto& from) {
    std::vector<float> values;
    for (const Index v : moved) values.insert(values.end(), {from(0, v), from(1, v), from(2, v)});
    out.line() << "uniform vector3f[] " << name << " = ";
    out.array(std::span<const float>(values), 3);
  };
  out.open_prim("BlendShape", shape_name(r));
  if (bends) write("normalOffsets", columns(corrections.normal_offsets[r]));
  write("offsets", offsets);
  out.line() << "uniform int[] pointIndices = ";
  out.array(std::span<const Index>(moved));
  out.close_prim();
}

}  // namespace

std::string uv_name(std::size_t set) {
  return set == 0 ? "st" : fmt::format("st{}", set);
}

std::string shape_name(std::size_t correction) {
  return fmt::format("correction_{}", correction);
}

std::vector<MeshWriter> mesh_writers(const Mesh& mesh, const Materials& materials, const std::string& root,
                                     Identifiers& names) {
  std::vector<Piece> pieces = mesh.pieces;
  if (pieces.empty())
    pieces.push_back({"mesh", 0, static_cast<Index>(mesh.vertex_count()), 0, static_cast<Index>(mesh.face_count())});
  std::vector<MeshWriter> out;
  std::size_t first_corner = 0;
  for (const Piece& piece : pieces) {
    if (piece.vertices == 0) continue;
    out.push_back({mesh, piece, first_corner, materials, root + "/" + names.take(piece.name, "mesh")});
    first_corner += corner_count(out.back());
  }
  return out;
}

void MeshWriter::write_surface(Text& out) const {
  const std::size_t corners = corner_count(*this);
  std::vector<Index> local(mesh.corners.begin() + static_cast<std::ptrdiff_t>(first_corner),
                           mesh.corners.begin() + static_cast<std::ptrdiff_t>(first_corner + corners));
  for (Index& v : local) v -= piece.first_vertex;
  bool double_sided = false;
  for (Index i = 0; i < piece.faces && !mesh.face_materials.empty(); ++i) {
    const int material = mesh.face_materials[piece.first_face + i];
    double_sided = double_sided || (material >= 0 && materials.double_sided[static_cast<std::size_t>(material)]);
  }
  if (double_sided) out.line() << "uniform bool doubleSided = 1";
  out.line() << "int[] faceVertexCounts = ";
  out.array(std::span<const Index>(mesh.face_sizes.data() + piece.first_face, piece.faces));
  out.line() << "int[] faceVertexIndices = ";
  out.array(std::span<const Index>(local));
  write_colors(*this, corners, out);
  write_uvs(*this, corners, out);
  out.line() << "uniform token subdivisionScheme = \"none\"";
}

/// One material for all faces is bound to the mesh; else each has a subset of the faces.
void MeshWriter::write_subsets(Text& out) const {
  if (mesh.face_materials.empty()) return;
  Identifiers names;
  bool first = true;
  for (std::size_t m = 0; m < materials.paths.size(); ++m) {
    std::vector<Index> faces;
    for (Index i = 0; i < piece.faces; ++i)
      if (mesh.face_materials[piece.first_face + i] == static_cast<int>(m)) faces.push_back(i);
    if (faces.empty()) continue;
    const std::string& material = materials.paths[m];
    if (faces.size() == piece.faces) {
      out.line() << "rel material:binding = <" << material << ">";
      return;
    }
    if (first) out.line() << "uniform token subsetFamily:materialBind:familyType = \"nonOverlapping\"";
    first = false;
    out.open_prim("GeomSubset", names.take("faces_" + material.substr(material.rfind('/') + 1), "faces"),
                  {"prepend apiSchemas = [\"MaterialBindingAPI\"]"});
    out.line() << "uniform token elementType = \"face\"";
    out.line() << "uniform token familyName = \"materialBind\"";
    out.line() << "int[] indices = ";
    out.array(std::span<const Index>(faces));
    out.line() << "rel material:binding = <" << material << ">";
    out.close_prim();
  }
}

void MeshWriter::write_skinned(const Rig& rig, const std::vector<std::size_t>& targets, const std::string& skeleton,
                               Text& out) const {
  const ConstPointsMap points(mesh.positions.data() + 3 * std::size_t{piece.first_vertex}, 3, piece.vertices);
  out.open_prim("Mesh", path.substr(path.rfind('/') + 1),
                {"prepend apiSchemas = [\"MaterialBindingAPI\", \"SkelBindingAPI\"]"});
  out.line() << "float3[] extent = ";
  write_extent(points, out);
  if (!mesh.normals.empty() && piece.faces > 0) {
    const std::size_t corners = corner_count(*this);
    const Indexed<3> used = used_values(mesh.normals, first_corner, corners);
    const std::vector<Index> by_vertex = vertex_groups(*this, used.indices, &used.values);
    const bool shared = !by_vertex.empty();
    const std::vector<float> values = normals_of(shared ? by_vertex : used.indices, used.values);
    out.line() << "normal3f[] normals = ";
    out.array(std::span<const float>(values), 3).metadata(interpolated(shared ? "vertex" : "faceVarying"));
  }
  out.line() << "point3f[] points = ";
  out.array(std::span<const float>(points.data(), 3 * std::size_t{piece.vertices}), 3);
  write_weights(*this, rig.weights, out);
  if (!targets.empty()) {
    std::vector<std::string> names;
    out.line() << "rel skel:blendShapeTargets = [";
    for (const std::size_t r : targets) {
      out.line() << "    <" << path << "/" << shape_name(r) << ">,";
      names.push_back(shape_name(r));
    }
    out.line() << "]";
    out.line() << "uniform token[] skel:blendShapes = ";
    out.tokens(names);
  }
  out.line() << "rel skel:skeleton = <" << skeleton << ">";
  write_surface(out);
  write_subsets(out);
  for (const std::size_t r : targets) write_shape(*this, *rig.corrections, r, out);
  out.close_prim();
}

void MeshWriter::write_moving(const Sequence& sequence, const std::vector<double>& codes, Text& out) const {
  const auto points = [&](const float* all) {
    return ConstPointsMap(all + 3 * std::size_t{piece.first_vertex}, 3, piece.vertices);
  };
  const auto write_points = [&](const ConstPointsMap& at) {
    out.array(std::span<const float>(at.data(), 3 * std::size_t{piece.vertices}), 3);
  };
  out.open_prim("Mesh", path.substr(path.rfind('/') + 1), {"prepend apiSchemas = [\"MaterialBindingAPI\"]"});
  out.line() << "float3[] extent = ";
  write_extent(points(mesh.positions.data()), out);
  out.samples("float3[] extent", codes, [&](std::size_t f) { write_extent(points(sequence.frames[f].data()), out); });
  if (!mesh.normals.empty() && piece.faces > 0) {
    const PosedNormals normals(mesh, piece.first_face, piece.faces, first_corner);
    const std::vector<Index> by_vertex = vertex_groups(*this, normals.groups(), nullptr);
    const bool shared = !by_vertex.empty();
    const char* const name = shared ? "normal3f[] normals" : "normal3f[] primvars:normals";
    const auto write_normals = [&](const std::vector<float>& values) {
      const std::vector<float> ordered = shared ? normals_of(by_vertex, values) : values;
      out.array(std::span<const float>(ordered), 3);
    };
    out.line() << name << " = ";
    write_normals(normals.rest());
    out.metadata(interpolated(shared ? "vertex" : "faceVarying"));
    out.samples(name, codes, [&](std::size_t f) { write_normals(normals.pose(sequence.frames[f])); });
    if (!shared) {
      out.line() << "int[] primvars:normals:indices = ";
      out.array(std::span<const Index>(normals.groups()));
    }
  }
  out.line() << "point3f[] points = ";
  write_points(points(mesh.positions.data()));
  out.samples("point3f[] points", codes, [&](std::size_t f) { write_points(points(sequence.frames[f].data())); });
  write_surface(out);
  write_subsets(out);
  out.close_prim();
}

}  // namespace sinew::usd
