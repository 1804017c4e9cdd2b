#include <fmt/format.h>

#include "io/gltf_model.h"
#include "sinew/core/error.h"
#include "sinew/io/gltf.h"
#include "sinew/io/output_file.h"

namespace sinew {
namespace gltf {
namespace {

/// Poses one part in one frame; `out` is 3×n. Evaluated in double, rounded once.
void pose_part(const MeshData& mesh, const Part& part, const ScenePose& pose, Eigen::Ref<Points> out) {
  std::vector<Eigen::Affine3d> joints;
  joints.reserve(part.joints.size());
  for (const Joint& joint : part.joints) joints.push_back(pose.global[joint.node] * joint.inverse_bind);
  const std::vector<double>& weights = pose.weights[part.node];
  for (Eigen::Index v = 0; v < mesh.positions.cols(); ++v) {
    Eigen::Vector3d p = mesh.positions.col(v).cast<double>();
    for (std::size_t r = 0; r < mesh.targets.size(); ++r)
      if (weights[r] != 0) p += weights[r] * mesh.targets[r].col(v).cast<double>();
    if (!part.skinned) {
      out.col(v) = (joints[0] * p).cast<float>();
      continue;
    }
    Eigen::Vector3d sum = Eigen::Vector3d::Zero();
    const auto row = static_cast<std::size_t>(v);
    for (std::size_t i = mesh.first_influence[row]; i < mesh.first_influence[row + 1]; ++i)
      sum += mesh.weights[i] * (joints[mesh.joints[i]] * p);
    out.col(v) = sum.cast<float>();
  }
}

}  // namespace
}  // namespace gltf

Sequence parse_gltf_sequence(std::span<const std::byte> bytes, const std::filesystem::path& folder,
                             const ReadOptions& options, const std::string& name) {
  const gltf::Document document(bytes, folder, name);
  const gltf::Model model = gltf::read_model(document, options);
  Sequence out;
  out.name = std::filesystem::path(name).stem().string();
  out.rest = gltf::rest_mesh(document, model, options);
  gltf::Timeline timeline = gltf::timeline(document, model, options);
  const double size = static_cast<double>(timeline.frames.size()) * static_cast<double>(out.vertex_count()) * 12;
  if (size > static_cast<double>(options.max_bytes))
    document.refuse(fmt::format("{} frames of {} vertices would take {:.0f} GiB", timeline.frames.size(),
                                out.vertex_count(), size / (1024.0 * 1024 * 1024)));
  out.frames = Frames(timeline.frames.size(), out.vertex_count());
  for (std::size_t f = 0; f < timeline.frames.size(); ++f) {
    const gltf::ScenePose pose = gltf::pose_at(model.scene, timeline.frames[f].animation, timeline.frames[f].time);
    PointsMap frame = out.frames[f];
    Eigen::Index first = 0;
    for (const gltf::Part& part : model.parts) {
      const gltf::MeshData& mesh = model.meshes[part.mesh];
      gltf::pose_part(mesh, part, pose, frame.middleCols(first, mesh.positions.cols()));
      first += mesh.positions.cols();
    }
  }
  out.times = std::move(timeline.seconds);
  out.clips = std::move(timeline.clips);
  out.check();
  return out;
}

std::optional<GltfExtension> parse_gltf_extension(std::span<const std::byte> bytes, const std::string& extension,
                                                  const std::string& name) {
  const gltf::Document document(bytes, {}, name);
  const gltf::Json* extensions = document.find(document.root(), "extensions");
  if (extensions == nullptr || document.find(*extensions, extension.c_str()) == nullptr) return std::nullopt;
  gltf::Json object = (*extensions)[extension];
  if (!object.is_object()) document.refuse(fmt::format("extension '{}' is not an object", extension));
  GltfExtension out{extension, "", {}};
  const gltf::Json accessors = object.value("accessors", gltf::Json::object());
  if (!accessors.is_object()) document.refuse(fmt::format("extension '{}': accessors is not an object", extension));
  for (const auto& [key, value] : accessors.items()) {
    const std::size_t accessor = document.index_value(value, "accessors", fmt::format("extension '{}'", extension));
    out.arrays.push_back(document.packed(accessor));
    out.arrays.back().name = key;
  }
  object.erase("accessors");
  out.json = object.dump();
  return out;
}

std::optional<GltfExtension> read_gltf_extension(const std::filesystem::path& path, const std::string& extension) {
  return parse_gltf_extension(read_file(path), extension, path.string());
}

Sequence read_gltf_sequence(const std::filesystem::path& path, const ReadOptions& options) {
  return parse_gltf_sequence(read_file(path), path.parent_path(), options, path.string());
}

Rig read_gltf_rig(const std::filesystem::path& path, const ReadOptions& options) {
  return parse_gltf_rig(read_file(path), path.parent_path(), options, path.string());
}

}  // namespace sinew
