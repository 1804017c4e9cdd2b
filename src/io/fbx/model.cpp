#include "io/fbx/model.h"

#include <fmt/format.h>

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <map>

#include "io/json_text.h"
#include "io/scene/corner_values.h"

namespace sinew::fbx {
namespace {

using Json = nlohmann::json;

/// What rig_facts() noted in a file of our own.
std::optional<Json> read_facts(const Tree& tree) {
  const Record* const header = tree.root.find("FBXHeaderExtension");
  const Record* const info = header == nullptr ? nullptr : header->find("SceneInfo");
  const Record* const properties = info == nullptr ? nullptr : info->find("Properties70");
  if (properties == nullptr) return std::nullopt;
  for (const Record& record : properties->children) {
    if (record.text(0) != "sinew") continue;
    Json facts = parse_json(record.text(4));
    if (facts.is_object() && facts.value("format", Json()) == 1) return facts;
  }
  return std::nullopt;
}

/// A 4×4 matrix of a record, as the format stores them; nothing where it is missing or cannot be used.
std::optional<Eigen::Affine3d> read_matrix(const Tree& tree, const Record* record, const std::string& where) {
  const std::vector<double> values = tree.doubles(record, where);
  if (values.size() != 16) return std::nullopt;
  Eigen::Affine3d out;
  out.matrix() = Eigen::Map<const Eigen::Matrix4d>(values.data());
  out.makeAffine();
  if (!out.matrix().allFinite()) tree.refuse(fmt::format("{}: a matrix is not finite", where));
  return out;
}

struct Influence {
  Index joint = 0;
  double weight = 0;
};

/// Reads what deforms one geometry.
class DeformerReader {
 public:
  DeformerReader(const Document& document, const std::vector<std::size_t>& node_of, std::size_t object,
                 const ReadOptions& options, Geometry& out)
      : document_(document), node_of_(node_of), object_(object), options_(options), out_(out) {}

  void run() {
    rows_.resize(out_.polygons.mesh.vertex_count());
    for (const std::size_t skin : document_.children_of(object_, "Deformer", "Skin")) read_skin(skin);
    if (out_.skinned) pack();
    for (const std::size_t shapes : document_.children_of(object_, "Deformer", "BlendShape"))
      for (const std::size_t channel : document_.children_of(shapes, "Deformer", "BlendShapeChannel"))
        read_channel(channel);
  }

 private:
  std::string where(std::size_t object) const {
    return fmt::format("{} {} '{}'", document_.objects[object].kind, document_.objects[object].id,
                       document_.objects[object].name);
  }

  void read_skin(std::size_t skin) {
    if (const Record* const type = document_.objects[skin].record->find("SkinningType"))
      if ((type->text(0) == "DualQuaternion" || type->text(0) == "Blend") && options_.warn)
        options_.warn(fmt::format("{}: {} blends dual quaternions; it is read as a linear one", document_.tree.file,
                                  where(skin)));
    for (const std::size_t cluster : document_.children_of(skin, "Deformer", "Cluster")) read_cluster(cluster);
  }

  void read_cluster(std::size_t cluster) {
    const std::vector<std::size_t> links = document_.children_of(cluster, "Model");
    if (links.empty()) return;  // a link that is gone moves nothing
    const Record& record = *document_.objects[cluster].record;
    const Tree& tree = document_.tree;
    const std::string name = where(cluster);
    const auto link = read_matrix(tree, record.find("TransformLink"), name);
    const auto mesh = read_matrix(tree, record.find("Transform"), name);
    if (!link || !invertible(*link)) tree.refuse(fmt::format("{}: no TransformLink that can be inverted", name));
    if (!out_.skinned && mesh) out_.placed = *link * *mesh;
    out_.skinned = true;
    const auto joint = static_cast<Index>(out_.links.size());
    out_.links.push_back(node_of_[links.front()]);
    out_.binds.push_back(mesh ? *mesh : link->inverse());
    const std::vector<std::int64_t> vertices = tree.integers(record.find("Indexes"), name);
    const std::vector<double> weights = tree.doubles(record.find("Weights"), name);
    if (vertices.size() != weights.size())
      tree.refuse(fmt::format("{}: {} weights for {} vertices", name, weights.size(), vertices.size()));
    for (std::size_t i = 0; i < vertices.size(); ++i) {
      if (vertices[i] < 0 || vertices[i] >= static_cast<std::int64_t>(rows_.size()))
        tree.refuse(fmt::format("{}: refers to vertex {}, there are {}", name, vertices[i], rows_.size()));
      if (!(weights[i] >= 0) || !std::isfinite(weights[i]))
        tree.refuse(fmt::format("{}: vertex {} has weight {}", name, vertices[i], weights[i]));
      if (weights[i] > 0) rows_[static_cast<std::size_t>(vertices[i])].push_back({joint, weights[i]});
    }
  }

  /// Rows scaled to sum 1. Vertices that no cluster moves follow the model.
  void pack() {
    ControlPoints& points = out_.points;
    const auto self = static_cast<Index>(out_.links.size());
    std::size_t scaled = 0;
    for (std::vector<Influence>& row : rows_) {
      double sum = 0;
      for (const Influence& influence : row) sum += influence.weight;
      if (!std::isfinite(sum)) document_.tree.refuse("weights of a vertex sum to more than a number can hold");
      out_.loose = out_.loose || row.empty();
      if (row.empty()) row.push_back({self, sum = 1});
      if (std::abs(sum - 1) > 1e-3) ++scaled;
      points.first_influence.push_back(points.joints.size());
      for (const Influence& influence : row) {
        points.joints.push_back(influence.joint);
        points.weights.push_back(std::abs(sum - 1) <= 1e-7 ? influence.weight : influence.weight / sum);
      }
      points.influence_slots = std::max(points.influence_slots, row.size());
    }
    points.first_influence.push_back(points.joints.size());
    if (scaled > 0 && options_.warn)
      options_.warn(fmt::format("{}: mesh '{}': the weights of {} vertices do not sum to 1; scaled to 1",
                                document_.tree.file, out_.polygons.name, scaled));
  }

  void read_channel(std::size_t channel) {
    const Record& record = *document_.objects[channel].record;
    const std::vector<std::size_t> shapes = document_.children_of(channel, "Geometry", "Shape");
    std::vector<double> full = document_.tree.doubles(record.find("FullWeights"), where(channel));
    if (full.size() != shapes.size()) full.assign(shapes.size(), 100);
    for (std::size_t i = 0; i < full.size(); ++i)
      if (!std::isfinite(full[i]) || full[i] == 0 || (i > 0 && full[i] <= full[i - 1]))
        full[i] = i == 0 ? 100 : full[i - 1] + 1;
    double percent = document_.number(channel, "DeformPercent", 0);
    if (const Record* const found = record.find("DeformPercent")) percent = found->number(0, percent);
    if (!std::isfinite(percent)) percent = 0;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      out_.points.targets.push_back(Points::Zero(3, out_.points.positions.cols()));
      if (!read_shape(shapes[i], out_.points.targets.back())) {
        out_.points.targets.pop_back();
        continue;
      }
      out_.targets.push_back({document_.objects[channel].name, channel, i, full, percent});
    }
  }

  bool read_shape(std::size_t shape, Points& offsets) {
    const Record& record = *document_.objects[shape].record;
    const std::string name = where(shape);
    const std::vector<std::int64_t> vertices = document_.tree.integers(record.find("Indexes"), name);
    const std::vector<double> values = document_.tree.doubles(record.find("Vertices"), name);
    if (values.size() != vertices.size() * 3)
      document_.tree.refuse(fmt::format("{}: {} coordinates for {} vertices", name, values.size(), vertices.size()));
    // The memory of a shape is that of the mesh, however few vertices it names.
    used_ += static_cast<double>(offsets.size()) * 4;
    if (used_ > static_cast<double>(options_.max_bytes))
      document_.tree.refuse(fmt::format("{}: the shapes of {} vertices are too many", name, offsets.cols()));
    for (std::size_t i = 0; i < vertices.size(); ++i) {
      if (vertices[i] < 0 || vertices[i] >= offsets.cols())
        document_.tree.refuse(fmt::format("{}: refers to vertex {}, there are {}", name, vertices[i], offsets.cols()));
      const Vector3 offset(static_cast<float>(values[3 * i]), static_cast<float>(values[3 * i + 1]),
                           static_cast<float>(values[3 * i + 2]));
      if (!offset.allFinite()) document_.tree.refuse(fmt::format("{}: vertex {} is not finite", name, vertices[i]));
      offsets.col(static_cast<Eigen::Index>(vertices[i])) = offset;
    }
    return !vertices.empty();
  }

  const Document& document_;
  const std::vector<std::size_t>& node_of_;
  std::size_t object_;
  const ReadOptions& options_;
  Geometry& out_;
  std::vector<std::vector<Influence>> rows_;
  double used_ = 0;
};

/// In a file of our own, pieces share their corrections: every geometry gets the targets of all, in order of number.
void share_targets(Model& model) {
  std::map<std::size_t, Target> all;  // by the number in "correction_7"
  const auto number = [](const Target& target) {
    return static_cast<std::size_t>(
        std::strtoul(target.name.substr(target.name.find_last_of('_') + 1).c_str(), nullptr, 10));
  };
  for (const Geometry& geometry : model.geometries)
    for (const Target& target : geometry.targets) all.try_emplace(number(target), target);
  for (Geometry& geometry : model.geometries) {
    std::map<std::size_t, Points> own;
    for (std::size_t i = 0; i < geometry.targets.size(); ++i)
      own[number(geometry.targets[i])] = std::move(geometry.points.targets[i]);
    geometry.targets.clear();
    geometry.points.targets.clear();
    for (const auto& [key, target] : all) {
      geometry.targets.push_back(target);
      const auto found = own.find(key);
      geometry.points.targets.push_back(found != own.end() ? std::move(found->second)
                                                           : Points(Points::Zero(3, geometry.points.positions.cols())));
    }
  }
}

/// Our writer gives faces without a material a plain one, behind those of the mesh.
void drop_stand_in(const Json& facts, Materials& materials) {
  const Json noted = facts.value("materials", Json());
  if (!noted.is_number_unsigned() || noted.get<std::size_t>() >= materials.appearance.materials.size()) return;
  const auto kept = noted.get<std::size_t>();
  materials.appearance.materials.resize(kept);
  for (auto& [object, number] : materials.number_of)
    if (number >= static_cast<int>(kept)) number = -1;
}

/// What the file has instead of polygons, for the sentence that refuses it.
std::string other_geometry(const Document& document) {
  std::map<std::string_view, std::size_t> kinds;
  for (const Object& object : document.objects)
    if (object.type == "Geometry" && object.kind != "Mesh" && object.kind != "Shape") ++kinds[object.kind];
  std::string text;
  for (const auto& [kind, count] : kinds) text += fmt::format("{}{} of kind {}", text.empty() ? "" : ", ", count, kind);
  return text;
}

Part make_part(const Model& model, std::size_t node, std::size_t geometry, const Eigen::Affine3d& placed) {
  const Geometry& from = model.geometries[geometry];
  const Eigen::Affine3d& geometric = model.nodes[node].geometric;
  Part part;
  part.name = model.nodes[node].name.empty() ? from.polygons.name : model.nodes[node].name;
  part.node = node;
  part.mesh = geometry;
  part.skinned = from.skinned;
  for (std::size_t i = 0; i < from.links.size(); ++i) part.joints.push_back({from.links[i], from.binds[i] * geometric});
  if (!from.skinned || from.loose) part.joints.push_back({node, geometric});
  part.bind = model.to_ours * (from.skinned ? from.placed : placed) * geometric;
  if (!invertible(part.bind)) part.bind = model.to_ours;
  return part;
}

}  // namespace

double Target::weight(double channel_percent) const {
  const std::size_t i = shape;
  if (full.size() == 1) return channel_percent / full[0];
  if (channel_percent <= full[0]) return i == 0 ? channel_percent / full[0] : 0;
  if (channel_percent >= full.back()) return i + 1 == full.size() ? 1 : 0;
  if (i > 0 && channel_percent >= full[i - 1] && channel_percent < full[i])
    return (channel_percent - full[i - 1]) / (full[i] - full[i - 1]);
  if (i + 1 < full.size() && channel_percent >= full[i] && channel_percent < full[i + 1])
    return 1 - (channel_percent - full[i]) / (full[i + 1] - full[i]);
  return 0;
}

Model read_model(const Document& document, const ReadOptions& options) {
  Model model;
  model.facts = read_facts(document.tree);
  model.nodes = read_nodes(document);
  model.to_ours = to_our_space(document);
  std::vector<std::size_t> node_of(document.objects.size(), 0);
  for (std::size_t n = 0; n < model.nodes.size(); ++n) node_of[model.nodes[n].object] = n;
  std::vector<Chain> chains;
  for (const ModelNode& node : model.nodes) chains.push_back(node.chain);
  const std::vector<Eigen::Affine3d> placed = global_places(model.nodes, chains);
  std::map<std::size_t, std::size_t> known;  // geometry object → Model::geometries
  std::size_t meshes = 0;
  for (std::size_t n = 0; n < model.nodes.size(); ++n) {
    const std::vector<std::size_t> shown = document.children_of(model.nodes[n].object, "Geometry", "Mesh");
    if (shown.empty()) continue;
    ++meshes;
    const std::string& geometry_name = document.objects[shown.front()].name;
    if (!options.mesh.empty() && !glob_match(options.mesh, model.nodes[n].name) &&
        !glob_match(options.mesh, geometry_name))
      continue;
    const auto [entry, is_new] = known.try_emplace(shown.front(), model.geometries.size());
    if (is_new) {
      Geometry geometry;
      geometry.polygons = read_polygons(document, shown.front(), options);
      geometry.points.positions = geometry.polygons.mesh.positions;
      DeformerReader(document, node_of, shown.front(), options, geometry).run();
      model.geometries.push_back(std::move(geometry));
    }
    if (model.geometries[entry->second].points.positions.cols() == 0) continue;
    model.parts.push_back(make_part(model, n, entry->second, placed[n]));
  }
  if (model.parts.empty()) {
    const std::string others = other_geometry(document);
    document.tree.refuse(meshes > 0 && !options.mesh.empty()
                             ? fmt::format("no mesh with vertices is called '{}'", options.mesh)
                         : others.empty() ? std::string("shows no mesh with vertices")
                                          : fmt::format("shows no polygon mesh; it has geometry that is not read: {}. "
                                                        "Turn it into polygons first",
                                                        others));
  }
  if (model.facts) share_targets(model);
  model.stacks = read_stacks(document, options);
  return model;
}

Mesh rest_mesh(const Document& document, const Model& model, const ReadOptions& options) {
  Mesh out;
  Eigen::Index vertices = 0;
  double corners = 0;
  for (const Part& part : model.parts) {
    vertices += model.geometries[part.mesh].points.positions.cols();
    corners += static_cast<double>(model.geometries[part.mesh].polygons.mesh.corners.size());
  }
  // Instances multiply what the file holds.
  if (vertices > 0x7FFFFFFF ||
      12 * static_cast<double>(vertices) + 16 * corners > static_cast<double>(options.max_bytes))
    document.tree.refuse(fmt::format("its meshes have {} vertices and {} corners", vertices, corners));
  Materials materials = read_materials(document);
  if (model.facts) drop_stand_in(*model.facts, materials);
  out.positions.resize(3, vertices);
  Eigen::Index first = 0;
  const bool computed = model.facts && model.facts->value("normals", Json()) == "computed";  // by the writer
  for (const Part& part : model.parts) {
    const Polygons& polygons = model.geometries[part.mesh].polygons;
    Mesh mesh = polygons.mesh;
    const Eigen::Index count = mesh.positions.cols();
    if (part.bind.matrix().isIdentity(0))
      out.positions.middleCols(first, count) = mesh.positions;
    else
      out.positions.middleCols(first, count) = (part.bind * mesh.positions.cast<double>()).cast<float>();
    out.pieces.push_back({part.name, static_cast<Index>(first), static_cast<Index>(count),
                          static_cast<Index>(out.face_count()), static_cast<Index>(mesh.face_count())});
    // A mirrored part turns its faces, so that outside stays outside.
    if (part.bind.linear().determinant() < 0) {
      std::size_t corner = 0;
      for (const Index size : mesh.face_sizes) {
        const auto turn = [&](std::vector<Index>& list) {
          if (!list.empty())
            std::reverse(list.begin() + static_cast<std::ptrdiff_t>(corner) + 1,
                         list.begin() + static_cast<std::ptrdiff_t>(corner + size));
        };
        turn(mesh.corners);
        turn(mesh.normals.indices);
        for (auto& set : mesh.uv_sets) turn(set.indices);
        for (auto& set : mesh.color_sets) turn(set.indices);
        corner += size;
      }
    }
    const std::size_t before = out.corners.size();
    for (const Index corner : mesh.corners) out.corners.push_back(corner + static_cast<Index>(first));
    out.face_sizes.insert(out.face_sizes.end(), mesh.face_sizes.begin(), mesh.face_sizes.end());
    const auto append_sets = [&](auto& from, auto& to) {
      to.resize(std::max(from.size(), to.size()));
      for (std::size_t i = 0; i < to.size(); ++i)
        append_attribute(i < from.size() ? std::move(from[i]) : std::decay_t<decltype(to[i])>(), before,
                         out.corners.size(), to[i]);
    };
    append_sets(mesh.uv_sets, out.uv_sets);
    append_sets(mesh.color_sets, out.color_sets);
    if (computed || !place_normals(part.bind.matrix(), mesh.normals)) mesh.normals = {};
    append_attribute(std::move(mesh.normals), before, out.corners.size(), out.normals);
    std::vector<int> own;
    for (const std::size_t material : document.children_of(model.nodes[part.node].object, "Material"))
      own.push_back(materials.number_of.at(material));
    for (std::size_t face = 0; face < mesh.face_count(); ++face) {
      const std::int64_t number = polygons.materials.empty() ? 0 : polygons.materials[face];
      out.face_materials.push_back(
          number >= 0 && number < static_cast<std::int64_t>(own.size()) ? own[static_cast<std::size_t>(number)] : -1);
    }
    first += count;
  }
  if (!out.positions.allFinite()) document.tree.refuse("its meshes at rest are not finite");
  if (std::all_of(out.face_materials.begin(), out.face_materials.end(), [](int m) { return m < 0; }))
    out.face_materials.clear();
  out.appearance = std::move(materials.appearance);
  complete_attributes(document.tree.file, options.warn, out);
  if (model.facts)
    restore_mesh_names(*model.facts, out);
  else if (out.pieces.size() < 2)
    out.pieces.clear();
  return out;
}

SkinnedScene skinned_scene(const Document& document, const Model& model) {
  SkinnedScene out;
  out.file = document.tree.file;
  for (std::size_t n = 0; n < model.nodes.size(); ++n) {
    out.nodes.push_back({model.nodes[n].name, model.nodes[n].parent});
    out.order.push_back(n);
  }
  out.parts = model.parts;
  for (const Geometry& geometry : model.geometries) out.meshes.push_back(&geometry.points);
  out.facts = model.facts ? &*model.facts : nullptr;
  return out;
}

SampledTimes sampled_times(const Model& model) {
  SampledTimes out;
  const Json noted = model.facts ? model.facts->value("clip_list", Json()) : Json();
  const bool known = noted.is_array() && noted.size() == model.stacks.size();
  for (std::size_t i = 0; i < model.stacks.size(); ++i) {
    const Stack& stack = model.stacks[i];
    std::string name = stack.name;
    double shift = 0;
    if (known && noted[i].is_object()) {
      const Json noted_name = noted[i].value("name", Json());
      const Json start = noted[i].value("start", Json());
      if (noted_name.is_string()) name = noted_name.get<std::string>();
      if (start.is_number() && start.get<double>() < 0) shift = start.get<double>();  // moved to 0 by the writer
    }
    out.clips.push_back({name, out.seconds.size(), stack.frames.size()});
    for (const double t : stack.frames) out.seconds.push_back(t + shift);
  }
  if (out.clips.size() == 1 && model.facts && model.facts->value("clips", Json()) == false) out.clips.clear();
  if (out.seconds.empty()) out.seconds.push_back(0);
  return out;
}

PoseAt poses(const Model& model) {
  struct Moment {
    const Stack* stack = nullptr;
    double time = 0;
  };
  std::vector<Moment> moments;
  for (const Stack& stack : model.stacks)
    for (const double t : stack.frames) moments.push_back({&stack, t});
  if (moments.empty()) moments.push_back({});
  std::map<std::size_t, std::size_t> node_of;
  for (std::size_t n = 0; n < model.nodes.size(); ++n) node_of[model.nodes[n].object] = n;
  return [&model, moments = std::move(moments), node_of = std::move(node_of)](std::size_t f) {
    std::vector<Chain> chains;
    chains.reserve(model.nodes.size());
    for (const ModelNode& node : model.nodes) chains.push_back(node.chain);
    std::map<std::size_t, double> percents;
    const Moment& moment = moments[f];
    if (moment.stack != nullptr)
      for (const Channel& channel : moment.stack->channels) {
        Eigen::Vector3d value(channel.otherwise[0], channel.otherwise[1], channel.otherwise[2]);
        for (std::size_t i = 0; i < 3; ++i)
          if (channel.curves[i] != nullptr) value[static_cast<Eigen::Index>(i)] = channel.curves[i]->at(moment.time);
        if (channel.what == Channel::What::deform_percent) {
          percents[channel.owner] = value[0];
          continue;
        }
        const auto node = node_of.find(channel.owner);
        if (node == node_of.end()) continue;
        Chain& chain = chains[node->second];
        (channel.what == Channel::What::translation ? chain.translation
         : channel.what == Channel::What::rotation  ? chain.rotation
                                                    : chain.scaling) = value;
      }
    ScenePose pose;
    pose.global = global_places(model.nodes, chains);
    for (Eigen::Affine3d& place : pose.global) place = model.to_ours * place;
    pose.weights.resize(model.nodes.size());
    for (const Part& part : model.parts)
      for (const Target& target : model.geometries[part.mesh].targets) {
        const auto found = percents.find(target.channel);
        pose.weights[part.node].push_back(target.weight(found == percents.end() ? target.percent : found->second));
      }
    return pose;
  };
}

}  // namespace sinew::fbx
