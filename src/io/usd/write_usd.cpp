#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "io/gltf/write_mesh.h"
#include "io/go_on.h"
#include "io/json_text.h"
#include "io/scene/rig_facts.h"
#include "io/scene/sequence_times.h"
#include "io/usd/writer.h"
#include "sinew/core/error.h"
#include "sinew/io/output_file.h"
#include "sinew/io/usd.h"

/// Rigs as UsdSkel, sequences as points over time, in a text layer (.usda) or in a package with its images (.usdz).
namespace sinew {
namespace usd {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr double kWholeCode = 1e-6;  // a code this near to a whole number, relative to its size or one, is that

void write_header(const TimeCodes& times, const std::string& root, const Json& facts, Text& out) {
  out << "#usda 1.0\n(\n    customLayerData = {\n        string sinew = ";
  out.quoted(json_text(facts)) << "\n    }\n";
  out << "    defaultPrim = \"" << root.substr(1) << "\"\n";
  if (!times.codes.empty()) {
    out << "    endTimeCode = ";
    out.code(*std::max_element(times.codes.begin(), times.codes.end()));
    out << "\n    metersPerUnit = 1\n    startTimeCode = ";
    out.code(*std::min_element(times.codes.begin(), times.codes.end()));
    out << "\n    timeCodesPerSecond = ";
    out.code(times.per_second);
  } else {
    out << "    metersPerUnit = 1";
  }
  out << "\n    upAxis = \"Y\"\n)";
}

// --- A rig.

void write_matrix(const Eigen::Matrix3d& axes, const Eigen::Vector3d& place, Text& out) {
  out << "( ";
  for (int i = 0; i < 3; ++i) {  // rows of their matrix are columns of ours
    const double row[] = {axes(0, i), axes(1, i), axes(2, i), 0};
    out.tuple(row, 4) << ", ";
  }
  const double last[] = {place.x(), place.y(), place.z(), 1};
  out.tuple(last, 4) << " )";
}

/// Joint paths, which spell the hierarchy.
std::vector<std::string> joint_paths(const Rig& rig, bool hierarchy) {
  Identifiers names;
  std::vector<std::string> out;
  for (std::size_t b = 0; b < rig.bone_count(); ++b) {
    const std::string name = names.take(rig.bones[b].name, fmt::format("bone_{}", b));
    const int parent = hierarchy ? rig.bones[b].parent : -1;
    out.push_back(parent < 0 ? name : out[static_cast<std::size_t>(parent)] + "/" + name);
  }
  return out;
}

void write_bind(const Rig& rig, const Joints& joints, Text& out) {
  const auto matrices = [&](const char* name, const auto& write) {
    out.line() << "uniform matrix4d[] " << name << " = [";
    for (std::size_t b = 0; b < rig.bone_count(); ++b) {
      if (b > 0) out << ", ";
      write(b);
    }
    out << "]";
  };
  matrices("bindTransforms",
           [&](std::size_t b) { write_matrix(joints.axes[b], rig.bones[b].head.cast<double>(), out); });
  matrices("restTransforms", [&](std::size_t b) {
    const int parent = joints.hierarchy ? rig.bones[b].parent : -1;
    const Eigen::Vector3d place = gltf::rest_translation(rig, b, joints.hierarchy).cast<double>();
    if (parent < 0) return write_matrix(joints.axes[b], place, out);
    const Eigen::Matrix3d back = joints.axes[static_cast<std::size_t>(parent)].transpose();
    write_matrix(back * joints.axes[b], back * place, out);
  });
}

/// One clip as a SkelAnimation. Rotations are w x y z.
void write_animation(const Rig& rig, const Joints& joints, const std::vector<std::string>& paths,
                     const std::vector<std::size_t>& targets, const std::string& name, const Clip& clip,
                     std::span<const double> codes, Text& out) {
  const auto values = [&](std::size_t f, const auto& track_of, int width) {
    out << "[";
    for (std::size_t b = 0; b < joints.tracks.size(); ++b) {
      if (b > 0) out << ", ";
      const auto w = static_cast<std::size_t>(width);
      out.tuple(track_of(joints.tracks[b]).data() + (clip.first_frame + f) * w, width);
    }
    out << "]";
  };
  out.open_prim("SkelAnimation", name);
  if (!targets.empty()) {
    std::vector<std::string> names;
    for (const std::size_t r : targets) names.push_back(shape_name(r));
    out.line() << "uniform token[] blendShapes = ";
    out.tokens(names);
    out.samples("float[] blendShapeWeights", codes, [&](std::size_t f) {
      std::vector<float> row;
      for (const std::size_t r : targets)
        row.push_back(rig.corrections->coefficients(static_cast<Eigen::Index>(clip.first_frame + f),
                                                    static_cast<Eigen::Index>(r)));
      out.array(std::span<const float>(row));
    });
  }
  out.line() << "uniform token[] joints = ";
  out.tokens(paths);
  out.samples("quatf[] rotations", codes, [&](std::size_t f) {
    out << "[";
    for (std::size_t b = 0; b < joints.tracks.size(); ++b) {
      const float* q = joints.tracks[b].rotation.data() + (clip.first_frame + f) * 4;
      const float turned[] = {q[3], q[0], q[1], q[2]};
      (b == 0 ? out : out << ", ").tuple(turned, 4);
    }
    out << "]";
  });
  if (rig.transforms == Transforms::rigid) {
    const std::vector<int> ones(3 * rig.bone_count(), 1);
    out.line() << "half3[] scales = ";
    out.array(std::span<const int>(ones), 3);
  } else {
    out.samples("half3[] scales", codes, [&](std::size_t f) {
      values(
          f, [](const gltf::BoneTracks& track) -> const auto& { return track.scale; }, 3);
    });
  }
  out.samples("float3[] translations", codes, [&](std::size_t f) {
    values(
        f, [](const gltf::BoneTracks& track) -> const auto& { return track.translation; }, 3);
  });
  out.close_prim();
}

/// The animation that plays is the first clip; others are there to be chosen.
void write_skeleton(const Rig& rig, const Joints& joints, const std::vector<std::size_t>& targets,
                    const std::string& path, const TimeCodes& times, Text& out) {
  const std::vector<std::string> paths = joint_paths(rig, joints.hierarchy);
  const std::vector<Clip> clips = rig.frame_count() == 0 ? std::vector<Clip>() : gltf::clips_of(rig);
  Identifiers identifiers;
  std::vector<std::string> names;
  for (const Clip& clip : clips) names.push_back(identifiers.take(clip.name, "motion"));
  out.open_prim("Skeleton", path.substr(path.rfind('/') + 1), {"prepend apiSchemas = [\"SkelBindingAPI\"]"});
  out.line() << "uniform token[] joints = ";
  out.tokens(paths);
  write_bind(rig, joints, out);
  if (!names.empty()) out.line() << "rel skel:animationSource = <" << path << "/" << names.front() << ">";
  for (std::size_t i = 0; i < clips.size(); ++i)
    write_animation(rig, joints, paths, targets, names[i], clips[i],
                    std::span(times.codes).subspan(clips[i].first_frame, clips[i].frames), out);
  out.close_prim();
}

/// Names as they were; what a rig has beside them is noted by rig_facts().
void add_names(const Mesh& mesh, Json& facts) {
  for (const Material& material : mesh.appearance.materials) facts["materials"].push_back(material.name);
}

void check_counts(const std::string& name, const Mesh& mesh) {
  constexpr std::size_t kMost = 0x7fffffff;  // USD counts in int
  if (mesh.vertex_count() == 0)
    throw Error(ErrorKind::output, fmt::format("{}: a mesh without vertices cannot be written", name));
  if (std::max(mesh.vertex_count(), mesh.corners.size()) > kMost)
    throw Error(ErrorKind::output, fmt::format("{}: {} vertices and {} corners, USD counts to {}", name,
                                               mesh.vertex_count(), mesh.corners.size(), kMost));
}

/// The layer of a rig, written to `sink`; returns the images it refers to.
Materials write_rig_layer(const std::string& name, const Rig& rig, const Text::Sink& sink) {
  rig.check();
  check_counts(name, rig.rest);
  const Joints joints = joints_of(rig, name);
  const std::vector<std::size_t> targets = gltf::effective_corrections(rig);
  const TimeCodes times = time_codes(rig.times, rig.clips);
  const std::string root = "/rig";
  Identifiers names;
  const std::string skeleton = root + "/" + names.take("skeleton", "skeleton");
  Materials materials = name_materials(rig.rest.appearance, root, names);
  Json facts = rig_facts(rig, joints.hierarchy);
  for (const Clip& clip : rig.clips) facts["clip_names"].push_back(clip.name);
  add_names(rig.rest, facts);
  Text out(sink);
  write_header(times, root, facts, out);
  out.open_prim("SkelRoot", root.substr(1), {"kind = \"component\""});
  for (const MeshWriter& mesh : mesh_writers(rig.rest, materials, root, names))
    mesh.write_skinned(rig, targets, skeleton, out);
  write_skeleton(rig, joints, targets, skeleton, times, out);
  write_materials(rig.rest.appearance, materials, out);
  out.close_prim();
  out.finish();
  return materials;
}

Materials write_sequence_layer(const std::string& name, const Sequence& sequence, const Text::Sink& sink) {
  sequence.check();
  check_counts(name, sequence.rest);
  const TimeCodes times = time_codes(continuous_times(sequence), {});
  Identifiers top;
  const std::string root = fmt::format("/{}", top.take(sequence.name, "sequence"));
  Identifiers names;
  Materials materials = name_materials(sequence.rest.appearance, root, names);
  Json facts = {{"format", 1}, {"frames", sequence.frame_count()}};
  for (const Piece& piece : sequence.rest.pieces)
    if (piece.vertices > 0) facts["pieces"].push_back(piece.name);
  for (const auto& uv : sequence.rest.uv_sets) facts["uv_names"].push_back(uv.name);
  for (const auto& color : sequence.rest.color_sets) facts["color_names"].push_back(color.name);
  add_names(sequence.rest, facts);
  Text out(sink);
  write_header(times, root, facts, out);
  out.open_prim("Xform", root.substr(1), {"kind = \"component\""});
  for (const MeshWriter& mesh : mesh_writers(sequence.rest, materials, root, names))
    mesh.write_moving(sequence, times.codes, out);
  write_materials(sequence.rest.appearance, materials, out);
  out.close_prim();
  out.finish();
  return materials;
}

// --- Files.

/// Images beside a layer. Those that this object wrote are removed with it unless kept.
class TextureFiles {
 public:
  ~TextureFiles() {
    std::error_code ignored;
    for (const fs::path& path : written_) fs::remove(path, ignored);
    if (made_folder_) fs::remove(folder_, ignored);
  }
  void write(const fs::path& beside, const std::vector<Texture>& textures) {
    for (const Texture& texture : textures) {
      const fs::path path = beside / texture.name;
      std::error_code failure;
      if (fs::exists(path, failure)) continue;  // its name says what is in it
      folder_ = path.parent_path();
      made_folder_ = fs::create_directory(folder_, failure) || made_folder_;
      OutputFile file(path);
      file.write(texture.bytes);
      file.commit();
      written_.push_back(path);
    }
  }
  void keep() {
    written_.clear();
    made_folder_ = false;
  }

 private:
  std::vector<fs::path> written_;
  fs::path folder_;
  bool made_folder_ = false;
};

template <class Content, class WriteLayer>
void write_file(const fs::path& path, const Content& content, const WriteLayer& write_layer) {
  if (lower_extension(path) == ".usdz") {
    std::string text;
    const Materials materials = write_layer(path.string(), content, [&](std::string_view piece) { text += piece; });
    std::vector<ZipMember> members{{"model.usda", {std::as_bytes(std::span(text))}}};
    for (const Texture& texture : materials.textures) members.push_back({texture.name, {texture.bytes}});
    return write_zip(path, members, kPackageAlignment);
  }
  OutputFile file(path);
  const Materials materials = write_layer(path.string(), content, [&](std::string_view piece) { file.write(piece); });
  TextureFiles textures;
  textures.write(path.has_parent_path() ? path.parent_path() : ".", materials.textures);
  file.commit();
  textures.keep();
}

}  // namespace

TimeCodes time_codes(const std::vector<double>& times, const std::vector<Clip>& clips) {
  TimeCodes out;
  double spacing = 0;
  for (std::size_t f = 1; f < times.size() && spacing == 0; ++f) {
    const bool new_clip = std::any_of(clips.begin(), clips.end(), [&](const Clip& c) { return c.first_frame == f; });
    if (!new_clip) spacing = times[f] - times[f - 1];
  }
  if (spacing > 0) {
    const double rate = std::min(1 / spacing, 1e9);
    out.per_second = rate >= 0.5 && std::abs(rate - std::round(rate)) <= 1e-4 * rate ? std::round(rate) : rate;
  }
  for (const double time : times) {
    const double code = time * out.per_second;
    const bool whole = std::abs(code - std::round(code)) <= kWholeCode * std::max(1.0, std::abs(code));
    out.codes.push_back(whole ? std::round(code) + 0.0 : code);
  }
  for (std::size_t f = 1; f < times.size(); ++f)  // rounding must not make two frames one
    if (times[f] > times[f - 1] && !(out.codes[f] > out.codes[f - 1])) {
      for (std::size_t g = 0; g < times.size(); ++g) out.codes[g] = times[g] * out.per_second;
      break;
    }
  return out;
}

}  // namespace usd

void write_usd_rig(const std::filesystem::path& path, const Rig& rig) {
  usd::write_file(path, rig, usd::write_rig_layer);
}

void write_usd_sequence(const std::filesystem::path& path, const Sequence& sequence, const Progress& progress) {
  usd::write_file(path, sequence, [&](const std::string& name, const Sequence& content, const usd::Text::Sink& sink) {
    return usd::write_sequence_layer(name, content, [&](std::string_view piece) {
      go_on(progress, path, -1);
      sink(piece);
    });
  });
}

}  // namespace sinew
