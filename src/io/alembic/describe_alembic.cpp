#include <fmt/format.h>

#include <algorithm>

#include "io/alembic/mesh.h"
#include "io/alembic/scene.h"
#include "sinew/io/alembic.h"

namespace sinew {
namespace {

using alembic::Archive;
using alembic::Property;
using alembic::Samples;

/// Whether a property has items of another number, or in another order where that matters, in some sample.
bool varies(const Samples& samples, bool compare_values) {
  const Property& property = samples.property();
  if (property.constant || samples.empty()) return false;
  const std::size_t items = samples.items(0);
  for (std::size_t i = property.first_change; i <= property.last_change; ++i) {
    if (samples.items(i) != items) return true;
    if (compare_values && samples.entry(i) != samples.entry(0) &&
        samples.values<std::int32_t>(i) != samples.values<std::int32_t>(0))
      return true;
  }
  return false;
}

void set_samples(const Archive& archive, const Property& property, AlembicObject& object) {
  object.samples = property.samples;
  if (property.samples == 0) return;
  const alembic::TimeSampling& sampling = archive.samplings()[property.sampling];
  object.first_time = sampling.time(0);
  object.last_time = sampling.time(property.samples - 1);
}

AlembicObject describe(const Archive& archive, const std::vector<alembic::Node>& nodes, std::size_t index) {
  const alembic::Node& node = nodes[index];
  AlembicObject object;
  object.name = node.name;
  object.path = node.path;
  object.type = node.type;
  object.instance_of = node.instance_of;
  object.depth = node.depth;
  object.visible = node.shown;
  object.is_mesh = node.is_mesh();
  if (object.is_mesh) {
    const alembic::MeshSource mesh = alembic::open_mesh(archive, nodes, static_cast<int>(index));
    set_samples(archive, mesh.points.property(), object);
    if (!mesh.points.empty()) object.vertices = mesh.points.items(0);
    if (!mesh.face_sizes.empty()) object.faces = mesh.face_sizes.items(0);
    object.varying_topology = varies(mesh.points, false) || varies(mesh.face_sizes, true) || varies(mesh.corners, true);
  } else if (node.type == "Xform") {
    const alembic::Properties properties = archive.open(node.properties, ".xform");
    if (const Property* values = alembic::find(properties, ".vals"); values != nullptr)
      set_samples(archive, *values, object);
  }
  return object;
}

}  // namespace

AlembicInfo describe_alembic(const std::filesystem::path& path) {
  const Archive archive{ogawa::Source(path)};
  AlembicInfo info;
  info.application = archive.metadata()["_ai_Application"];
  const int version = archive.library_version();
  info.library = fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
  const std::vector<alembic::Node> nodes = alembic::read_nodes(archive);
  for (std::size_t i = 0; i < nodes.size(); ++i) info.objects.push_back(describe(archive, nodes, i));
  return info;
}

}  // namespace sinew
