#include "io/scene/skinned_scene.h"
#include "io/json_text.h"
#include "io/scene/scene_shapes.h"

#include <fmt/format.h>

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "core/motion_check.h"
#include "sinew/core/bounds.h"

namespace sinew {
namespace {

using Json = nlohmann::json;

constexpr double kSameBone = 1e-6;  // relative: two meshes see a joint alike

struct JointBone {
  std::size_t node = 0;
  Eigen::Affine3d rest_to_joint = Eigen::Affine3d::Identity();  // X
};

/// All bones, and for every part the bone of each of its joints.
struct Bones {
  std::vector<JointBone> list;
  std::vector<std::vector<Index>> of_part;
};

Bones collect_bones(const SkinnedScene& scene) {
  Bones out;
  std::vector<std::vector<Index>> of_node(scene.nodes.size());
  for (const Part& part : scene.parts) {
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
std::vector<int> parents(const SkinnedScene& scene, const Bones& bones) {
  std::vector<int> bone_at(scene.nodes.size(), -1);  // the first bone of a node
  for (std::size_t b = bones.list.size(); b-- > 0;) bone_at[bones.list[b].node] = static_cast<int>(b);
  std::vector<int> above(scene.nodes.size(), -1);  // nearest bone at the node or above it
  std::vector<int> out(bones.list.size(), -1);
  for (const std::size_t i : scene.order) {
    const int parent = scene.nodes[i].parent;
    const int inherited = parent < 0 ? -1 : above[static_cast<std::size_t>(parent)];
    above[i] = bone_at[i] >= 0 ? bone_at[i] : inherited;
  }
  for (std::size_t b = 0; b < bones.list.size(); ++b) {
    const int parent = scene.nodes[bones.list[b].node].parent;
    out[b] = parent < 0 ? -1 : above[static_cast<std::size_t>(parent)];
  }
  return out;
}

/// Reorders bones so that parents come first, otherwise in the order of the file.
void sort_bones(const SkinnedScene& scene, std::vector<int>& parent, Bones& bones) {
  const std::size_t count = bones.list.size();
  std::vector<int> depth(scene.nodes.size(), 0);  // of nodes; a parent's node is above its child's
  for (const std::size_t i : scene.order) {
    const int above = scene.nodes[i].parent;
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

Vector3 head_of(const JointBone& bone) {
  const double size = bone.rest_to_joint.linear().norm();
  if (std::abs(bone.rest_to_joint.linear().determinant()) < 1e-12 * size * size * size) return Vector3::Zero();
  return bone.rest_to_joint.inverse().translation().cast<float>();
}

/// Bones with names, parents, heads and tails. A tail is the mean head of the children; a bone without children goes on
/// in the direction it came from.
void name_bones(const SkinnedScene& scene, const Bones& bones, const std::vector<int>& parent, Rig& rig) {
  std::vector<Eigen::Vector4f> tails(bones.list.size(), Eigen::Vector4f::Zero());
  for (std::size_t b = 0; b < bones.list.size(); ++b) {
    Bone bone;
    bone.name = scene.nodes[bones.list[b].node].name;
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
void restore_bones(const SkinnedScene& scene, Rig& rig) {
  const Json noted = scene.fact("bones");
  if (!noted.is_array() || noted.size() != rig.bone_count()) return;
  for (std::size_t b = 0; b < noted.size(); ++b) {
    if (!noted[b].is_object()) continue;
    const Json name = noted[b].value("name", Json());
    const Json tail = noted[b].value("tail", Json());
    const Json parent = noted[b].value("parent", Json());
    if (name.is_string()) rig.bones[b].name = name.get<std::string>();
    if (parent.is_number_unsigned() && parent.get<std::size_t>() < b) rig.bones[b].parent = parent.get<int>();
    rig.bones[b].helper = noted[b].value("helper", Json()) == true;
    if (!tail.is_array() || tail.size() != 3) continue;
    for (std::size_t c = 0; c < 3; ++c)
      if (tail[c].is_number()) rig.bones[b].tail[static_cast<Eigen::Index>(c)] = tail[c].get<float>();
  }
}

/// As many numbers as there is room for; false where it is anything else.
template <class Matrix>
bool restore_numbers(const Json& noted, Matrix& out) {
  if (!noted.is_array() || noted.size() != static_cast<std::size_t>(out.size())) return false;
  for (std::size_t i = 0; i < noted.size(); ++i) {
    if (!noted[i].is_number()) return false;
    const auto at = static_cast<Eigen::Index>(i);
    out(at / out.cols(), at % out.cols()) = noted[i].get<float>();
  }
  return true;
}

bool restore_drive(const Json& noted, HelperDrive& drive) {
  if (!noted.is_object()) return false;
  const Json bone = noted.value("bone", Json());
  const Json inputs = noted.value("inputs", Json());
  if (!bone.is_number_unsigned() || bone.get<std::uint64_t>() > 65535 || !inputs.is_array()) return false;
  drive.bone = bone.get<Index>();
  for (const Json& entry : inputs) {
    HelperDrive::Input input;
    if (!entry.is_object()) return false;
    const Json joint = entry.value("joint", Json());
    if (!joint.is_number_unsigned() || joint.get<std::uint64_t>() > 65535) return false;
    input.joint = joint.get<Index>();
    if (!restore_numbers(entry.value("by", Json()), input.by)) return false;
    drive.inputs.push_back(input);
  }
  return restore_numbers(noted.value("constant", Json()), drive.constant);
}

/// Drives that the writer noted, all of them or none: a rig does without.
void restore_drives(const SkinnedScene& scene, Rig& rig) {
  const Json noted = scene.fact("drives");
  if (!noted.is_array() || noted.size() > rig.bone_count()) return;
  for (const Json& entry : noted) {
    HelperDrive drive;
    if (restore_drive(entry, drive)) rig.drives.push_back(std::move(drive));
  }
  if (rig.drives.size() != noted.size() || !fault_of(rig.drives, rig.bones).empty()) rig.drives.clear();
}

/// Bones that move control point v, each once, with their weights. A part without skin has one bone and no influences.
std::vector<std::pair<Index, double>> influences_at(const Part& part, const ControlPoints& mesh, std::size_t v,
                                                    const std::vector<Index>& bone_of_joint) {
  if (!part.skinned) return {{bone_of_joint.front(), 1.0}};
  std::vector<std::pair<Index, double>> row;
  for (std::size_t i = mesh.first_influence[v]; i < mesh.first_influence[v + 1]; ++i) {
    const Index bone = bone_of_joint[mesh.joints[i]];
    const auto found = std::find_if(row.begin(), row.end(), [&](const auto& entry) { return entry.first == bone; });
    if (found != row.end())
      found->second += mesh.weights[i];
    else
      row.emplace_back(bone, mesh.weights[i]);
  }
  return row;
}

/// Weights of all parts, packed: K is that of the fullest vertex, or what the writer noted.
void pack(const SkinnedScene& scene, const Bones& bones, Rig& rig) {
  std::size_t slots = 1;
  std::size_t room = 8;
  for (const Part& part : scene.parts) {
    const ControlPoints& mesh = scene.points(part);
    room = std::max(room, mesh.influence_slots);
    for (std::size_t v = 0; part.skinned && v + 1 < mesh.first_influence.size(); ++v)
      slots = std::max(slots, mesh.first_influence[v + 1] - mesh.first_influence[v]);
  }
  const Json noted = scene.fact("influences");
  if (noted.is_number_unsigned() && noted.get<std::size_t>() <= room) slots = std::max(slots, noted.get<std::size_t>());
  rig.weights.influences = static_cast<int>(slots);
  for (std::size_t p = 0; p < scene.parts.size(); ++p) {
    const Part& part = scene.parts[p];
    const ControlPoints& mesh = scene.points(part);
    for (std::size_t v = 0; v < static_cast<std::size_t>(mesh.positions.cols()); ++v) {
      auto row = influences_at(part, mesh, v, bones.of_part[p]);
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

/// Morph targets as corrections: the targets that each is made of. In files of our own the parts share as many as there
/// are corrections; elsewhere every part has its own.
using Targets = std::vector<std::vector<Target>>;

Targets collect_targets(const SkinnedScene& scene) {
  Targets out;
  const auto count = [&](std::size_t p) { return scene.points(scene.parts[p]).targets.size(); };
  std::size_t least = scene.parts.empty() ? 0 : count(0);
  std::size_t most = least;
  for (std::size_t p = 0; p < scene.parts.size(); ++p) {
    least = std::min(least, count(p));
    most = std::max(most, count(p));
  }
  std::size_t shared = scene.facts != nullptr && least == most ? most : 0;
  if (const Json noted = scene.fact("corrections"); noted.is_number_unsigned())
    shared = std::min(noted.get<std::size_t>(), least);
  for (std::size_t r = 0; r < shared; ++r) {
    out.emplace_back();
    for (std::size_t p = 0; p < scene.parts.size(); ++p) out.back().push_back({p, r});
  }
  for (std::size_t p = 0; p < scene.parts.size(); ++p)
    for (std::size_t r = shared; r < count(p); ++r) out.push_back({{p, r}});
  return out;
}

void add_corrections(const SkinnedScene& scene, const Targets& targets,
                     const std::vector<std::vector<double>>& coefficients, const ReadOptions& options, Rig& rig) {
  std::vector<std::size_t> kept;
  for (std::size_t r = 0; r < targets.size(); ++r)
    if (std::any_of(coefficients.begin(), coefficients.end(), [&](const auto& row) { return row[r] != 0; }))
      kept.push_back(r);
  std::vector<Target> unused;
  for (std::size_t r = 0; r < targets.size(); ++r)
    if (!std::binary_search(kept.begin(), kept.end(), r))
      unused.insert(unused.end(), targets[r].begin(), targets[r].end());
  add_shapes(scene, unused, options, rig.rest);
  if (kept.empty()) return;
  if (static_cast<double>(kept.size()) * static_cast<double>(rig.vertex_count()) * 12 >
      static_cast<double>(options.max_bytes))
    refuse(scene, fmt::format("{} morph targets of {} vertices are too many", kept.size(), rig.vertex_count()));
  const bool bent = std::any_of(scene.meshes.begin(), scene.meshes.end(),
                                [](const ControlPoints* mesh) { return !mesh->target_normals.empty(); });
  const std::vector<Eigen::Index> first = part_starts(scene);
  Corrections out;
  const auto V = static_cast<Eigen::Index>(rig.vertex_count());
  out.coefficients.resize(static_cast<Eigen::Index>(coefficients.size()), static_cast<Eigen::Index>(kept.size()));
  for (std::size_t i = 0; i < kept.size(); ++i) {
    out.offsets.emplace_back(Points::Zero(3, V));
    if (bent) out.normal_offsets.emplace_back(Points::Zero(3, V));
    for (const Target& source : targets[kept[i]]) {
      const Part& part = scene.parts[source.part];
      const ControlPoints& mesh = scene.points(part);
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
        place(mesh.target_normals[source.target], normals_by(A), out.normal_offsets.back());
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
bool is_jointed(const SkinnedScene& scene, const Rig& rig) {
  const bool meant = scene.facts != nullptr ? scene.fact("jointed") == true
                                            : std::any_of(rig.bones.begin(), rig.bones.end(),
                                                          [](const Bone& bone) { return bone.parent >= 0; });
  return meant && stays_jointed(rig);
}

void restore_notes(const SkinnedScene& scene, Rig& rig) {
  if (scene.facts->contains("notes")) rig.notes = json_text((*scene.facts)["notes"]);
  const Json text = scene.fact("notes_text");
  if (text.is_string()) rig.notes = text.get<std::string>();
}

void fill_motion(const SkinnedScene& scene, const Bones& bones, const PoseAt& pose_at, std::size_t frames,
                 const Targets& targets, std::vector<std::vector<double>>& coefficients, Rig& rig) {
  rig.motion = Motion(frames, bones.list.size());
  for (std::size_t f = 0; f < frames; ++f) {
    const ScenePose pose = pose_at(f);
    for (std::size_t b = 0; b < bones.list.size(); ++b)
      rig.motion(f, b) = (pose.global[bones.list[b].node] * bones.list[b].rest_to_joint).affine().cast<float>();
    coefficients.emplace_back();
    for (const auto& column : targets)
      coefficients.back().push_back(pose.weights[scene.parts[column[0].part].node][column[0].target]);
  }
}

}  // namespace

void pose_part(const ControlPoints& mesh, const Part& part, const ScenePose& pose, Eigen::Ref<Points> out) {
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

bool invertible(const Eigen::Affine3d& m) {
  const double size = m.linear().norm();
  return m.matrix().allFinite() && std::abs(m.linear().determinant()) > 1e-12 * size * size * size;
}

bool glob_match(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || (pattern[p] == text[t] && pattern[p] != '*'))) {
      ++p;
      ++t;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

void restore_mesh_names(const Json& facts, Mesh& mesh) {
  const auto names = [&](const char* key, auto& sets) {
    const Json noted = facts.value(key, Json());
    if (!noted.is_array()) return;
    for (std::size_t i = 0; i < std::min(sets.size(), noted.size()); ++i)
      if (noted[i].is_string()) sets[i].name = noted[i].template get<std::string>();
  };
  names("uv_names", mesh.uv_sets);
  names("color_names", mesh.color_sets);
  const Json pieces = facts.value("pieces", Json());
  if (!pieces.is_array()) {
    if (mesh.pieces.size() < 2) mesh.pieces.clear();
    return;
  }
  for (std::size_t i = 0; i < std::min(mesh.pieces.size(), pieces.size()); ++i)
    if (pieces[i].is_string()) mesh.pieces[i].name = pieces[i].get<std::string>();
}

Json SkinnedScene::fact(const char* key) const {
  return facts == nullptr ? Json() : facts->value(key, Json());
}

Rig rig_of_scene(const SkinnedScene& scene, Mesh rest, SampledTimes times, const PoseAt& pose_at,
                 const ReadOptions& options) {
  Bones bones = collect_bones(scene);
  std::vector<int> parent = parents(scene, bones);
  sort_bones(scene, parent, bones);
  const std::size_t frames = times.seconds.size();
  if (static_cast<double>(frames) * static_cast<double>(bones.list.size()) * 48 >
      static_cast<double>(options.max_bytes))
    refuse(scene, fmt::format("{} frames of {} bones are too many", frames, bones.list.size()));
  if (scene.fact("frames") == 0) times = {};
  Rig rig;
  rig.rest = std::move(rest);
  name_bones(scene, bones, parent, rig);
  if (scene.facts != nullptr) {
    restore_bones(scene, rig);
    restore_drives(scene, rig);
  }
  pack(scene, bones, rig);
  const Targets targets = collect_targets(scene);
  std::vector<std::vector<double>> coefficients;
  fill_motion(scene, bones, pose_at, times.seconds.size(), targets, coefficients, rig);
  add_corrections(scene, targets, coefficients, options, rig);
  rig.times = std::move(times.seconds);
  rig.clips = std::move(times.clips);
  const bool affine = scene.fact("transforms") == "affine";
  rig.transforms = !affine && is_rigid(rig.motion) ? Transforms::rigid : Transforms::affine;
  rig.jointed = is_jointed(scene, rig);
  if (scene.facts != nullptr) restore_notes(scene, rig);
  return rig;
}

Sequence sequence_of_scene(const SkinnedScene& scene, Mesh rest, SampledTimes times, const PoseAt& pose_at,
                           const ReadOptions& options) {
  Sequence out;
  out.name = std::filesystem::path(scene.file).stem().string();
  out.rest = std::move(rest);
  const std::size_t frames = times.seconds.size();
  const double size = static_cast<double>(frames) * static_cast<double>(out.vertex_count()) * 12;
  if (size > static_cast<double>(options.max_bytes))
    refuse(scene, fmt::format("{} frames of {} vertices would take {:.0f} GiB", frames, out.vertex_count(),
                              size / (1024.0 * 1024 * 1024)));
  out.frames = Frames(frames, out.vertex_count(), options.paging);
  std::vector<std::vector<bool>> used;  // targets, by part
  for (const Part& part : scene.parts) used.emplace_back(scene.points(part).targets.size(), false);
  for (std::size_t f = 0; f < frames; ++f) {
    const ScenePose pose = pose_at(f);
    PointsMap frame = out.frames[f];
    Eigen::Index first = 0;
    for (std::size_t p = 0; p < scene.parts.size(); ++p) {
      const Part& part = scene.parts[p];
      const ControlPoints& mesh = scene.points(part);
      for (std::size_t r = 0; r < used[p].size(); ++r) used[p][r] = used[p][r] || pose.weights[part.node][r] != 0;
      pose_part(mesh, part, pose, frame.middleCols(first, mesh.positions.cols()));
      first += mesh.positions.cols();
    }
  }
  std::vector<Target> unused;
  for (std::size_t p = 0; p < used.size(); ++p)
    for (std::size_t r = 0; r < used[p].size(); ++r)
      if (!used[p][r]) unused.push_back({p, r});
  add_shapes(scene, unused, options, out.rest);
  out.times = std::move(times.seconds);
  out.clips = std::move(times.clips);
  out.check();
  return out;
}

}  // namespace sinew
