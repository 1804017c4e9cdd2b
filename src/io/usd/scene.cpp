#include "io/usd/scene.h"

#include <fmt/format.h>

#include <Eigen/LU>
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "io/json_text.h"
#include "io/scene/posed_normals.h"
#include "io/usd/value.h"
#include "sinew/core/error.h"

namespace sinew::usd {
namespace {

using Json = nlohmann::json;

constexpr double kSameCode = 1e-6;
constexpr double kMostFrames = 4194304;

Json read_facts(const Layer& layer) {
  const auto data = layer.metadata.find("customLayerData");
  if (data == layer.metadata.end()) return nullptr;
  const std::optional<Value> entry = dictionary_entry(layer, data->second, "sinew");
  if (!entry) return nullptr;
  Json facts = parse_json(read_text(layer, *entry));
  return facts.is_object() && facts.value("format", Json()) == 1 ? facts : Json(nullptr);
}

void add_codes(const Attribute& attribute, std::vector<double>& out) {
  if (attribute.values == nullptr) return;
  for (const auto& sample : attribute.values->samples) out.push_back(sample.first);
}

void add_codes(const Animation& animation, std::vector<double>& out) {
  for (const Attribute* attribute :
       {&animation.translations, &animation.rotations, &animation.scales, &animation.shape_weights})
    add_codes(*attribute, out);
}

/// Sorted, those of one moment once.
void tidy(std::vector<double>& codes) {
  std::sort(codes.begin(), codes.end());
  codes.erase(std::unique(codes.begin(), codes.end(),
                          [](double a, double b) { return b - a <= kSameCode * std::max(1.0, std::abs(a)); }),
              codes.end());
}

/// What moves beside the animations of skeletons.
void add_other_codes(const UsdScene& scene, std::vector<double>& out) {
  for (const MeshPart& part : scene.model.parts) {
    if (part.moves()) add_codes(part.points, out);
    scene.placement.add_codes(part.skinned() ? scene.model.skeletons[*part.skeleton].prim : part.prim, out);
  }
}

/// What plays, one after another: animations of the only skeleton, or nothing in particular.
std::vector<std::optional<std::size_t>> plays_of(const Model& model) {
  std::vector<std::optional<std::size_t>> out;
  if (model.skeletons.size() == 1)
    for (std::size_t a = 0; a < model.animations.size(); ++a) out.emplace_back(a);
  if (out.empty()) out.emplace_back();
  return out;
}

std::vector<double> codes_of(const UsdScene& scene, std::optional<std::size_t> play, bool only) {
  std::vector<double> out;
  if (play) add_codes(scene.model.animations[*play], out);
  for (const Skeleton& skeleton : scene.model.skeletons)
    if (!play && skeleton.bound) add_codes(scene.model.animations[*skeleton.bound], out);
  if (only) add_other_codes(scene, out);
  tidy(out);
  if (!out.empty()) return out;
  const auto start = scene.stage.layer().metadata.find("startTimeCode");
  out.push_back(start == scene.stage.layer().metadata.end() ? 0.0 : read_number(scene.stage.layer(), start->second));
  return out;
}

/// The codes at a constant rate, from the first to the last.
std::vector<double> resampled(const Layer& layer, const std::vector<double>& codes, double step) {
  const double count = std::floor((codes.back() - codes.front()) / step + 1e-9) + 1;
  if (!(count <= kMostFrames))
    layer.refuse(fmt::format("{:.0f} frames at that rate, at most {:.0f} are read", count, kMostFrames));
  std::vector<double> out;
  for (double i = 0; i < count; ++i) out.push_back(codes.front() + i * step);
  return out;
}

/// Whether the options ask for this clip: by name, or by number where none has that name.
bool is_chosen(const ReadOptions& options, const std::vector<std::string>& names, std::size_t clip) {
  if (options.clip.empty()) return true;
  if (std::find(names.begin(), names.end(), options.clip) != names.end()) return names[clip] == options.clip;
  return options.clip == std::to_string(clip);
}

// --- The rest mesh.

/// The corners of a part in the order they get: turned where the part is mirrored, so that outside stays outside.
std::vector<Index> corner_order(const MeshPart& part, const Eigen::Affine3d& bind) {
  std::vector<Index> out(part.corners.size());
  std::iota(out.begin(), out.end(), Index{0});
  if (bind.linear().determinant() >= 0) return out;
  std::size_t first = 0;
  for (const Index size : part.face_sizes) {
    std::reverse(out.begin() + static_cast<std::ptrdiff_t>(first + 1),
                 out.begin() + static_cast<std::ptrdiff_t>(first + size));
    first += size;
  }
  return out;
}

template <int N>
void append(const CornerAttribute<N>* from, const std::vector<Index>& order, const std::array<float, N>& fill,
            CornerAttribute<N>& to) {
  const auto first = static_cast<Index>(to.values.size() / N);
  if (from == nullptr) {
    to.values.insert(to.values.end(), fill.begin(), fill.end());
    to.indices.insert(to.indices.end(), order.size(), first);
    return;
  }
  to.values.insert(to.values.end(), from->values.begin(), from->values.end());
  for (const Index corner : order) to.indices.push_back(first + from->indices[corner]);
}

/// Sets of corner values over all parts, by their place in the list; parts without one get `fill`.
template <int N>
std::vector<CornerAttribute<N>> joined_sets(const std::vector<MeshPart>& parts,
                                            const std::vector<std::vector<Index>>& orders,
                                            std::vector<CornerAttribute<N>> MeshPart::*sets,
                                            const std::array<float, N>& fill) {
  std::size_t count = 0;
  for (const MeshPart& part : parts) count = std::max(count, (part.*sets).size());
  std::vector<CornerAttribute<N>> out(count);
  for (std::size_t set = 0; set < count; ++set)
    for (std::size_t p = 0; p < parts.size(); ++p) {
      const bool present = set < (parts[p].*sets).size();
      if (present && out[set].name.empty()) out[set].name = (parts[p].*sets)[set].name;
      append<N>(present ? &(parts[p].*sets)[set] : nullptr, orders[p], fill, out[set]);
    }
  return out;
}

/// Normals of a part at rest, unit length; flat ones where it has none.
CornerAttribute<3> placed_normals(const MeshPart& part, const Eigen::Affine3d& bind) {
  CornerAttribute<3> out = part.normals;
  if (out.empty()) {
    const ConstPointsMap points(part.control.positions.data(), 3, part.control.positions.cols());
    std::size_t first = 0;
    for (std::size_t face = 0; face < part.face_sizes.size(); first += part.face_sizes[face++]) {
      const Vector3 n =
          area_vector(points, std::span(part.corners).subspan(first, part.face_sizes[face])).cast<float>();
      out.values.insert(out.values.end(), {n.x(), n.y(), n.z()});
      out.indices.insert(out.indices.end(), part.face_sizes[face], static_cast<Index>(face));
    }
  }
  const bool as_is = bind.linear().isIdentity(0);
  const Eigen::Matrix3d turn = as_is ? bind.linear() : Eigen::Matrix3d(bind.linear().inverse().transpose());
  for (std::size_t i = 0; i < out.values.size(); i += 3) {
    Eigen::Map<Vector3> n(&out.values[i]);
    if (!as_is) n = (turn * n.cast<double>()).cast<float>();
    const double length = n.cast<double>().norm();
    if (!(length > 1e-30))
      n = Vector3::UnitZ();
    else if (std::abs(length - 1) > 1e-6)
      n = (n.cast<double>() / length).cast<float>();
  }
  return out;
}

/// Names of pieces: of the meshes, or their paths where names repeat.
std::vector<std::string> piece_names(const Stage& stage, const std::vector<MeshPart>& parts) {
  std::map<std::string, int> uses;
  for (const MeshPart& part : parts) ++uses[part.name];
  std::vector<std::string> out;
  for (const MeshPart& part : parts)
    out.push_back(uses[part.name] > 1 ? stage.prims()[part.prim].path.substr(1) : part.name);
  return out;
}

void restore_material_names(const Json& facts, Appearance& appearance) {
  const Json names = facts.value("materials", Json());
  if (!names.is_array() || names.size() != appearance.materials.size()) return;
  for (std::size_t m = 0; m < names.size(); ++m) {
    if (!names[m].is_string()) continue;
    Material& material = appearance.materials[m];
    Json json = parse_json(material.gltf);
    material.name = names[m].get<std::string>();
    json["name"] = material.name;
    material.gltf = json_text(json);
  }
}

}  // namespace

UsdScene::UsdScene(Layer layer, const ReadOptions& options)
    : stage(std::move(layer)), placement(stage), model(read_model(stage, options)), facts(read_facts(stage.layer())) {
  rest_code = codes_of(*this, plays_of(model).front(), plays_of(model).size() == 1).front();
  skinned.file = stage.layer().name;
  for (const Skeleton& skeleton : model.skeletons) {
    const std::size_t first = skinned.nodes.size();
    first_joint.push_back(first);
    for (std::size_t j = 0; j < skeleton.joints.size(); ++j)
      skinned.nodes.push_back({skeleton.joints[j].substr(skeleton.joints[j].rfind('/') + 1),
                               skeleton.parents[j] < 0 ? -1 : skeleton.parents[j] + static_cast<int>(first)});
    for (const std::size_t j : skeleton.order) skinned.order.push_back(first + j);
  }
  std::vector<bool> complete(model.skeletons.size(), false);  // a part that has all joints of the skeleton
  for (std::size_t p = 0; p < model.parts.size(); ++p) {
    MeshPart& part = model.parts[p];
    Part place{part.name, skinned.nodes.size(), p, part.skinned(), {}, Eigen::Affine3d::Identity()};
    skinned.nodes.push_back({part.name, -1});
    skinned.order.push_back(place.node);
    if (part.skinned()) {
      const Skeleton& skeleton = model.skeletons[*part.skeleton];
      place.bind = placement.world(skeleton.prim, rest_code) * part.geom_bind;
      std::vector<Index> number(skeleton.joints.size(), Index(-1));
      const auto add = [&](std::size_t j) {
        if (number[j] != Index(-1)) return;
        number[j] = static_cast<Index>(place.joints.size());
        place.joints.push_back({first_joint[*part.skeleton] + j, skeleton.bind[j].inverse() * part.geom_bind});
      };
      // The first part has all joints, so that those without weights are bones too; the others what they use.
      for (std::size_t j = 0; j < skeleton.joints.size() && !complete[*part.skeleton]; ++j) add(j);
      complete[*part.skeleton] = true;
      for (Index& joint : part.control.joints) {
        add(joint);
        joint = number[joint];
      }
    } else {
      place.bind = placement.world(part.prim, rest_code);
      place.joints.push_back({place.node, Eigen::Affine3d::Identity()});
    }
    if (!invertible(place.bind))
      stage.layer().refuse(fmt::format("<{}> is flat or not finite at rest", stage.prims()[part.prim].path));
    skinned.parts.push_back(std::move(place));
  }
  for (const MeshPart& part : model.parts) skinned.meshes.push_back(&part.control);
  if (facts.is_object()) skinned.facts = &facts;
}

ScenePose UsdScene::pose_at(const FrameCode& frame) const {
  ScenePose out;
  out.weights.resize(skinned.nodes.size());
  const auto plays = [&](const Skeleton& skeleton) -> const Animation* {
    const std::optional<std::size_t> number = frame.animation ? frame.animation : skeleton.bound;
    return number ? &model.animations[*number] : nullptr;
  };
  for (const Skeleton& skeleton : model.skeletons) {
    const Eigen::Affine3d world = placement.world(skeleton.prim, frame.code);
    for (const Eigen::Affine3d& joint : pose_skeleton(stage, skeleton, plays(skeleton), frame.code))
      out.global.push_back(world * joint);
  }
  for (const MeshPart& part : model.parts) {
    out.global.push_back(part.skinned() ? Eigen::Affine3d::Identity() : placement.world(part.prim, frame.code));
    std::vector<double>& amounts = out.weights[out.global.size() - 1];
    amounts.assign(part.control.targets.size(), 0.0);
    if (!part.skeleton) continue;
    const Animation* animation = plays(model.skeletons[*part.skeleton]);
    const std::vector<double> weights = channel_weights(stage, part, animation, frame.code);
    for (std::size_t c = 0; c < part.channels.size(); ++c) {
      const std::vector<double> steps = step_amounts(part.channels[c], weights[c]);
      for (std::size_t i = 0; i < steps.size(); ++i) amounts[part.channels[c].steps[i].target] = steps[i];
    }
  }
  return out;
}

Mesh UsdScene::rest_mesh(const Fetch& fetch, const ReadOptions& options) const {
  Mesh out;
  const std::vector<MeshPart>& parts = model.parts;
  std::size_t vertices = 0;
  for (const MeshPart& part : parts) vertices += part.vertex_count();
  if (vertices > std::numeric_limits<Index>::max() / 2)
    stage.layer().refuse(
        fmt::format("{} vertices, at most {} are read", vertices, std::numeric_limits<Index>::max() / 2));
  out.positions.resize(3, static_cast<Eigen::Index>(vertices));
  const std::vector<std::string> names = piece_names(stage, parts);
  std::vector<std::vector<Index>> orders;
  const bool bent = std::any_of(parts.begin(), parts.end(), [](const MeshPart& p) { return !p.normals.empty(); });
  const bool dressed =
      std::any_of(parts.begin(), parts.end(), [](const MeshPart& p) { return !p.face_materials.empty(); });
  Index first = 0;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const MeshPart& part = parts[p];
    const Eigen::Affine3d& bind = skinned.parts[p].bind;
    const auto count = static_cast<Index>(part.vertex_count());
    if (bind.matrix().isIdentity(0))
      out.positions.middleCols(first, count) = part.control.positions;
    else
      out.positions.middleCols(first, count) = (bind * part.control.positions.cast<double>()).cast<float>();
    orders.push_back(corner_order(part, bind));
    out.pieces.push_back({names[p], first, count, static_cast<Index>(out.face_sizes.size()),
                          static_cast<Index>(part.face_sizes.size())});
    out.face_sizes.insert(out.face_sizes.end(), part.face_sizes.begin(), part.face_sizes.end());
    for (const Index corner : orders.back()) out.corners.push_back(first + part.corners[corner]);
    if (dressed && part.face_materials.empty())
      out.face_materials.insert(out.face_materials.end(), part.face_sizes.size(), -1);
    out.face_materials.insert(out.face_materials.end(), part.face_materials.begin(), part.face_materials.end());
    if (bent) {
      const CornerAttribute<3> normals = placed_normals(part, bind);
      append<3>(&normals, orders.back(), {0, 0, 1}, out.normals);
    }
    first += count;
  }
  if (!out.positions.allFinite()) stage.layer().refuse("its meshes at rest are not finite");
  out.uv_sets = joined_sets<2>(parts, orders, &MeshPart::uv_sets, {0, 0});
  out.color_sets = joined_sets<4>(parts, orders, &MeshPart::color_sets, {1, 1, 1, 1});
  out.appearance = read_materials(stage, model, fetch, options);
  if (facts.is_object()) {
    restore_mesh_names(facts, out);
    restore_material_names(facts, out.appearance);
  } else if (out.pieces.size() < 2) {
    out.pieces.clear();
  }
  out.check(stage.layer().name);
  return out;
}

Timeline timeline_of(const UsdScene& scene, const ReadOptions& options) {
  Timeline out;
  const double per_second = scene.stage.codes_per_second();
  const std::vector<std::optional<std::size_t>> plays = plays_of(scene.model);
  std::vector<std::string> names;
  for (const auto& play : plays) names.push_back(play ? scene.model.animations[*play].name : "");
  const Json noted = scene.facts.is_object() ? scene.facts.value("clip_names", Json()) : Json();
  if (noted.is_array() && noted.size() == names.size())
    for (std::size_t i = 0; i < names.size(); ++i)
      if (noted[i].is_string()) names[i] = noted[i].get<std::string>();
  for (std::size_t i = 0; i < plays.size(); ++i) {
    if (!is_chosen(options, names, i)) continue;
    std::vector<double> codes = codes_of(scene, plays[i], plays.size() == 1);
    if (options.frames_per_second > 0)
      codes = resampled(scene.stage.layer(), codes, per_second / options.frames_per_second);
    if (plays[i]) out.clips.push_back({names[i], out.frames.size(), codes.size()});
    for (const double code : codes) {
      out.frames.push_back({code, plays[i]});
      out.seconds.push_back(code / per_second);
    }
  }
  if (out.frames.empty()) scene.stage.layer().refuse(fmt::format("no clip is called '{}'", options.clip));
  if (out.clips.size() == 1 && scene.facts.is_object() && scene.facts.value("clips", Json()) == false)
    out.clips.clear();
  return out;
}

}  // namespace sinew::usd
