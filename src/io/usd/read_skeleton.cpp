#include <fmt/format.h>

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "io/usd/model.h"
#include "io/usd/value.h"

/// UsdSkel: skeletons, their animations, and what binds meshes to them.
namespace sinew::usd {
namespace {

std::vector<std::string> texts_of(const Stage& stage, const Prim& prim, const char* name) {
  const std::optional<Value> value = stage.value(prim, name);
  return value ? read_texts(stage.layer(), *value) : std::vector<std::string>();
}

/// One matrix per joint; theirs act on rows, so their rows are the columns of ours.
std::vector<Eigen::Affine3d> matrices_of(const Stage& stage, const Prim& prim, const char* name, std::size_t count) {
  const std::optional<Value> value = stage.value(prim, name);
  std::vector<Eigen::Affine3d> out;
  if (!value) return out;
  const std::vector<double> numbers = read_doubles(stage.layer(), *value, 4);
  if (numbers.size() != 16 * count)
    stage.layer().refuse(
        fmt::format("<{}>: {} has {} numbers, {} expected", prim.path, name, numbers.size(), 16 * count));
  for (std::size_t j = 0; j < count; ++j) {
    Eigen::Affine3d matrix;
    matrix.matrix() = Eigen::Map<const Eigen::Matrix4d>(numbers.data() + 16 * j);
    matrix.makeAffine();
    out.push_back(matrix);
  }
  return out;
}

/// Parents by path; a joint whose parent is not listed hangs from the nearest one above that is.
void find_parents(const Stage& stage, const Prim& prim, Skeleton& skeleton) {
  std::unordered_map<std::string, int> number;
  for (std::size_t j = 0; j < skeleton.joints.size(); ++j)
    if (!number.emplace(skeleton.joints[j], static_cast<int>(j)).second)
      stage.layer().refuse(fmt::format("<{}>: joint '{}' is listed twice", prim.path, skeleton.joints[j]));
  for (const std::string& joint : skeleton.joints) {
    int parent = -1;
    for (std::size_t end = joint.rfind('/'); end != std::string::npos && end > 0 && parent < 0;
         end = joint.rfind('/', end - 1)) {
      const auto found = number.find(joint.substr(0, end));
      if (found != number.end()) parent = found->second;
    }
    skeleton.parents.push_back(parent);
  }
  for (std::size_t j = 0; j < skeleton.joints.size(); ++j) skeleton.order.push_back(j);
  std::stable_sort(skeleton.order.begin(), skeleton.order.end(), [&](std::size_t a, std::size_t b) {
    return std::count(skeleton.joints[a].begin(), skeleton.joints[a].end(), '/') <
           std::count(skeleton.joints[b].begin(), skeleton.joints[b].end(), '/');
  });
}

Skeleton read_skeleton(const Stage& stage, std::size_t number) {
  const Prim& prim = stage.prims()[number];
  Skeleton out;
  out.prim = number;
  out.joints = texts_of(stage, prim, "joints");
  find_parents(stage, prim, out);
  out.bind = matrices_of(stage, prim, "bindTransforms", out.joints.size());
  out.rest = matrices_of(stage, prim, "restTransforms", out.joints.size());
  if (out.bind.empty() && !out.joints.empty())
    stage.layer().refuse(fmt::format("<{}> has no bindTransforms", prim.path));
  for (std::size_t j = 0; j < out.joints.size(); ++j) {
    const double size = out.bind[j].linear().norm();
    if (!(std::abs(out.bind[j].linear().determinant()) > 1e-12 * size * size * size))
      stage.layer().refuse(
          fmt::format("<{}>: the bind transform of joint '{}' has no inverse", prim.path, out.joints[j]));
  }
  if (out.rest.empty())
    for (std::size_t j = 0; j < out.joints.size(); ++j)
      out.rest.push_back(out.parents[j] < 0
                             ? out.bind[j]
                             : out.bind[static_cast<std::size_t>(out.parents[j])].inverse() * out.bind[j]);
  return out;
}

Animation read_animation(const Stage& stage, const Prim& prim) {
  Animation out;
  out.name = prim.name;
  out.translations = stage.attribute(prim, "translations");
  out.rotations = stage.attribute(prim, "rotations");
  out.scales = stage.attribute(prim, "scales");
  out.shape_weights = stage.attribute(prim, "blendShapeWeights");
  out.joints = texts_of(stage, prim, "joints");
  out.shapes = texts_of(stage, prim, "blendShapes");
  return out;
}

/// The prim that a relationship of this prim, or of the nearest above that has it, leads to.
std::optional<std::size_t> inherited_target(const Stage& stage, std::size_t prim, const char* name) {
  for (int at = static_cast<int>(prim); at >= 0; at = stage.prims()[static_cast<std::size_t>(at)].parent) {
    const auto found = stage.targets(stage.prims()[static_cast<std::size_t>(at)], name);
    if (!found.empty()) return stage.find(found.front());
  }
  return std::nullopt;
}

int element_size(const Stage& stage, const Prim& prim, const char* name) {
  const std::optional<Value> value = stage.metadata(prim, name, "elementSize");
  const double size = value ? read_number(stage.layer(), *value) : 1;
  if (!(size >= 1 && size <= 65536))
    stage.layer().refuse(fmt::format("<{}>: {} has {} values each, 1 to 65536 expected", prim.path, name, size));
  return static_cast<int>(size);
}

/// Numbers of the skeleton's joints that the mesh counts its own by.
std::vector<Index> joint_numbers(const Stage& stage, const Prim& prim, const Skeleton& skeleton) {
  const std::vector<std::string> own = texts_of(stage, prim, "skel:joints");
  std::vector<Index> out;
  if (own.empty()) {
    for (std::size_t j = 0; j < skeleton.joints.size(); ++j) out.push_back(static_cast<Index>(j));
    return out;
  }
  std::unordered_map<std::string, Index> number;
  for (std::size_t j = 0; j < skeleton.joints.size(); ++j) number.emplace(skeleton.joints[j], static_cast<Index>(j));
  for (const std::string& joint : own) {
    const auto found = number.find(joint);
    if (found == number.end())
      stage.layer().refuse(fmt::format("<{}>: joint '{}' is not one of its skeleton", prim.path, joint));
    out.push_back(found->second);
  }
  return out;
}

/// Weights of every vertex, those of one joint added up, scaled to sum 1.
void read_weights(const Stage& stage, const Prim& prim, const Skeleton& skeleton, const ReadOptions& options,
                  MeshPart& part) {
  const Layer& layer = stage.layer();
  const std::vector<std::int64_t> indices = read_integers(layer, *stage.value(prim, "primvars:skel:jointIndices"));
  const std::vector<double> weights = read_doubles(layer, *stage.value(prim, "primvars:skel:jointWeights"), 1);
  const auto slots = static_cast<std::size_t>(element_size(stage, prim, "primvars:skel:jointIndices"));
  const std::optional<Value> told = stage.metadata(prim, "primvars:skel:jointIndices", "interpolation");
  const bool rigid = told && read_text(layer, *told) == "constant";
  const std::size_t expected = slots * (rigid ? 1 : part.vertex_count());
  if (indices.size() != expected || weights.size() != expected)
    layer.refuse(fmt::format("<{}>: {} joint indices and {} joint weights, {} expected", prim.path, indices.size(),
                             weights.size(), expected));
  const std::vector<Index> joints = joint_numbers(stage, prim, skeleton);
  std::size_t mended = 0;
  part.control.first_influence.push_back(0);
  for (std::size_t v = 0; v < part.vertex_count(); ++v) {
    const std::size_t first = part.control.joints.size();
    double sum = 0;
    for (std::size_t k = 0; k < slots; ++k) {
      const std::size_t at = (rigid ? 0 : v * slots) + k;
      if (weights[at] == 0) continue;
      if (weights[at] < 0 || indices[at] < 0 || static_cast<std::size_t>(indices[at]) >= joints.size())
        layer.refuse(fmt::format("<{}>: vertex {} has weight {} of joint {}, there are {} joints", prim.path, v,
                                 weights[at], indices[at], joints.size()));
      const Index joint = joints[static_cast<std::size_t>(indices[at])];
      sum += weights[at];
      const auto begin = part.control.joints.begin() + static_cast<std::ptrdiff_t>(first);
      const auto known = std::find(begin, part.control.joints.end(), joint);
      if (known != part.control.joints.end()) {
        part.control.weights[static_cast<std::size_t>(known - part.control.joints.begin())] += weights[at];
        continue;
      }
      part.control.joints.push_back(joint);
      part.control.weights.push_back(weights[at]);
    }
    if (!(sum > 0)) layer.refuse(fmt::format("<{}>: the weights of vertex {} sum to {}", prim.path, v, sum));
    if (std::abs(sum - 1) > 1e-5) ++mended;
    if (std::abs(sum - 1) > 1e-7)
      for (std::size_t i = first; i < part.control.weights.size(); ++i) part.control.weights[i] /= sum;
    part.control.first_influence.push_back(part.control.joints.size());
  }
  if (mended > 0 && options.warn)
    options.warn(fmt::format("{}: <{}>: the weights of {} vertices do not sum to 1; scaled to 1", layer.name, prim.path,
                             mended));
}

/// Offsets given for some vertices or for all.
Points spread(const Stage& stage, const Prim& shape, const std::string& name, Value value,
              const std::vector<std::int64_t>& indices, std::size_t vertices) {
  const std::vector<float> numbers = read_floats(stage.layer(), value, 3);
  const std::size_t count = numbers.size() / 3;
  if (count != (indices.empty() ? vertices : indices.size()))
    stage.layer().refuse(fmt::format("<{}>: {} has {} offsets, {} expected", shape.path, name, count,
                                     indices.empty() ? vertices : indices.size()));
  Points out = Points::Zero(3, static_cast<Eigen::Index>(vertices));
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t v = indices.empty() ? static_cast<std::int64_t>(i) : indices[i];
    if (v < 0 || static_cast<std::size_t>(v) >= vertices)
      stage.layer().refuse(fmt::format("<{}>: point {}, the mesh has {}", shape.path, v, vertices));
    out.col(static_cast<Eigen::Index>(v)) += Eigen::Map<const Vector3>(numbers.data() + 3 * i);
  }
  return out;
}

/// Adds the shapes of a blend shape to the part's targets.
Channel read_channel(const Stage& stage, const Prim& shape, const std::string& name, MeshPart& part) {
  Channel out;
  out.name = name;
  const std::size_t vertices = part.vertex_count();
  std::vector<std::int64_t> indices;
  if (const auto value = stage.value(shape, "pointIndices")) indices = read_integers(stage.layer(), *value);
  const auto offsets = stage.value(shape, "offsets");
  if (!offsets) return out;
  const auto add = [&](double weight, Points values) {
    out.steps.push_back({weight, part.control.targets.size()});
    part.control.targets.push_back(std::move(values));
  };
  add(1, spread(stage, shape, "offsets", *offsets, indices, vertices));
  const auto normals = stage.value(shape, "normalOffsets");
  if (normals && !read_floats(stage.layer(), *normals, 3).empty()) {
    part.control.target_normals.resize(part.control.targets.size(), Points::Zero(3, part.control.positions.cols()));
    part.control.target_normals.back() = spread(stage, shape, "normalOffsets", *normals, indices, vertices);
  }
  for (const std::string& property : stage.property_names(shape)) {
    if (!property.starts_with("inbetweens:") || property.find(':', 11) != std::string::npos) continue;
    const auto value = stage.value(shape, property);
    const auto weight = stage.metadata(shape, property, "weight");
    if (value && weight)
      add(read_number(stage.layer(), *weight), spread(stage, shape, property, *value, indices, vertices));
  }
  std::stable_sort(out.steps.begin(), out.steps.end(),
                   [](const Channel::Step& a, const Channel::Step& b) { return a.weight < b.weight; });
  for (std::size_t i = 0; i < out.steps.size(); ++i)
    if (out.steps[i].weight == 0 || (i > 0 && out.steps[i].weight == out.steps[i - 1].weight))
      stage.layer().refuse(fmt::format("<{}> has two shapes of weight {}", shape.path, out.steps[i].weight));
  return out;
}

void read_channels(const Stage& stage, const Prim& prim, const ReadOptions& options, MeshPart& part) {
  const std::vector<std::string> names = texts_of(stage, prim, "skel:blendShapes");
  const std::vector<std::string> targets = stage.targets(prim, "skel:blendShapeTargets");
  if (names.size() != targets.size())
    stage.layer().refuse(
        fmt::format("<{}>: {} blend shapes, {} targets of them", prim.path, names.size(), targets.size()));
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::optional<std::size_t> shape = stage.find(targets[i]);
    if (!shape) stage.layer().refuse(fmt::format("<{}>: blend shape <{}> is not there", prim.path, targets[i]));
    if ((part.control.targets.size() + 1) * part.vertex_count() > options.max_bytes / 24)
      stage.layer().refuse(fmt::format("<{}>: {} blend shapes of {} vertices are too many", prim.path, names.size(),
                                       part.vertex_count()));
    Channel channel = read_channel(stage, stage.prims()[*shape], names[i], part);
    if (!channel.steps.empty()) part.channels.push_back(std::move(channel));
  }
  if (!part.control.target_normals.empty())
    part.control.target_normals.resize(part.control.targets.size(), Points::Zero(3, part.control.positions.cols()));
}

}  // namespace

void read_skeletons(const Stage& stage, Model& model) {
  std::unordered_map<std::size_t, std::size_t> animation_at;
  for (std::size_t i = 0; i < stage.prims().size(); ++i) {
    if (stage.prims()[i].type == "Skeleton") model.skeletons.push_back(read_skeleton(stage, i));
    if (stage.prims()[i].type != "SkelAnimation") continue;
    animation_at.emplace(i, model.animations.size());
    model.animations.push_back(read_animation(stage, stage.prims()[i]));
  }
  for (Skeleton& skeleton : model.skeletons)
    if (const auto source = inherited_target(stage, skeleton.prim, "skel:animationSource"))
      if (const auto found = animation_at.find(*source); found != animation_at.end()) skeleton.bound = found->second;
}

void read_binding(const Stage& stage, Model& model, const ReadOptions& options, MeshPart& part) {
  const Prim& prim = stage.prims()[part.prim];
  const std::optional<std::size_t> skeleton = inherited_target(stage, part.prim, "skel:skeleton");
  if (!skeleton) return;
  const auto found = std::find_if(model.skeletons.begin(), model.skeletons.end(),
                                  [&](const Skeleton& candidate) { return candidate.prim == *skeleton; });
  if (found == model.skeletons.end()) return;
  read_channels(stage, prim, options, part);
  if (!stage.value(prim, "primvars:skel:jointIndices") || !stage.value(prim, "primvars:skel:jointWeights")) {
    if (!part.channels.empty()) part.skeleton = static_cast<std::size_t>(found - model.skeletons.begin());
    return;
  }
  part.skeleton = static_cast<std::size_t>(found - model.skeletons.begin());
  if (options.warn && stage.text(prim, "primvars:skel:skinningMethod", "classicLinear") == "dualQuaternion")
    options.warn(fmt::format("{}: <{}> is skinned with dual quaternions; it is read as linear blend skinning",
                             stage.layer().name, prim.path));
  read_weights(stage, prim, *found, options, part);
  const std::vector<Eigen::Affine3d> bind = matrices_of(stage, prim, "primvars:skel:geomBindTransform", 1);
  if (!bind.empty()) part.geom_bind = bind[0];
}

std::vector<Eigen::Affine3d> pose_skeleton(const Stage& stage, const Skeleton& skeleton, const Animation* animation,
                                           double code) {
  std::vector<Eigen::Affine3d> local = skeleton.rest;
  const std::size_t count = animation == nullptr ? 0 : animation->joints.size();
  if (count > 0) {
    const Layer& layer = stage.layer();
    const std::vector<double> t = numbers_at(layer, animation->translations, code, 3);
    const std::vector<double> r = quaternions_at(layer, animation->rotations, code);
    const std::vector<double> s = numbers_at(layer, animation->scales, code, 3);
    if (t.size() != 3 * count || r.size() != 4 * count || (!s.empty() && s.size() != 3 * count))
      layer.refuse(
          fmt::format("animation '{}': {} joints, but {} translations, {} rotations and {} scales at time "
                      "code {}",
                      animation->name, count, t.size() / 3, r.size() / 4, s.size() / 3, code));
    std::unordered_map<std::string_view, std::size_t> number;
    for (std::size_t j = 0; j < skeleton.joints.size(); ++j) number.emplace(skeleton.joints[j], j);
    for (std::size_t i = 0; i < count; ++i) {
      const auto found = number.find(animation->joints[i]);
      if (found == number.end()) continue;
      Eigen::Affine3d& out = local[found->second];
      out = Eigen::Translation3d(t[3 * i], t[3 * i + 1], t[3 * i + 2]);
      out.rotate(Eigen::Quaterniond(r[4 * i], r[4 * i + 1], r[4 * i + 2], r[4 * i + 3]).normalized());
      if (!s.empty()) out.scale(Eigen::Vector3d(s[3 * i], s[3 * i + 1], s[3 * i + 2]));
    }
  }
  for (const std::size_t j : skeleton.order)
    if (skeleton.parents[j] >= 0) local[j] = local[static_cast<std::size_t>(skeleton.parents[j])] * local[j];
  return local;
}

std::vector<double> channel_weights(const Stage& stage, const MeshPart& part, const Animation* animation, double code) {
  std::vector<double> out(part.channels.size(), 0.0);
  if (animation == nullptr || part.channels.empty()) return out;
  const std::vector<double> weights = numbers_at(stage.layer(), animation->shape_weights, code, 1);
  std::unordered_map<std::string_view, double> by_name;
  for (std::size_t i = 0; i < std::min(weights.size(), animation->shapes.size()); ++i)
    by_name.emplace(animation->shapes[i], weights[i]);
  for (std::size_t c = 0; c < part.channels.size(); ++c) {
    const auto found = by_name.find(part.channels[c].name);
    if (found != by_name.end()) out[c] = found->second;
  }
  return out;
}

std::vector<double> step_amounts(const Channel& channel, double weight) {
  std::vector<double> out(channel.steps.size(), 0.0);
  // Neighbours among the steps and the undeformed mesh at 0, which is the one that has no number here.
  std::vector<std::pair<double, int>> places{{0.0, -1}};
  for (std::size_t i = 0; i < channel.steps.size(); ++i)
    places.emplace_back(channel.steps[i].weight, static_cast<int>(i));
  std::sort(places.begin(), places.end());
  std::size_t high = 1;
  while (high + 1 < places.size() && places[high].first < weight) ++high;
  const auto& [low_weight, low_step] = places[high - 1];
  const auto& [high_weight, high_step] = places[high];
  const double blend = (weight - low_weight) / (high_weight - low_weight);
  if (low_step >= 0) out[static_cast<std::size_t>(low_step)] = 1 - blend;
  if (high_step >= 0) out[static_cast<std::size_t>(high_step)] = blend;
  return out;
}

}  // namespace sinew::usd
