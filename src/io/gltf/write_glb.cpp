#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "io/gltf/builder.h"
#include "io/gltf/write_mesh.h"
#include "io/gltf/write_motion.h"
#include "io/json_text.h"
#include "io/scene/rig_facts.h"
#include "sinew/core/error.h"
#include "sinew/io/gltf.h"
#include "sinew/io/output_file.h"
#include "sinew/io/two_layer_gltf.h"

/// A rig as GLB. Bone b with head h moves by M(f,b). Its joint has the inverse bind matrix translate(-h) and moves by
/// M·translate(h), so that rounding is relative to the size of the bone's surroundings, not to its distance from the
/// origin. Rigid bones are one node; affine bones are two: translation·U·s above, Vᵀ below, from A = U·diag(s)·Vᵀ.
namespace sinew {
namespace gltf {
namespace {

/// Where things of the rig are in the file.
struct Layout {
  std::vector<std::size_t> outer;   // node of each bone that carries translation, rotation, scale
  std::vector<std::size_t> joints;  // joint node of each bone: the same for rigid rigs
  std::size_t root = 0;             // node that holds the bones
  std::vector<std::size_t> meshes;  // mesh nodes, those of the scene first
  std::vector<std::size_t> shapes;  // targets of each mesh behind the corrections
};

Json vector_json(const Vector3& v) {
  return {v.x(), v.y(), v.z()};
}

void add_bones(const Rig& rig, bool hierarchy, Names& names, Layout& layout, GlbBuilder& out) {
  const bool rigid = rig.transforms == Transforms::rigid;
  std::vector<float> inverse_binds;
  std::vector<std::string> joint_names;
  for (std::size_t b = 0; b < rig.bone_count(); ++b)
    joint_names.push_back(names.take(rig.bones[b].name, fmt::format("bone_{}", b)));
  layout.root = out.append("nodes", {{"name", names.take("skeleton", "skeleton")}});
  for (std::size_t b = 0; b < rig.bone_count(); ++b) {
    Json node = {{"translation", vector_json(rest_translation(rig, b, hierarchy))}};
    if (rigid) {
      node["name"] = joint_names[b];
      layout.outer.push_back(out.append("nodes", std::move(node)));
      layout.joints.push_back(layout.outer.back());
    } else {
      node["name"] = names.take(joint_names[b] + "_stretch", "");
      layout.joints.push_back(out.append("nodes", {{"name", joint_names[b]}}));
      node["children"] = {layout.joints.back()};
      layout.outer.push_back(out.append("nodes", std::move(node)));
    }
    const int parent = hierarchy ? rig.bones[b].parent : -1;
    const std::size_t holder = parent >= 0 ? layout.joints[static_cast<std::size_t>(parent)] : layout.root;
    out.root["nodes"][holder]["children"].push_back(layout.outer.back());
    const Vector3 h = -rig.bones[b].head;
    inverse_binds.insert(inverse_binds.end(), {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, h.x(), h.y(), h.z(), 1});
  }
  out.append("skins", {{"inverseBindMatrices", out.add_floats(inverse_binds, 16, Use::data)},
                       {"joints", layout.joints},
                       {"skeleton", layout.root}});
}

void add_mesh_nodes(const std::vector<WrittenMesh>& meshes, Names& names, Layout& layout, GlbBuilder& out) {
  for (const WrittenMesh& mesh : meshes) {
    const std::string name = names.take(mesh.name, "mesh");
    out.root["meshes"][mesh.mesh]["name"] = name;
    layout.shapes.push_back(mesh.shapes);
    layout.meshes.push_back(out.append("nodes", {{"name", name}, {"mesh", mesh.mesh}, {"skin", 0}}));
  }
}

/// Mesh nodes of a coarser level, behind those of the scene that are the same piece [MSFT_lod].
void add_level(const std::vector<WrittenMesh>& finest, const Rig& level, const std::vector<std::size_t>& targets,
               std::size_t number, Names& names, Layout& layout, GlbBuilder& out) {
  const std::vector<WrittenMesh> meshes = add_meshes(level, targets, out);
  const std::size_t first = layout.meshes.size();
  std::vector<WrittenMesh> named = meshes;
  for (WrittenMesh& mesh : named) mesh.name += fmt::format("_lod{}", number);
  add_mesh_nodes(named, names, layout, out);
  std::size_t piece = 0;  // pieces without triangles left are not written: the others come in order
  for (std::size_t i = 0; i < meshes.size() && piece < finest.size(); ++i, ++piece) {
    while (piece + 1 < finest.size() && finest[piece].name != meshes[i].name) ++piece;
    out.root["nodes"][layout.meshes[piece]]["extensions"]["MSFT_lod"]["ids"].push_back(layout.meshes[first + i]);
  }
}

/// From which share of the screen's height each level is drawn.
void add_coverage(std::size_t meshes, const Layout& layout, GlbBuilder& out) {
  for (std::size_t i = 0; i < meshes; ++i) {
    Json& node = out.root["nodes"][layout.meshes[i]];
    if (!node.contains("extensions")) continue;
    const std::size_t levels = node["extensions"]["MSFT_lod"]["ids"].size();
    Json coverage = Json::array();
    double share = 1;
    for (std::size_t k = 0; k < levels; ++k) coverage.push_back(share /= 2);
    coverage.push_back(0);
    node["extras"]["MSFT_screencoverage"] = std::move(coverage);
  }
}

std::span<const double> times_of(const Rig& rig, const Clip& clip) {
  return {rig.times.data() + clip.first_frame, clip.frames};
}

/// Key times of a clip in float. glTF has no time before 0: a clip that starts earlier is moved there.
std::vector<float> key_times(const Rig& rig, const Clip& clip) {
  const std::span<const double> times = times_of(rig, clip);
  const double shift = std::min(0.0, times[0]);
  std::vector<float> keys;
  for (const double t : times) keys.push_back(static_cast<float>(t - shift));
  for (std::size_t f = 0; f < keys.size(); ++f)
    if (!std::isfinite(keys[f]) || (f > 0 && !(keys[f] > keys[f - 1])))
      throw Error(ErrorKind::output, fmt::format("clip '{}': frame {} at {} s does not come after the frame before it "
                                                 "in float",
                                                 clip.name, f, times[f]));
  return keys;
}

/// What the reader needs to know the times in double.
Json exact_times(const Rig& rig, const Clip& clip) {
  const std::span<const double> times = times_of(rig, clip);
  const double step = times.size() > 1 ? times[1] - times[0] : 0;
  for (std::size_t f = 0; f < times.size(); ++f)
    if (times[f] != times[0] + static_cast<double>(f) * step) return std::vector<double>(times.begin(), times.end());
  return {{"start", times[0]}, {"step", step}};
}

bool repeats(std::span<const float> values, std::initializer_list<float> pattern) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] != pattern.begin()[i % pattern.size()]) return false;
  return true;
}

/// One animation while channels are added to it.
struct AnimationWriter {
  GlbBuilder& out;
  const Clip& clip;
  std::size_t input;
  Json entry = Json::object();

  std::size_t add_sampler(std::span<const float> track, int width) {
    const auto per_frame = static_cast<std::size_t>(width);
    const std::size_t values =
        out.add_floats(track.subspan(clip.first_frame * per_frame, clip.frames * per_frame), width, Use::data);
    entry["samplers"].push_back({{"input", input}, {"output", values}, {"interpolation", "LINEAR"}});
    return entry["samplers"].size() - 1;
  }
  void add_channel(std::size_t sampler, std::size_t node, const char* path) {
    entry["channels"].push_back({{"sampler", sampler}, {"target", {{"node", node}, {"path", path}}}});
  }
};

/// Channels that say nothing new about a node at rest are left out, except rotations of the bones: an animation has
/// channels, and a frame has a key.
void add_bone_channels(const Rig& rig, bool hierarchy, const Layout& layout, const std::vector<BoneTracks>& tracks,
                       AnimationWriter& animation) {
  for (std::size_t b = 0; b < tracks.size(); ++b) {
    const BoneTracks& track = tracks[b];
    const Vector3 rest = rest_translation(rig, b, hierarchy);
    if (!repeats(track.translation, {rest.x(), rest.y(), rest.z()}))
      animation.add_channel(animation.add_sampler(track.translation, 3), layout.outer[b], "translation");
    animation.add_channel(animation.add_sampler(track.rotation, 4), layout.outer[b], "rotation");
    if (!repeats(track.scale, {1}))
      animation.add_channel(animation.add_sampler(track.scale, 3), layout.outer[b], "scale");
    if (!repeats(track.inner, {0, 0, 0, 1}))
      animation.add_channel(animation.add_sampler(track.inner, 4), layout.joints[b], "rotation");
  }
}

std::vector<float> target_weights(const Rig& rig, const std::vector<std::size_t>& targets) {
  std::vector<float> out;  // F×R
  for (std::size_t f = 0; f < rig.frame_count() && !targets.empty(); ++f)
    for (const std::size_t r : targets)
      out.push_back(rig.corrections->coefficients(static_cast<Eigen::Index>(f), static_cast<Eigen::Index>(r)));
  return out;
}

/// Channels of the morph targets of each mesh: the corrections' own weights, and zeros for its shapes.
void add_weight_channels(const std::vector<float>& weights, std::size_t corrections, const Layout& layout,
                         AnimationWriter& animation) {
  std::map<std::size_t, std::size_t> samplers;  // by the number of shapes
  for (std::size_t i = 0; i < layout.meshes.size(); ++i) {
    const auto [sampler, fresh] = samplers.try_emplace(layout.shapes[i], animation.entry["samplers"].size());
    if (fresh) {
      // A scalar accessor of F·R numbers: cut like a track of width R, described as scalars.
      std::vector<float> values;
      for (std::size_t f = animation.clip.first_frame; f < animation.clip.first_frame + animation.clip.frames; ++f) {
        const auto row = weights.begin() + static_cast<std::ptrdiff_t>(f * corrections);
        values.insert(values.end(), row, row + static_cast<std::ptrdiff_t>(corrections));
        values.insert(values.end(), layout.shapes[i], 0.0F);
      }
      animation.entry["samplers"].push_back({{"input", animation.input},
                                             {"output", animation.out.add_floats(values, 1, Use::data)},
                                             {"interpolation", "LINEAR"}});
    }
    animation.add_channel(sampler->second, layout.meshes[i], "weights");
  }
}

void add_animations(const Rig& rig, bool hierarchy, const std::vector<std::size_t>& targets, const Layout& layout,
                    bool safe_names, GlbBuilder& out) {
  if (rig.frame_count() == 0) return;
  const std::vector<BoneTracks> tracks = bone_tracks(rig, hierarchy);
  const std::vector<float> weights = target_weights(rig, targets);
  Names names(safe_names);
  for (const Clip& clip : clips_of(rig)) {
    out.open_view();
    AnimationWriter animation{out, clip, out.add_floats(key_times(rig, clip), 1, Use::data, true)};
    animation.entry["name"] = names.take(clip.name, "motion");
    animation.entry["extras"]["sinew"] = {{"name", clip.name}, {"times", exact_times(rig, clip)}};
    add_bone_channels(rig, hierarchy, layout, tracks, animation);
    if (!targets.empty()) add_weight_channels(weights, targets.size(), layout, animation);
    out.close_view();
    out.append("animations", std::move(animation.entry));
  }
}

}  // namespace

}  // namespace gltf

namespace {

std::vector<std::byte> bytes_of(const Rig& rig, std::span<const Rig> levels, const WriteOptions& options,
                                std::span<const GltfExtension> extensions) {
  rig.check();
  if (rig.vertex_count() == 0) throw Error(ErrorKind::output, "GLB: a mesh without vertices cannot be written");
  if (rig.bone_count() > 65536)
    throw Error(ErrorKind::output, fmt::format("GLB: {} bones, at most 65536 can be written", rig.bone_count()));
  gltf::GlbBuilder out;
  gltf::Names names(options.safe_names);
  gltf::Layout layout;
  const bool hierarchy = gltf::has_hierarchy(rig);
  const std::vector<std::size_t> targets = gltf::effective_corrections(rig);
  out.root["asset"] = {{"version", "2.0"}, {"generator", options.generator}};
  out.root["asset"]["extras"]["sinew"] = rig_facts(rig, hierarchy);
  gltf::add_appearance(rig.rest.appearance, out);
  gltf::add_bones(rig, hierarchy, names, layout, out);
  const std::vector<gltf::WrittenMesh> meshes = gltf::add_meshes(rig, targets, out);
  gltf::add_mesh_nodes(meshes, names, layout, out);
  for (std::size_t i = 0; i < levels.size(); ++i)
    gltf::add_level(meshes, levels[i], targets, i + 1, names, layout, out);
  if (!levels.empty()) {
    gltf::add_coverage(meshes.size(), layout, out);
    out.root["extensionsUsed"].push_back("MSFT_lod");
  }
  gltf::add_animations(rig, hierarchy, targets, layout, options.safe_names, out);
  const bool given = std::any_of(extensions.begin(), extensions.end(),
                                 [](const GltfExtension& extension) { return extension.name == kTwoLayerExtension; });
  if (rig.two_layer && !given) gltf::add_extension(two_layer_extension(rig, false), out);
  for (const GltfExtension& extension : extensions) gltf::add_extension(extension, out);
  gltf::Json scene = {layout.root};
  for (std::size_t i = 0; i < meshes.size(); ++i) scene.push_back(layout.meshes[i]);
  out.root["scenes"] = gltf::Json::array({{{"nodes", std::move(scene)}}});
  out.root["scene"] = 0;
  return out.finish();
}

void write_bytes(const std::filesystem::path& path, const std::vector<std::byte>& bytes) {
  OutputFile file(path);
  file.write(std::span<const std::byte>(bytes));
  file.commit();
}

}  // namespace

std::vector<std::byte> glb_bytes(const Rig& rig, const WriteOptions& options,
                                 std::span<const GltfExtension> extensions) {
  return bytes_of(rig, {}, options, extensions);
}

std::vector<std::byte> glb_levels_bytes(std::span<const Rig> levels, const WriteOptions& options,
                                        std::span<const GltfExtension> extensions) {
  if (levels.empty()) throw Error(ErrorKind::usage, "GLB: no level of detail to write");
  const Rig& first = levels.front();
  const auto rank = [](const Rig& rig) { return rig.corrections ? rig.corrections->rank() : 0; };
  for (const Rig& level : levels.subspan(1)) {
    level.check();
    if (level.bone_count() != first.bone_count() || rank(level) != rank(first) ||
        level.rest.appearance.materials.size() != first.rest.appearance.materials.size() || level.vertex_count() == 0)
      throw Error(ErrorKind::usage, "GLB: levels of detail of different rigs");
  }
  return bytes_of(first, levels.subspan(1), options, extensions);
}

void write_glb(const std::filesystem::path& path, const Rig& rig, const WriteOptions& options,
               std::span<const GltfExtension> extensions) {
  write_bytes(path, glb_bytes(rig, options, extensions));
}

void write_glb_levels(const std::filesystem::path& path, std::span<const Rig> levels, const WriteOptions& options,
                      std::span<const GltfExtension> extensions) {
  write_bytes(path, glb_levels_bytes(levels, options, extensions));
}

}  // namespace sinew
