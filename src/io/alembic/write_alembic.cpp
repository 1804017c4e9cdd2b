#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "io/alembic/writer.h"
#include "io/go_on.h"
#include "io/scene/posed_normals.h"
#include "io/scene/sequence_times.h"
#include "sinew/core/error.h"
#include "sinew/io/alembic.h"

namespace sinew {
namespace {

using alembic::ElementType;
using alembic::PropertyKind;
using alembic::StoredSample;
using alembic::TimeSampling;
using alembic::Writer;
using alembic::WrittenObject;
using alembic::WrittenProperty;

constexpr std::string_view kGeometryBase = "schemaBaseType=AbcGeom_GeomBase_v1";
constexpr double kAcyclicPeriod = std::numeric_limits<double>::max() / 32;

/// Times this close to a constant rate, as a part of the spacing, are written as one: GLB keeps times as floats.
constexpr double kUniformTolerance = 1e-3;

/// Metadata of an object and of the compound property that holds its schema.
struct Schema {
  std::string object;
  std::string compound;
};

Schema schema(std::string_view name, std::string_view property, std::string_view base) {
  const std::string compound = fmt::format("schema={}{}{}", name, base.empty() ? "" : ";", base);
  return {fmt::format("{};schemaObjTitle={}:{}", compound, name, property), compound};
}

/// Metadata of values that belong to vertices ("vtx") or face corners ("fvr").
std::string value_metadata(std::string_view scope, std::string_view interpretation, int extent,
                           const std::string& source_name = {}) {
  return fmt::format("arrayExtent=1;geoScope={};interpretation={};isGeomParam=true;podExtent={};podName=float32_t{}{}",
                     scope, interpretation, extent, source_name.empty() ? "" : ";sourceName=", source_name);
}

/// Names must not hold what separates paths and metadata.
std::string object_name(std::string name, std::set<std::string>& used) {
  for (char& c : name)
    if (c == '/' || c == ';' || c == '=' || static_cast<unsigned char>(c) < 0x20) c = '_';
  if (name.empty()) name = "mesh";
  std::string unique = name;
  for (int i = 2; !used.insert(unique).second; ++i) unique = fmt::format("{}_{}", name, i);
  return unique;
}

/// How a series of times is stored: at a constant rate where it is one.
TimeSampling sampling_of(const std::vector<double>& times) {
  TimeSampling sampling{.period = 1, .times = {times.front()}};
  if (times.size() < 2) return sampling;
  const auto intervals = static_cast<double>(times.size() - 1);
  const double mean = (times.back() - times.front()) / intervals;
  const double rate = std::round(1 / mean);
  // In order of preference; the first that gives the times exactly, else the first that is close enough.
  std::optional<double> close;
  for (const double period : {1 / rate, times[1] - times[0], mean}) {
    double worst = 0;
    sampling.period = period;
    for (std::size_t f = 0; f < times.size(); ++f) worst = std::max(worst, std::abs(times[f] - sampling.time(f)));
    if (worst == 0) return sampling;
    if (!close && worst <= kUniformTolerance * mean) close = period;
  }
  if (close) {
    sampling.period = *close;
    return sampling;
  }
  return {.period = kAcyclicPeriod, .times = times, .acyclic = true};
}

/// A part of the mesh that becomes one object.
struct MeshPart {
  std::string name;
  std::size_t first_vertex = 0;
  std::size_t vertices = 0;
  std::size_t first_face = 0;
  std::size_t faces = 0;
  std::size_t first_corner = 0;
  std::size_t corners = 0;
};

/// One part per piece, or one in all where there are no pieces or a face reaches into another piece's vertices.
std::vector<MeshPart> parts_of(const Sequence& sequence) {
  const Mesh& mesh = sequence.rest;
  std::set<std::string> used;
  std::vector<MeshPart> parts;
  std::size_t corner = 0;
  bool separate = !mesh.pieces.empty();
  for (const Piece& piece : mesh.pieces) {
    MeshPart part{"", piece.first_vertex, piece.vertices, piece.first_face, piece.faces, corner, 0};
    for (std::size_t i = 0; i < piece.faces; ++i) part.corners += mesh.face_sizes[piece.first_face + i];
    for (std::size_t c = corner; c < corner + part.corners; ++c)
      separate =
          separate && mesh.corners[c] >= part.first_vertex && mesh.corners[c] - part.first_vertex < part.vertices;
    corner += part.corners;
    if (part.vertices == 0) continue;
    part.name = object_name(piece.name, used);
    parts.push_back(std::move(part));
  }
  if (separate) return parts;
  used.clear();
  return {{object_name(sequence.name, used), 0, mesh.vertex_count(), 0, mesh.face_count(), 0, mesh.corners.size()}};
}

/// Writes one part as a PolyMesh below an Xform that does not move it.
class PartWriter {
 public:
  PartWriter(Writer& writer, const Sequence& sequence, MeshPart part, std::size_t sampling)
      : writer_(writer), sequence_(sequence), rest_(sequence.rest), part_(std::move(part)), sampling_(sampling) {
    // Ours are counter-clockwise, theirs clockwise: each face is stored backwards.
    std::size_t first = part_.first_corner;
    for (std::size_t i = 0; i < part_.faces; ++i) {
      const Index size = rest_.face_sizes[part_.first_face + i];
      for (Index k = 0; k < size; ++k) stored_corners_.push_back(first + size - 1 - k);
      first += size;
    }
    if (!rest_.normals.empty()) normals_.emplace(rest_, part_.first_face, part_.faces, part_.first_corner);
    starts_at_rest_ = frame_positions(0) == ConstPointsMap(rest_.positions.data() + 3 * part_.first_vertex, 3,
                                                           static_cast<Eigen::Index>(part_.vertices));
  }

  /// Adds what changes from frame to frame.
  void add_frame(std::size_t f) {
    const ConstPointsMap positions = frame_positions(f);
    points_.push_back(
        writer_.sample(std::span<const float>(positions.data(), static_cast<std::size_t>(positions.size()))));
    std::array<double, 6> bounds{};
    Eigen::Map<Eigen::Vector3d>(bounds.data()) = positions.rowwise().minCoeff().cast<double>();
    Eigen::Map<Eigen::Vector3d>(bounds.data() + 3) = positions.rowwise().maxCoeff().cast<double>();
    bounds_.push_back(writer_.sample(std::span<const double>(bounds)));
    if (normals_) {
      const std::vector<float> posed = normals_->pose(sequence_.frames[f]);
      normal_values_.push_back(writer_.sample(std::span<const float>(posed)));
    }
  }

  WrittenObject finish() {
    std::vector<std::int32_t> corners;
    std::vector<std::int32_t> sizes;
    for (const std::size_t c : stored_corners_)
      corners.push_back(static_cast<std::int32_t>(rest_.corners[c] - part_.first_vertex));
    for (std::size_t i = 0; i < part_.faces; ++i)
      sizes.push_back(static_cast<std::int32_t>(rest_.face_sizes[part_.first_face + i]));

    std::vector<WrittenProperty> geometry;
    geometry.push_back(
        values(".selfBnds", "interpretation=box", PropertyKind::scalar, ElementType::float64, 6, bounds_));
    geometry.push_back(
        values("P", "geoScope=vtx;interpretation=point", PropertyKind::array, ElementType::float32, 3, points_));
    geometry.push_back(constant(".faceIndices", "", ElementType::int32, 1, std::span<const std::int32_t>(corners)));
    geometry.push_back(constant(".faceCounts", "", ElementType::int32, 1, std::span<const std::int32_t>(sizes)));
    if (!rest_.uv_sets.empty())
      geometry.push_back(attribute("uv", "vector", rest_.uv_sets.front(), rest_.uv_sets.front().name));
    if (normals_) geometry.push_back(normals("N", normal_values_));
    std::vector<WrittenProperty> others = other_values();
    if (!others.empty()) geometry.push_back(writer_.compound(".arbGeomParams", "", others));

    const Schema mesh = schema("AbcGeom_PolyMesh_v1", ".geom", kGeometryBase);
    const Schema xform = schema("AbcGeom_Xform_v3", ".xform", "");
    const WrittenObject shape =
        writer_.object(part_.name, mesh.object,
                       writer_.compound("", "", {writer_.compound(".geom", mesh.compound, geometry)}), face_sets());
    return writer_.object(part_.name, xform.object,
                          writer_.compound("", "", {writer_.compound(".xform", xform.compound, {})}), {shape});
  }

 private:
  ConstPointsMap frame_positions(std::size_t f) const {
    return {sequence_.frames[f].data() + 3 * part_.first_vertex, 3, static_cast<Eigen::Index>(part_.vertices)};
  }

  WrittenProperty values(std::string name, std::string metadata, PropertyKind kind, ElementType type,
                         std::size_t extent, std::vector<StoredSample> samples) const {
    return {.name = std::move(name),
            .metadata = std::move(metadata),
            .kind = kind,
            .type = type,
            .extent = extent,
            .sampling = sampling_,
            .samples = std::move(samples)};
  }

  /// An array that is the same in all frames.
  template <class T>
  WrittenProperty constant(std::string name, std::string metadata, ElementType type, std::size_t extent,
                           std::span<const T> items) {
    return values(std::move(name), std::move(metadata), PropertyKind::array, type, extent,
                  std::vector<StoredSample>(sequence_.frame_count(), writer_.sample(items)));
  }

  /// Values with an index for each stored corner.
  WrittenProperty indexed(const std::string& name, const std::string& metadata, WrittenProperty items,
                          const std::vector<std::uint32_t>& indices) {
    return writer_.compound(
        name, metadata,
        {std::move(items), constant(".indices", "", ElementType::uint32, 1, std::span<const std::uint32_t>(indices))});
  }

  /// The values of an attribute that this part uses, in their order.
  template <int N>
  WrittenProperty attribute(const std::string& name, std::string_view interpretation, const CornerAttribute<N>& whole,
                            const std::string& source_name = {}) {
    std::vector<std::uint32_t> indices;
    for (const std::size_t c : stored_corners_) indices.push_back(whole.indices[c]);
    std::vector<std::uint32_t> used = indices;
    std::ranges::sort(used);
    used.erase(std::unique(used.begin(), used.end()), used.end());
    std::vector<float> items;
    for (const std::uint32_t value : used)
      for (std::size_t k = 0; k < N; ++k) {
        const float item = whole.values[N * value + k];
        items.push_back(N == 2 && k == 1 ? 1 - item : item);  // their v counts from the bottom of the image
      }
    for (std::uint32_t& index : indices)
      index = static_cast<std::uint32_t>(std::ranges::lower_bound(used, index) - used.begin());
    const std::string metadata = value_metadata("fvr", interpretation, N, source_name);
    return indexed(name, metadata, constant(".vals", metadata, ElementType::float32, N, std::span<const float>(items)),
                   indices);
  }

  WrittenProperty normals(const std::string& name, std::vector<StoredSample> samples) {
    std::vector<std::uint32_t> indices;
    for (const std::size_t c : stored_corners_) indices.push_back(normals_->groups()[c - part_.first_corner]);
    const std::string metadata = value_metadata("fvr", "normal", 3);
    return indexed(name, metadata,
                   values(".vals", metadata, PropertyKind::array, ElementType::float32, 3, std::move(samples)),
                   indices);
  }

  /// Further UV sets and colours, and the rest pose where it is not the first frame.
  std::vector<WrittenProperty> other_values() {
    std::vector<WrittenProperty> out;
    std::set<std::string> used{"Pref", "Nref"};
    for (std::size_t i = 1; i < rest_.uv_sets.size(); ++i)
      out.push_back(attribute(object_name(rest_.uv_sets[i].name.empty() ? "uv" : rest_.uv_sets[i].name, used), "vector",
                              rest_.uv_sets[i]));
    for (const CornerAttribute<4>& colors : rest_.color_sets)
      out.push_back(attribute(object_name(colors.name.empty() ? "Cs" : colors.name, used), "rgba", colors));
    if (starts_at_rest_) return out;
    out.push_back(
        constant("Pref", value_metadata("vtx", "point", 3), ElementType::float32, 3,
                 std::span<const float>(rest_.positions.data() + 3 * part_.first_vertex, 3 * part_.vertices)));
    if (normals_) {
      const StoredSample at_rest = writer_.sample(std::span<const float>(normals_->rest()));
      out.push_back(normals("Nref", std::vector<StoredSample>(sequence_.frame_count(), at_rest)));
    }
    return out;
  }

  /// One face set per material that the part uses.
  std::vector<WrittenObject> face_sets() {
    std::vector<WrittenObject> out;
    if (rest_.face_materials.empty()) return out;
    constexpr double kMost = std::numeric_limits<double>::max();
    const std::array<double, 6> no_bounds{kMost, kMost, kMost, -kMost, -kMost, -kMost};
    const Schema set = schema("AbcGeom_FaceSet_v1", ".faceset", kGeometryBase);
    std::set<std::string> used;
    for (std::size_t m = 0; m < rest_.appearance.materials.size(); ++m) {
      std::vector<std::int32_t> faces;
      for (std::size_t i = 0; i < part_.faces; ++i)
        if (rest_.face_materials[part_.first_face + i] == static_cast<int>(m))
          faces.push_back(static_cast<std::int32_t>(i));
      if (faces.empty()) continue;
      WrittenProperty numbers = values(".faces", "", PropertyKind::array, ElementType::int32, 1,
                                       {writer_.sample(std::span<const std::int32_t>(faces))});
      WrittenProperty box = values(".selfBnds", "interpretation=box", PropertyKind::scalar, ElementType::float64, 6,
                                   {writer_.sample(std::span<const double>(no_bounds))});
      numbers.sampling = box.sampling = 0;
      out.push_back(writer_.object(
          object_name(rest_.appearance.materials[m].name, used), set.object,
          writer_.compound("", "", {writer_.compound(".faceset", set.compound, {std::move(box), std::move(numbers)})}),
          {}));
    }
    return out;
  }

  Writer& writer_;
  const Sequence& sequence_;
  const Mesh& rest_;
  MeshPart part_;
  std::size_t sampling_;
  bool starts_at_rest_ = false;
  std::vector<std::size_t> stored_corners_;  // corner of the mesh for each stored corner
  std::optional<PosedNormals> normals_;
  std::vector<StoredSample> points_;
  std::vector<StoredSample> bounds_;
  std::vector<StoredSample> normal_values_;
};

}  // namespace

void write_alembic(const std::filesystem::path& path, const Sequence& sequence, const Progress& progress) {
  sequence.check();
  const std::vector<MeshPart> parts = parts_of(sequence);
  for (const MeshPart& part : parts)
    if (std::max(part.vertices, part.corners) > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
      throw Error(ErrorKind::output,
                  fmt::format("{}: {} vertices and {} corners, Alembic counts to {}", path.string(), part.vertices,
                              part.corners, std::numeric_limits<std::int32_t>::max()));
  const TimeSampling sampling = sampling_of(continuous_times(sequence));
  const TimeSampling identity;
  const bool needs_sampling = sequence.frame_count() > 1 || sampling.times != identity.times;

  Writer writer(path);
  std::vector<PartWriter> writers;
  writers.reserve(parts.size());
  for (const MeshPart& part : parts) writers.emplace_back(writer, sequence, part, needs_sampling ? 1 : 0);
  for (std::size_t f = 0; f < sequence.frame_count(); ++f) {
    go_on(progress, path, f, sequence.frame_count());
    for (PartWriter& part : writers) part.add_frame(f);
  }
  std::vector<WrittenObject> objects;
  objects.reserve(parts.size());
  for (PartWriter& part : writers) objects.push_back(part.finish());

  std::vector<std::pair<TimeSampling, std::size_t>> samplings{{identity, needs_sampling ? 0 : 1}};
  if (needs_sampling) samplings.emplace_back(sampling, sequence.frame_count());
  std::set<std::string> none;
  writer.finish(writer.object("", "", {}, objects),
                fmt::format("_ai_Application=sinew;_ai_Description={}", object_name(sequence.name, none)), samplings);
}

}  // namespace sinew
