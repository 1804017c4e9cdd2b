#include <fmt/format.h>

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/motion_check.h"
#include "io/gltf_model.h"
#include "sinew/core/bounds.h"
#include "sinew/core/error.h"
#include "sinew/io/gltf.h"
#include "sinew/io/two_layer_gltf.h"

/// A glTF model as a rig. A bone is a joint node together with X = inverse_bind · bind⁻¹, which takes rest positions
/// to the joint's space; its motion is global(node) · X.
namespace sinew {
namespace gltf {
namespace {

constexpr double kSameBone = 1e-6;  // relative: two meshes see a joint alike

struct GltfBone {
  std::size_t node = 0;
  Eigen::Affine3d rest_to_joint = Eigen::Affine3d::Identity();  // X
};

/// All bones, and for every part the bone of each of its joints.
struct Bones {
  std::vector<GltfBone> list;
  std::vector<std::vector<Index>> of_part;
};

Bones collect_bones(const Model& model) {
  Bones out;
  std::vector<std::vector<Index>> of_node(model.scene.nodes.size());
  for (const Part& part : model.parts) {
    const Eigen::Affine3d to_mesh = part.bind.inverse();
    out.of_part.emplace_back();
    for (const Joint& joint : part.joints) {
      const Eigen::Affine3d X = joint.inverse_bind * to_mesh;
      std::vector<Index>& known = of_node[joint.node];
      const auto same = std::find_if(known.begin(), known.end(), [&](Index b) {
        const Eigen::Matrix4d& other = out.list[b].rest_to_joint.matrix();
        return (other - X.matrix()).norm() <= kSameBone * X.matrix().norm();
      });
      if (same != known.end()) {
        out.of_part.back().push_back(*same);
        continue;
      }
      known.push_back(static_cast<Index>(out.list.size()));
      out.of_part.back().push_back(known.back());
      out.list.push_back({joint.node, X});
    }
  }
  return out;
}

/// Nearest bone above each bone's node, -1 when there is none.
std::vector<int> parents(const Model& model, const Bones& bones) {
  std::vector<int> bone_at(model.scene.nodes.size(), -1);  // the first bone of a node
  for (std::size_t b = bones.list.size(); b-- > 0;) bone_at[bones.list[b].node] = static_cast<int>(b);
  std::vector<int> above(model.scene.nodes.size(), -1);  // nearest bone at the node or above it
  std::vector<int> out(bones.list.size(), -1);
  for (const std::size_t i : model.scene.order) {
    const int parent = model.scene.nodes[i].parent;
    const int inherited = parent < 0 ? -1 : above[static_cast<std::size_t>(parent)];
    above[i] = bone_at[i] >= 0 ? bone_at[i] : inherited;
  }
  for (std::size_t b = 0; b < bones.list.size(); ++b) {
    const int parent = model.scene.nodes[bones.list[b].node].parent;
    out[b] = parent < 0 ? -1 : above[static_cast<std::size_t>(parent)];
  }
  return out;
}

/// Reorders bones so that parents come first, otherwise in the order of the file.
void sort_bones(const Model& model, std::vector<int>& parent, Bones& bones) {
  const std::size_t count = bones.list.size();
  std::vector<int> depth(model.scene.nodes.size(), 0);  // of nodes; a parent's node is above its child's
  for (const std::size_t i : model.scene.order) {
    const int above = model.scene.nodes[i].parent;
    if (above >= 0) depth[i] = depth[static_cast<std::size_t>(above)] + 1;
  }
  std::vector<Index> order(count);
  std::iota(order.begin(), order.end(), Index{0});
  bool sorted = true;
  for (std::size_t b = 0; b < count; ++b) sorted = sorted && parent[b] < static_cast<int>(b);
  if (sorted) return;
  std::stable_sort(order.begin(), order.end(),
                   [&](Index a, Index b) { return depth[bones.list[a].node] < depth[bones.list[b].node]; });
  std::vector<int> place(count);
  for (std::size_t i = 0; i < count; ++i) place[order[i]] = static_cast<int>(i);
  const Bones before = bones;
  const std::vector<int> parent_before = parent;
  for (std::size_t i = 0; i < count; ++i) {
    bones.list[i] = before.list[order[i]];
    const int p = parent_before[order[i]];
    parent[i] = p < 0 ? -1 : place[static_cast<std::size_t>(p)];
  }
  for (auto& list : bones.of_part)
    for (Index& b : list) b = static_cast<Index>(place[b]);
}

Vector3 head_of(const GltfBone& bone) {
  const double size = bone.rest_to_joint.linear().norm();
  if (std::abs(bone.rest_to_joint.linear().determinant()) < 1e-12 * size * size * size) return Vector3::Zero();
  return bone.rest_to_joint.inverse().translation().cast<float>();
}

/// Bones with names, parents, heads and tails. A tail is the mean head of the children; a bone without children goes on
/// in the direction it came from.
void name_bones(const Model& model, const Bones& bones, const std::vector<int>& parent, Rig& rig) {
  std::vector<Eigen::Vector4f> tails(bones.list.size(), Eigen::Vector4f::Zero());
  for (std::size_t b = 0; b < bones.list.size(); ++b) {
    Bone bone;
    bone.name = model.scene.nodes[bones.list[b].node].name;
    if (bone.name.empty()) bone.name = fmt::format("node_{}", bones.list[b].node);
    bone.parent = parent[b];
    bone.head = head_of(bones.list[b]);
    if (parent[b] >= 0) tails[static_cast<std::size_t>(parent[b])] += bone.head.homogeneous();
    rig.bones.push_back(std::move(bone));
  }
  for (std::size_t b = 0; b < rig.bones.size(); ++b) {
    Bone& bone = rig.bones[b];
    bone.tail = bone.head;
    if (tails[b].w() > 0)
      bone.tail = tails[b].hnormalized();
    else if (bone.parent >= 0)
      bone.tail += bone.head - rig.bones[static_cast<std::size_t>(bone.parent)].head;
  }
}

/// Names, parents and tails that the writer noted.
void restore_bones(const Model& model, Rig& rig) {
  const Json noted = fact(model, "bones");
  if (!noted.is_array() || noted.size() != rig.bone_count()) return;
  for (std::size_t b = 0; b < noted.size(); ++b) {
    if (!noted[b].is_object()) continue;
    const Json name = noted[b].value("name", Json());
    const Json tail = noted[b].value("tail", Json());
    const Json parent = noted[b].value("parent", Json());
    if (name.is_string()) rig.bones[b].name = name.get<std::string>();
    if (parent.is_number_unsigned() && parent.get<std::size_t>() < b) rig.bones[b].parent = parent.get<int>();
    if (!tail.is_array() || tail.size() != 3) continue;
    for (std::size_t c = 0; c < 3; ++c)
      if (tail[c].is_number()) rig.bones[b].tail[static_cast<Eigen::Index>(c)] = tail[c].get<float>();
  }
}

/// Weights of all parts, packed: K is that of the fullest vertex, or what the writer noted.
void pack(const Model& model, const Bones& bones, Rig& rig) {
  std::size_t slots = 1;
  std::size_t room = 8;
  for (const Part& part : model.parts) {
    const MeshData& mesh = model.meshes[part.mesh];
    room = std::max(room, mesh.influence_slots);
    for (std::size_t v = 0; part.skinned && v + 1 < mesh.first_influence.size(); ++v)
      slots = std::max(slots, mesh.first_influence[v + 1] - mesh.first_influence[v]);
  }
  const Json noted = fact(model, "influences");
  if (noted.is_number_unsigned() && noted.get<std::size_t>() <= room) slots = std::max(slots, noted.get<std::size_t>());
  rig.weights.influences = static_cast<int>(slots);
  std::vector<std::pair<Index, double>> row;
  for (std::size_t p = 0; p < model.parts.size(); ++p) {
    const Part& part = model.parts[p];
    const MeshData& mesh = model.meshes[part.mesh];
    for (std::size_t v = 0; v < static_cast<std::size_t>(mesh.positions.cols()); ++v) {
      row.clear();
      if (!part.skinned) row.emplace_back(bones.of_part[p][0], 1.0);
      for (std::size_t i = mesh.first_influence[v]; part.skinned && i < mesh.first_influence[v + 1]; ++i) {
        const Index bone = bones.of_part[p][mesh.joints[i]];
        const auto found = std::find_if(row.begin(), row.end(), [&](const auto& entry) { return entry.first == bone; });
        if (found != row.end())
          found->second += mesh.weights[i];
        else
          row.emplace_back(bone, mesh.weights[i]);
      }
      std::sort(row.begin(), row.end(), [](const auto& a, const auto& b) {
        return a.second != b.second ? a.second > b.second : a.first < b.first;
      });
      for (std::size_t k = 0; k < slots; ++k) {
        const float value = k < row.size() ? static_cast<float>(row[k].second) : 0.0F;
        rig.weights.bones.push_back(value > 0 ? row[k].first : 0);
        rig.weights.values.push_back(value);
      }
    }
  }
}

/// Morph targets as corrections. In files of our own the parts share their targets; elsewhere every part has its own.
struct Targets {
  struct Source {
    std::size_t part = 0;
    std::size_t target = 0;
  };
  std::vector<std::vector<Source>> columns;  // parts and targets that a column is made of
};

Targets collect_targets(const Model& model) {
  Targets out;
  const auto count = [&](std::size_t p) { return model.meshes[model.parts[p].mesh].targets.size(); };
  bool shared = model.own;
  for (std::size_t p = 0; p < model.parts.size(); ++p) shared = shared && count(p) == count(0);
  for (std::size_t p = 0; p < model.parts.size(); ++p)
    for (std::size_t r = 0; r < count(p); ++r) {
      if (shared && p > 0)
        out.columns[r].push_back({p, r});
      else
        out.columns.push_back({{p, r}});
    }
  return out;
}

void add_corrections(const Document& document, const Model& model, const Targets& targets,
                     const std::vector<std::vector<double>>& coefficients, const ReadOptions& options, Rig& rig) {
  std::vector<std::size_t> kept;
  for (std::size_t r = 0; r < targets.columns.size(); ++r)
    if (std::any_of(coefficients.begin(), coefficients.end(), [&](const auto& row) { return row[r] != 0; }))
      kept.push_back(r);
  if (kept.empty()) return;
  if (static_cast<double>(kept.size()) * static_cast<double>(rig.vertex_count()) * 12 >
      static_cast<double>(options.max_bytes))
    document.refuse(fmt::format("{} morph targets of {} vertices are too many", kept.size(), rig.vertex_count()));
  const bool bent = std::any_of(model.meshes.begin(), model.meshes.end(),
                                [](const MeshData& mesh) { return !mesh.target_normals.empty(); });
  std::vector<Eigen::Index> first{0};
  for (const Part& part : model.parts) first.push_back(first.back() + model.meshes[part.mesh].positions.cols());
  Corrections out;
  const auto V = static_cast<Eigen::Index>(rig.vertex_count());
  out.coefficients.resize(static_cast<Eigen::Index>(coefficients.size()), static_cast<Eigen::Index>(kept.size()));
  for (std::size_t i = 0; i < kept.size(); ++i) {
    out.offsets.emplace_back(Points::Zero(3, V));
    if (bent) out.normal_offsets.emplace_back(Points::Zero(3, V));
    for (const Targets::Source& source : targets.columns[kept[i]]) {
      const Part& part = model.parts[source.part];
      const MeshData& mesh = model.meshes[part.mesh];
      const Eigen::Matrix3d A = part.bind.linear();
      const bool as_is = A.isIdentity(0);
      const auto place = [&](const Points& offsets, const Eigen::Matrix3d& turn, Points& to) {
        auto columns = to.middleCols(first[source.part], offsets.cols());
        if (as_is)
          columns = offsets;
        else
          columns = (turn * offsets.cast<double>()).cast<float>();
      };
      place(mesh.targets[source.target], A, out.offsets.back());
      if (bent && !mesh.target_normals.empty())
        place(mesh.target_normals[source.target], A.inverse().transpose(), out.normal_offsets.back());
    }
    for (std::size_t f = 0; f < coefficients.size(); ++f)
      out.coefficients(static_cast<Eigen::Index>(f), static_cast<Eigen::Index>(i)) =
          static_cast<float>(coefficients[f][kept[i]]);
  }
  rig.corrections = std::move(out);
}

bool is_rigid(const Motion& motion) {
  for (std::size_t f = 0; f < motion.frame_count(); ++f)
    for (std::size_t b = 0; b < motion.bone_count(); ++b)
      if (!is_rotation(motion(f, b))) return false;
  return true;
}

/// Whether every child's head stays where its parent puts it.
bool stays_jointed(const Rig& rig) {
  const double diagonal = bounding_box_diagonal(rig.rest.positions);
  for (std::size_t f = 0; f < rig.frame_count(); ++f)
    for (std::size_t b = 0; b < rig.bone_count(); ++b)
      if (!joint_holds(rig, f, b, diagonal)) return false;
  return true;
}

/// Whether the writer says so, or bones have parents, and the motion agrees.
bool is_jointed(const Model& model, const Rig& rig) {
  const bool meant =
      model.own ? fact(model, "jointed") == true
                : std::any_of(rig.bones.begin(), rig.bones.end(), [](const Bone& bone) { return bone.parent >= 0; });
  return meant && stays_jointed(rig);
}

void restore_notes(const Model& model, Rig& rig) {
  if (model.facts->contains("notes")) rig.notes = (*model.facts)["notes"].dump();
  const Json text = fact(model, "notes_text");
  if (text.is_string()) rig.notes = text.get<std::string>();
}

void fill_motion(const Model& model, const Bones& bones, const Timeline& timeline, const Targets& targets,
                 std::vector<std::vector<double>>& coefficients, Rig& rig) {
  rig.motion = Motion(timeline.frames.size(), bones.list.size());
  for (std::size_t f = 0; f < timeline.frames.size(); ++f) {
    const ScenePose pose = pose_at(model.scene, timeline.frames[f].animation, timeline.frames[f].time);
    for (std::size_t b = 0; b < bones.list.size(); ++b)
      rig.motion(f, b) = (pose.global[bones.list[b].node] * bones.list[b].rest_to_joint).affine().cast<float>();
    coefficients.emplace_back();
    for (const auto& column : targets.columns)
      coefficients.back().push_back(pose.weights[model.parts[column[0].part].node][column[0].target]);
  }
}

/// The two-layer model in the file, if there is one and the whole rig is read.
void add_second_layer(std::span<const std::byte> bytes, const ReadOptions& options, const std::string& name, Rig& rig) {
  const std::optional<GltfExtension> extension = parse_gltf_extension(bytes, kTwoLayerExtension, name);
  if (!extension) return;
  if (options.clip.empty() && options.mesh.empty() && options.frames_per_second == 0)
    apply_two_layer_extension(*extension, name, rig);
  else if (options.warn)
    options.warn(fmt::format("{}: only a part is read, so its two-layer model is left out", name));
}

}  // namespace
}  // namespace gltf

Rig parse_gltf_rig(std::span<const std::byte> bytes, const std::filesystem::path& folder, const ReadOptions& options,
                   const std::string& name) {
  const gltf::Document document(bytes, folder, name);
  const gltf::Model model = gltf::read_model(document, options);
  if (std::none_of(model.parts.begin(), model.parts.end(), [](const gltf::Part& part) { return part.skinned; }))
    document.refuse("has no skin, so it is no rig");
  gltf::Bones bones = gltf::collect_bones(model);
  std::vector<int> parent = gltf::parents(model, bones);
  gltf::sort_bones(model, parent, bones);
  gltf::Timeline timeline = gltf::timeline(document, model, options);
  const double size = static_cast<double>(timeline.frames.size()) * static_cast<double>(bones.list.size()) * 48;
  if (size > static_cast<double>(options.max_bytes))
    document.refuse(fmt::format("{} frames of {} bones are too many", timeline.frames.size(), bones.list.size()));
  if (gltf::fact(model, "frames") == 0) timeline = {};
  Rig rig;
  rig.rest = gltf::rest_mesh(document, model, options);
  gltf::name_bones(model, bones, parent, rig);
  if (model.own) gltf::restore_bones(model, rig);
  gltf::pack(model, bones, rig);
  const gltf::Targets targets = gltf::collect_targets(model);
  std::vector<std::vector<double>> coefficients;
  gltf::fill_motion(model, bones, timeline, targets, coefficients, rig);
  gltf::add_corrections(document, model, targets, coefficients, options, rig);
  rig.times = std::move(timeline.seconds);
  rig.clips = std::move(timeline.clips);
  const bool affine = gltf::fact(model, "transforms") == "affine";
  rig.transforms = !affine && gltf::is_rigid(rig.motion) ? Transforms::rigid : Transforms::affine;
  rig.jointed = gltf::is_jointed(model, rig);
  if (model.own) gltf::restore_notes(model, rig);
  gltf::add_second_layer(bytes, options, name, rig);
  rig.check();
  return rig;
}

}  // namespace sinew
