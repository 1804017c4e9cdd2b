#include <fmt/format.h>

#include "io/gltf/model.h"
#include "io/json_text.h"
#include "sinew/core/error.h"
#include "sinew/io/gltf.h"
#include "sinew/io/output_file.h"
#include "sinew/io/two_layer_gltf.h"

namespace sinew {
namespace {

bool has_two_layers(const gltf::Document& document) {
  const gltf::Json* extensions = document.find(document.root(), "extensions");
  return extensions != nullptr && document.find(*extensions, kTwoLayerExtension) != nullptr;
}

/// Where the vertices of the chosen parts are among those of all parts.
std::vector<Eigen::Index> places_of(const gltf::Model& chosen, const gltf::Model& all) {
  std::vector<Eigen::Index> out;
  for (const Part& wanted : chosen.parts) {
    Eigen::Index first = 0;
    for (const Part& part : all.parts) {
      const Eigen::Index count = all.meshes[part.mesh].positions.cols();
      for (Eigen::Index v = 0; v < count && part.node == wanted.node; ++v) out.push_back(first + v);
      first += count;
    }
  }
  return out;
}

/// Where the chosen frames are among all frames: those of one animation follow each other in both.
std::vector<std::size_t> frames_of(const gltf::Timeline& chosen, const gltf::Timeline& all) {
  const auto same = [](const gltf::FrameTime& a, const gltf::FrameTime& b) {
    return a.animation != nullptr && b.animation != nullptr && a.animation->index == b.animation->index &&
           a.time == b.time;
  };
  std::vector<std::size_t> out;
  for (std::size_t f = 0; f < all.frames.size() && out.size() < chosen.frames.size(); ++f)
    if (same(all.frames[f], chosen.frames[out.size()])) out.push_back(f);
  return out;
}

/// The chosen part of a two-layer model, posed by both layers: the skin in the file is only their stand-in. Its motion
/// is noted at the keys; between them vertices move straight.
Sequence pose_both_layers(std::span<const std::byte> bytes, const std::filesystem::path& folder,
                          const gltf::Document& document, const ReadOptions& options, const std::string& name) {
  ReadOptions whole;
  whole.max_bytes = options.max_bytes;
  whole.warn = options.warn;
  ReadOptions at_keys = options;
  at_keys.frames_per_second = 0;
  const Rig rig = parse_gltf_rig(bytes, folder, whole, name);
  const gltf::Model all = gltf::read_model(document, whole);
  const gltf::Model chosen = gltf::read_model(document, at_keys);
  const gltf::Timeline timeline = gltf::timeline(document, chosen, at_keys);
  const std::vector<Eigen::Index> places = places_of(chosen, all);
  const std::vector<std::size_t> frames = frames_of(timeline, gltf::timeline(document, all, whole));
  if (frames.size() != timeline.frames.size() || (!frames.empty() && frames.back() >= rig.frame_count()))
    document.refuse("the keys of its two-layer model are not those of its animations");
  if (12.0 * static_cast<double>(frames.size()) * static_cast<double>(places.size()) >
      static_cast<double>(options.max_bytes))
    document.refuse(fmt::format("{} frames of {} vertices are too many", frames.size(), places.size()));
  Sequence out;
  out.name = std::filesystem::path(name).stem().string();
  out.rest = options.mesh.empty() ? rig.rest : gltf::rest_mesh(document, chosen, options);
  out.frames = Frames(frames.size(), places.size(), options.paging);
  out.times = timeline.seconds;
  out.clips = timeline.clips;
  Points posed(3, rig.rest.positions.cols());
  for (std::size_t f = 0; f < frames.size(); ++f) {
    pose(rig, frames[f], posed);
    out.frames[f] = posed(Eigen::all, places);
  }
  out.check();
  return options.frames_per_second > 0 ? resample(out, options.frames_per_second) : out;
}

}  // namespace

Sequence parse_gltf_sequence(std::span<const std::byte> bytes, const std::filesystem::path& folder,
                             const ReadOptions& options, const std::string& name) {
  const gltf::Document document(bytes, folder, name);
  const gltf::Model model = gltf::read_model(document, options);
  const gltf::Timeline timeline = gltf::timeline(document, model, options);
  const bool moves = timeline.frames.front().animation != nullptr;
  if (has_two_layers(document) && moves && !options.halfway)
    return pose_both_layers(bytes, folder, document, options, name);
  return sequence_of_scene(gltf::skinned_scene(document, model), gltf::rest_mesh(document, model, options),
                           {timeline.seconds, timeline.clips}, gltf::poses(model, timeline), options);
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
  out.json = json_text(object);
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
