#include "io/gltf/model.h"

#include <fmt/format.h>

#include <Eigen/LU>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "sinew/core/error.h"

namespace sinew::gltf {
namespace {

constexpr double kBindTolerance = 1e-4;

std::vector<Joint> read_skin(const Document& document, std::size_t skin) {
  const Json& object = document.at("skins", skin);
  const std::string where = fmt::format("skin {}", skin);
  std::vector<Joint> joints;
  for (const Json& entry : document.array(object, "joints", where)) {
    joints.emplace_back();
    joints.back().node = document.index_value(entry, "nodes", fmt::format("{}, joint {}", where, joints.size() - 1));
  }
  if (joints.empty()) document.refuse(fmt::format("{} has no joints", where));
  const auto accessor = document.index(object, "inverseBindMatrices", "accessors", where);
  if (!accessor) return joints;
  const std::vector<float> matrices = document.floats(*accessor, 16, where);
  if (matrices.size() < joints.size() * 16)
    document.refuse(
        fmt::format("{}: {} inverse bind matrices for {} joints", where, matrices.size() / 16, joints.size()));
  for (std::size_t j = 0; j < joints.size(); ++j)
    joints[j].inverse_bind.affine() =
        Eigen::Map<const Eigen::Matrix4f>(matrices.data() + j * 16).topRows<3>().cast<double>();
  return joints;
}

/// What our packed files say of the bind pose of a skin whose nodes rest elsewhere: a scale and a place.
std::optional<Eigen::Affine3d> told_bind(const Document& document, std::size_t skin) {
  const Json* const extras = document.find(document.at("skins", skin), "extras");
  const Json* const told = extras == nullptr ? nullptr : document.find(*extras, "sinew");
  if (told == nullptr || document.find(*told, "bind") == nullptr) return std::nullopt;
  const std::vector<double> numbers = document.numbers(*told, "bind", 4, fmt::format("skin {}", skin));
  Eigen::Affine3d out = Eigen::Affine3d::Identity();
  out.translate(Eigen::Vector3d(numbers[1], numbers[2], numbers[3])).scale(numbers[0]);
  return out;
}

/// Where the mesh is in bind pose. When the file's own placement of the joints is the bind pose, all joints agree on
/// it; else it is what the file tells, or where the node would put the mesh if it had no skin.
Eigen::Affine3d bind_of(const Part& part, const ScenePose& placed, const std::optional<Eigen::Affine3d>& told) {
  Eigen::Affine3d first = placed.global[part.joints[0].node] * part.joints[0].inverse_bind;
  const double size = first.matrix().norm();
  const bool agreed = std::all_of(part.joints.begin(), part.joints.end(), [&](const Joint& joint) {
    return ((placed.global[joint.node] * joint.inverse_bind).matrix() - first.matrix()).norm() <= kBindTolerance * size;
  });
  if (agreed && invertible(first)) return first;
  if (told && invertible(*told)) return *told;
  const Eigen::Affine3d& node = placed.global[part.node];
  return invertible(node) ? node : Eigen::Affine3d::Identity();
}

/// Refuses joints a skin does not have and rows that cannot be scaled to sum 1; scales the others.
void check_weights(const Document& document, const ReadOptions& options, std::size_t joints, MeshData& mesh) {
  std::size_t mended = 0;
  std::size_t first = 0;
  double first_sum = 0;
  for (std::size_t v = 0; v + 1 < mesh.first_influence.size(); ++v) {
    double sum = 0;
    for (std::size_t i = mesh.first_influence[v]; i < mesh.first_influence[v + 1]; ++i) {
      if (mesh.joints[i] >= joints)
        document.refuse(fmt::format("mesh '{}': vertex {} refers to joint {}, its skin has {}", mesh.name, v,
                                    mesh.joints[i], joints));
      if (!(mesh.weights[i] >= 0))
        document.refuse(fmt::format("mesh '{}': vertex {} has weight {}", mesh.name, v, mesh.weights[i]));
      sum += mesh.weights[i];
    }
    if (!(sum > 0) || !std::isfinite(sum))
      document.refuse(fmt::format("mesh '{}': the weights of vertex {} sum to {}", mesh.name, v, sum));
    if (std::abs(sum - 1) > mesh.weight_tolerance && mended++ == 0) {
      first = v;
      first_sum = sum;
    }
    if (std::abs(sum - 1) <= 1e-7) continue;  // as good as float can say it: keep the bits
    for (std::size_t i = mesh.first_influence[v]; i < mesh.first_influence[v + 1]; ++i) mesh.weights[i] /= sum;
  }
  if (mended > 0 && options.warn)
    options.warn(fmt::format("{}: mesh '{}': the weights of {} vertices do not sum to 1 (vertex {}: {}); scaled to 1",
                             document.name(), mesh.name, mended, first, first_sum));
}

/// Collects distinct values of a corner attribute.
template <int N>
class AttributeCollector {
 public:
  explicit AttributeCollector(CornerAttribute<N>& out) : out_(out) {}

  /// The number of a value.
  Index number(const float* value) {
    std::string key(reinterpret_cast<const char*>(value), N * sizeof(float));
    const auto [entry, is_new] = known_.try_emplace(std::move(key), static_cast<Index>(known_.size()));
    if (is_new) out_.values.insert(out_.values.end(), value, value + N);
    return entry->second;
  }
  void add(const float* value) { out_.indices.push_back(number(value)); }

  /// Adds the value of each corner: raw vertex i of `values` has the N numbers from i·N.
  void add_corners(const std::vector<float>& values, const std::vector<Index>& corners) {
    std::vector<Index> numbers(values.size() / N, MeshData::kUnused);  // of raw vertices met so far
    for (const Index corner : corners) {
      if (numbers[corner] == MeshData::kUnused) numbers[corner] = number(values.data() + std::size_t{corner} * N);
      out_.indices.push_back(numbers[corner]);
    }
  }

 private:
  CornerAttribute<N>& out_;
  std::unordered_map<std::string, Index> known_;
};

/// Corners of a part's triangles as raw vertices; mirrored parts turn theirs so that they stay outside.
std::vector<Index> turned_corners(const MeshData& mesh, const Part& part) {
  std::vector<Index> corners = mesh.corners;
  if (part.bind.linear().determinant() < 0)
    for (std::size_t i = 0; i + 2 < corners.size(); i += 3) std::swap(corners[i + 1], corners[i + 2]);
  return corners;
}

/// Sets of corner values over all parts; parts without them get `fill`.
template <int N>
std::vector<CornerAttribute<N>> collect_sets(const Model& model, std::vector<std::vector<float>> MeshData::*sets,
                                             const char* key, const std::array<float, N>& fill) {
  std::size_t count = 0;
  for (const Part& part : model.parts) count = std::max(count, (model.meshes[part.mesh].*sets).size());
  std::vector<CornerAttribute<N>> out(count);
  for (std::size_t set = 0; set < count; ++set) {
    out[set].name = fmt::format("{}_{}", key, set);
    AttributeCollector<N> collector(out[set]);
    for (const Part& part : model.parts) {
      const MeshData& mesh = model.meshes[part.mesh];
      const bool present = set < (mesh.*sets).size() && !(mesh.*sets)[set].empty();
      const std::vector<Index> corners = turned_corners(mesh, part);
      if (present)
        collector.add_corners((mesh.*sets)[set], corners);
      else
        out[set].indices.insert(out[set].indices.end(), corners.size(), collector.number(fill.data()));
    }
  }
  return out;
}

/// Normals of all parts at rest; corners without one get that of their triangle.
CornerAttribute<3> collect_normals(const Model& model, const Mesh& rest) {
  CornerAttribute<3> out;
  const auto has_normals = [&](const Part& part) { return !model.meshes[part.mesh].normals.empty(); };
  if (std::none_of(model.parts.begin(), model.parts.end(), has_normals)) return out;
  AttributeCollector<3> collector(out);
  std::size_t at = 0;
  for (const Part& part : model.parts) {
    const MeshData& mesh = model.meshes[part.mesh];
    const Eigen::Matrix3d turn =
        invertible(part.bind) ? Eigen::Matrix3d(part.bind.linear().inverse().transpose()) : Eigen::Matrix3d::Identity();
    const bool as_is = turn.isIdentity(0);
    for (const Index corner : turned_corners(mesh, part)) {
      Vector3 n = has_normals(part) ? Vector3(Eigen::Map<const Vector3>(mesh.normals.data() + std::size_t{corner} * 3))
                                    : Vector3::Zero();
      if (!as_is) n = (turn * n.cast<double>()).cast<float>();
      const std::size_t t = at++ / 3 * 3;
      const auto point = [&](std::size_t i) { return rest.positions.col(rest.corners[t + i]); };
      if (n.norm() < 1e-12F) n = (point(1) - point(0)).cross(point(2) - point(0));
      const float length = n.norm();
      if (length < 1e-30F)
        n = Vector3::UnitZ();
      else if (std::abs(length - 1) > 1e-6F)
        n /= length;
      collector.add(n.data());
    }
  }
  return out;
}

/// Exact times of an own animation: what the writer noted, where it rounds to the keys.
std::vector<double> exact_times(const Json& animation, const std::vector<double>& keys) {
  const Json noted = animation.value("/extras/sinew/times"_json_pointer, Json());
  std::vector<double> times;
  if (noted.is_object() && noted.value("start", Json()).is_number() && noted.value("step", Json()).is_number())
    for (std::size_t f = 0; f < keys.size(); ++f)
      times.push_back(noted["start"].get<double>() + static_cast<double>(f) * noted["step"].get<double>());
  if (noted.is_array())
    for (const Json& t : noted)
      if (t.is_number()) times.push_back(t.get<double>());
  if (times.size() != keys.size()) return keys;
  const double shift = std::min(0.0, times[0]);
  for (std::size_t f = 0; f < keys.size(); ++f)
    if (static_cast<double>(static_cast<float>(times[f] - shift)) != keys[f] || (f > 0 && times[f] <= times[f - 1]))
      return keys;
  return times;
}

/// Whether the file gives a part's node or mesh a name.
bool named(const Document& document, const Part& part) {
  const Json& node = document.at("nodes", part.node);
  if (!document.text(node, "name").empty()) return true;
  const std::optional<std::size_t> mesh = document.index(node, "mesh", "meshes", "a node");
  return mesh && !document.text(document.at("meshes", *mesh), "name").empty();
}

std::vector<double> halfway_between(const std::vector<double>& times) {
  std::vector<double> out;
  for (std::size_t i = 0; i + 1 < times.size(); ++i) out.push_back(0.5 * (times[i] + times[i + 1]));
  return out;
}

std::string exact_name(const Json& animation, const std::string& name) {
  const Json noted = animation.value("/extras/sinew/name"_json_pointer, Json());
  return noted.is_string() ? noted.get<std::string>() : name;
}

/// Whether the file says that it is as write_glb wrote it. Tools that round and reorder vertices leave the note in.
bool is_own(const Document& document, const Json* facts) {
  if (facts == nullptr || !facts->is_object() || facts->value("format", Json()) != 1) return false;
  for (const Json& extension : document.array(document.root(), "extensionsUsed", "the file"))
    if (extension == "KHR_mesh_quantization") return false;
  return true;
}

}  // namespace

Json fact(const Model& model, const char* key) {
  return model.facts == nullptr ? Json() : model.facts->value(key, Json());
}

Model read_model(const Document& document, const ReadOptions& options) {
  Model model;
  const Json* extras = document.find(*document.find(document.root(), "asset"), "extras");
  const Json* facts = extras == nullptr ? nullptr : document.find(*extras, "sinew");
  model.own = is_own(document, facts);
  if (model.own) model.facts = facts;
  model.scene = read_scene(document, options, !model.own);
  const ScenePose placed = pose_at(model.scene, nullptr, 0);
  std::map<std::pair<std::size_t, std::optional<std::size_t>>, std::size_t> known;  // mesh and skin → Model::meshes
  for (const std::size_t i : model.scene.visible) {
    const Node& node = model.scene.nodes[i];
    if (!node.mesh) continue;
    const std::string mesh_name = document.text(document.at("meshes", *node.mesh), "name");
    const std::string name = !node.name.empty()  ? node.name
                             : mesh_name.empty() ? fmt::format("mesh_{}", *node.mesh)
                                                 : mesh_name;
    if (!options.mesh.empty() && !glob_match(options.mesh, name) && !glob_match(options.mesh, mesh_name)) continue;
    Part part{name, i, 0, node.skin.has_value(), {}, Eigen::Affine3d::Identity()};
    part.joints = node.skin ? read_skin(document, *node.skin) : std::vector<Joint>{{i, Eigen::Affine3d::Identity()}};
    if (!model.own) part.bind = bind_of(part, placed, node.skin ? told_bind(document, *node.skin) : std::nullopt);
    const auto [entry, is_new] = known.try_emplace({*node.mesh, node.skin}, model.meshes.size());
    if (is_new) {
      model.meshes.push_back(read_mesh(document, *node.mesh, model.own ? Welding::as_told : Welding::by_value));
      if (node.skin) check_weights(document, options, part.joints.size(), model.meshes.back());
    }
    part.mesh = entry->second;
    if (model.meshes[part.mesh].positions.cols() == 0) continue;
    model.parts.push_back(std::move(part));
  }
  if (model.parts.empty())
    document.refuse(options.mesh.empty() ? std::string("its scene shows no mesh with vertices")
                                         : fmt::format("no mesh with vertices is called '{}'", options.mesh));
  return model;
}

Mesh rest_mesh(const Document& document, const Model& model, const ReadOptions& options) {
  Mesh out;
  Eigen::Index vertices = 0;
  for (const Part& part : model.parts) vertices += model.meshes[part.mesh].positions.cols();
  if (static_cast<std::size_t>(vertices) > MeshData::kUnused / 2)
    document.refuse(fmt::format("its meshes have {} vertices", vertices));
  out.positions.resize(3, vertices);
  Eigen::Index first = 0;
  for (const Part& part : model.parts) {
    const MeshData& mesh = model.meshes[part.mesh];
    const Eigen::Index count = mesh.positions.cols();
    if (part.bind.matrix().isIdentity(0))
      out.positions.middleCols(first, count) = mesh.positions;
    else
      out.positions.middleCols(first, count) = (part.bind * mesh.positions.cast<double>()).cast<float>();
    const std::size_t faces = mesh.corners.size() / 3;
    out.pieces.push_back({part.name, static_cast<Index>(first), static_cast<Index>(count),
                          static_cast<Index>(out.face_sizes.size()), static_cast<Index>(faces)});
    out.face_sizes.insert(out.face_sizes.end(), faces, 3);
    out.face_materials.insert(out.face_materials.end(), mesh.materials.begin(), mesh.materials.end());
    for (const Index corner : turned_corners(mesh, part))
      out.corners.push_back(mesh.control_point[corner] + static_cast<Index>(first));
    first += count;
  }
  if (!out.positions.allFinite()) document.refuse("its meshes at rest are not finite");
  if (std::all_of(out.face_materials.begin(), out.face_materials.end(), [](int m) { return m < 0; }))
    out.face_materials.clear();
  out.uv_sets = collect_sets<2>(model, &MeshData::uvs, "TEXCOORD", {0, 0});
  out.color_sets = collect_sets<4>(model, &MeshData::colors, "COLOR", {1, 1, 1, 1});
  const bool computed = fact(model, "normals") == "computed";  // by the writer
  if (!computed) out.normals = collect_normals(model, out);
  out.flat = !computed && out.normals.empty();
  out.appearance = read_appearance(document, options);
  if (model.own)
    restore_mesh_names(*model.facts, out);
  else if (out.pieces.size() == 1 && !named(document, model.parts.front()))
    out.pieces.clear();
  return out;
}

SkinnedScene skinned_scene(const Document& document, const Model& model) {
  SkinnedScene out;
  out.file = document.name();
  for (const Node& node : model.scene.nodes) out.nodes.push_back({node.name, node.parent});
  out.order = model.scene.order;
  out.parts = model.parts;
  for (const MeshData& mesh : model.meshes) out.meshes.push_back(&mesh);
  out.facts = model.facts;
  return out;
}

PoseAt poses(const Model& model, const Timeline& timeline) {
  return [&](std::size_t f) { return pose_at(model.scene, timeline.frames[f].animation, timeline.frames[f].time); };
}

Timeline timeline(const Document& document, const Model& model, const ReadOptions& options) {
  Timeline out;
  for (const Animation& animation : model.scene.animations) {
    const Json& object = document.at("animations", animation.index);
    const bool exact = model.own && options.frames_per_second == 0;
    std::vector<double> seconds = exact ? exact_times(object, animation.frames) : animation.frames;
    std::vector<double> frames = animation.frames;
    if (options.halfway) frames = seconds = halfway_between(frames);
    if (frames.empty()) continue;
    out.clips.push_back(
        {model.own ? exact_name(object, animation.name) : animation.name, out.frames.size(), frames.size()});
    for (const double t : frames) out.frames.push_back({&animation, t});
    out.seconds.insert(out.seconds.end(), seconds.begin(), seconds.end());
  }
  if (out.clips.size() == 1 && fact(model, "clips") == false) out.clips.clear();
  if (out.frames.empty()) {
    out.frames.push_back({nullptr, 0});
    out.seconds.push_back(0);
  }
  return out;
}

}  // namespace sinew::gltf
