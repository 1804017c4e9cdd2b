#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "io/alembic/archive.h"
#include "io/alembic/writer.h"
#include "sinew/io/output_file.h"

/// Small archives for tests, written property by property.
namespace sinew::test {

inline const std::string kMeshMetadata = "schema=AbcGeom_PolyMesh_v1;schemaObjTitle=AbcGeom_PolyMesh_v1:.geom";
inline const std::string kXformMetadata = "schema=AbcGeom_Xform_v3;schemaObjTitle=AbcGeom_Xform_v3:.xform";
inline const std::string kFaceSetMetadata = "schema=AbcGeom_FaceSet_v1;schemaObjTitle=AbcGeom_FaceSet_v1:.faceset";

using Floats = std::vector<float>;
using Ints = std::vector<std::int32_t>;
using Doubles = std::vector<double>;
using alembic::ElementType;
using alembic::PropertyKind;
using alembic::WrittenObject;
using alembic::WrittenProperty;

struct MeshParts {
  std::vector<Floats> points{};  // one per sample
  std::size_t sampling = 1;
  std::vector<Ints> sizes{{3}};
  std::vector<Ints> corners{{0, 1, 2}};
  std::vector<WrittenProperty> geometry{};  // beside points and faces
  std::vector<WrittenProperty> beside{};    // beside .geom
  std::vector<WrittenObject> children{};
};

struct XformParts {
  std::vector<std::uint8_t> operations{};
  std::vector<Doubles> values{};  // one per sample
  std::size_t sampling = 1;
  bool inherits = true;
  std::vector<WrittenProperty> beside{};
  std::vector<WrittenObject> children{};
};

class ArchiveBuilder {
 public:
  explicit ArchiveBuilder(std::filesystem::path path) : path_(std::move(path)), writer_(path_) {}

  /// A time sampling; 0 is always there. Returns its number.
  std::size_t sampling(double period, Doubles times, bool acyclic = false) {
    samplings_.push_back({{period, std::move(times), acyclic}, 0});
    return samplings_.size() - 1;
  }

  template <class T>
  WrittenProperty property(PropertyKind kind, std::string name, std::string metadata, ElementType type,
                           std::size_t extent, std::size_t sampling, const std::vector<std::vector<T>>& samples) {
    WrittenProperty out;
    out.name = std::move(name);
    out.metadata = std::move(metadata);
    out.kind = kind;
    out.type = type;
    out.extent = extent;
    out.sampling = sampling;
    for (const std::vector<T>& sample : samples) out.samples.push_back(writer_.sample(std::span<const T>(sample)));
    return out;
  }
  WrittenProperty floats(std::string name, std::string metadata, std::size_t extent, const Floats& values) {
    return property<float>(PropertyKind::array, std::move(name), std::move(metadata), ElementType::float32, extent, 0,
                           {values});
  }
  WrittenProperty indexed(const std::string& name, const std::string& metadata, std::size_t extent,
                          const Floats& values, const std::vector<std::uint32_t>& indices) {
    return writer_.compound(
        name, metadata,
        {floats(".vals", metadata, extent, values),
         property<std::uint32_t>(PropertyKind::array, ".indices", "", ElementType::uint32, 1, 0, {indices})});
  }
  WrittenProperty visible(const std::vector<std::int8_t>& values, std::size_t sampling = 0) {
    std::vector<std::vector<std::int8_t>> samples;
    for (const std::int8_t value : values) samples.push_back({value});
    return property<std::int8_t>(PropertyKind::scalar, "visible", "", ElementType::int8, 1, sampling, samples);
  }
  WrittenProperty compound(const std::string& name, const std::vector<WrittenProperty>& properties) {
    return writer_.compound(name, "", properties);
  }

  WrittenObject mesh(const std::string& name, MeshParts parts) {
    parts.geometry.insert(parts.geometry.begin(),
                          {property<float>(PropertyKind::array, "P", "geoScope=vtx;interpretation=point",
                                           ElementType::float32, 3, parts.sampling, parts.points),
                           property<std::int32_t>(PropertyKind::array, ".faceIndices", "", ElementType::int32, 1,
                                                  parts.sampling, parts.corners),
                           property<std::int32_t>(PropertyKind::array, ".faceCounts", "", ElementType::int32, 1,
                                                  parts.sampling, parts.sizes)});
    parts.beside.insert(parts.beside.begin(), writer_.compound(".geom", "", parts.geometry));
    return writer_.object(name, kMeshMetadata, writer_.compound("", "", parts.beside), parts.children);
  }

  WrittenObject xform(const std::string& name, XformParts parts) {
    std::vector<WrittenProperty> properties;
    properties.push_back(property<std::uint8_t>(PropertyKind::scalar, ".inherits", "", ElementType::boolean, 1, 0,
                                                {{static_cast<std::uint8_t>(parts.inherits ? 1 : 0)}}));
    if (!parts.operations.empty()) {
      // More than 255 numbers do not fit a scalar.
      const bool many = parts.values.at(0).size() > 255;
      properties.push_back(property<std::uint8_t>(PropertyKind::scalar, ".ops", "", ElementType::uint8,
                                                  parts.operations.size(), 0, {parts.operations}));
      properties.push_back(property<double>(many ? PropertyKind::array : PropertyKind::scalar, ".vals", "",
                                            ElementType::float64, many ? 1 : parts.values.at(0).size(), parts.sampling,
                                            parts.values));
    }
    parts.beside.insert(parts.beside.begin(), writer_.compound(".xform", "", properties));
    return writer_.object(name, kXformMetadata, writer_.compound("", "", parts.beside), parts.children);
  }

  WrittenObject face_set(const std::string& name, const Ints& faces) {
    return writer_.object(
        name, kFaceSetMetadata,
        writer_.compound("", "",
                         {writer_.compound(".faceset", "",
                                           {property<std::int32_t>(PropertyKind::array, ".faces", "",
                                                                   ElementType::int32, 1, 0, {faces})})}),
        {});
  }

  WrittenObject instance(const std::string& name, const std::string& source) {
    std::vector<char> text(source.begin(), source.end());
    text.push_back('\0');
    return writer_.object(
        name, "isInstance=1",
        writer_.compound(
            "", "", {property<char>(PropertyKind::scalar, ".instanceSource", "", ElementType::string, 1, 0, {text})}),
        {});
  }

  std::filesystem::path finish(const std::vector<WrittenObject>& objects) {
    writer_.finish(writer_.object("", "", {}, objects), "_ai_Application=test", samplings_);
    return path_;
  }

 private:
  std::filesystem::path path_;
  alembic::Writer writer_;
  std::vector<std::pair<alembic::TimeSampling, std::size_t>> samplings_{{{}, 1}};
};

}  // namespace sinew::test
