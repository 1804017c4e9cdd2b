#include "io/fbx/scene.h"

#include <fmt/format.h>

#include <Eigen/LU>
#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <numbers>

namespace sinew::fbx {
namespace {

/// "NAME\0\1CLASS" of binary files and "CLASS::NAME" of text without the class. Bytes that are not UTF-8 become '?'.
std::string plain_name(std::string_view name) {
  if (const std::size_t end = name.find(std::string_view("\x00\x01", 2)); end != std::string_view::npos)
    name = name.substr(0, end);
  else if (const std::size_t start = name.find("::"); start != std::string_view::npos)
    name = name.substr(start + 2);
  std::string out;
  for (std::size_t i = 0; i < name.size();) {
    const auto lead = static_cast<unsigned char>(name[i]);
    const std::size_t length = lead < 0x80                   ? 1
                               : lead >= 0xC2 && lead < 0xE0 ? 2
                               : lead < 0xC2                 ? 0
                               : lead < 0xF0                 ? 3
                                                             : 4;
    bool good = length > 0 && lead < 0xF5 && i + length <= name.size() && lead >= 0x20;
    for (std::size_t k = 1; good && k < length; ++k) good = (static_cast<unsigned char>(name[i + k]) & 0xC0) == 0x80;
    if (good && length >= 3) {  // overlong forms, surrogates and beyond U+10FFFF
      const auto second = static_cast<unsigned char>(name[i + 1]);
      good = !(lead == 0xE0 && second < 0xA0) && !(lead == 0xED && second > 0x9F) && !(lead == 0xF0 && second < 0x90) &&
             !(lead == 0xF4 && second > 0x8F);
    }
    if (good)
      out.append(name.substr(i, length));
    else
      out += '?';
    i += good ? length : 1;
  }
  return out;
}

const Record* find_property(const Record* properties, std::string_view name) {
  if (properties == nullptr) return nullptr;
  for (const Record& record : properties->children)
    if (record.name == "P" && record.text(0) == name) return &record;
  return nullptr;
}

Eigen::Affine3d moved(const Eigen::Vector3d& by) {
  return Eigen::Affine3d(Eigen::Translation3d(by));
}

Eigen::Affine3d local_matrix(const Chain& c) {
  Eigen::Affine3d out = moved(c.translation + c.rotation_offset + c.rotation_pivot);
  out = out * Eigen::Affine3d(c.pre_rotation * ordered_rotation(c.rotation, c.order) * c.post_rotation.transpose());
  out = out * moved(-c.rotation_pivot + c.scaling_offset + c.scaling_pivot) * Eigen::Scaling(c.scaling) *
        moved(-c.scaling_pivot);
  return out;
}

/// A as rotation times the rest; the rest is scale where there is no shear.
Eigen::Matrix3d rotation_part(const Eigen::Matrix3d& A) {
  // Columns by Gram-Schmidt, which is how the format's library takes matrices apart.
  Eigen::Matrix3d R = A;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < i; ++j) R.col(i) -= R.col(j).dot(A.col(i)) * R.col(j);
    const double length = R.col(i).norm();
    if (!(length > 0) || !std::isfinite(length)) return Eigen::Matrix3d::Identity();
    R.col(i) /= length;
  }
  if (R.determinant() < 0) R.col(2) *= -1;
  return R;
}

void read_chain(const Document& document, std::size_t object, ModelNode& node) {
  Chain& c = node.chain;
  const Eigen::Vector3d zero = Eigen::Vector3d::Zero();
  const Eigen::Vector3d one = Eigen::Vector3d::Ones();
  c.translation = document.vector(object, "Lcl Translation", zero);
  c.rotation = document.vector(object, "Lcl Rotation", zero);
  c.scaling = document.vector(object, "Lcl Scaling", one);
  c.rotation_offset = document.vector(object, "RotationOffset", zero);
  c.rotation_pivot = document.vector(object, "RotationPivot", zero);
  c.scaling_offset = document.vector(object, "ScalingOffset", zero);
  c.scaling_pivot = document.vector(object, "ScalingPivot", zero);
  if (document.number(object, "RotationActive", 0) != 0) {
    c.pre_rotation = ordered_rotation(document.vector(object, "PreRotation", zero), 0);
    c.post_rotation = ordered_rotation(document.vector(object, "PostRotation", zero), 0);
    const double order = document.number(object, "RotationOrder", 0);
    c.order = order >= 0 && order <= 5 ? static_cast<int>(order) : 0;
  }
  const double inherit = document.number(object, "InheritType", 0);
  node.inherit = inherit == 1   ? Inherit::product
                 : inherit == 2 ? Inherit::without_parent_scale
                                : Inherit::parent_scale_last;
  node.geometric = moved(document.vector(object, "GeometricTranslation", zero)) *
                   Eigen::Affine3d(ordered_rotation(document.vector(object, "GeometricRotation", zero), 0)) *
                   Eigen::Scaling(document.vector(object, "GeometricScaling", one));
}

}  // namespace

Document::Document(const Tree& from) : tree(from) {
  std::unordered_map<std::int64_t, std::size_t> number_of;
  if (const Record* const list = tree.root.find("Objects"))
    for (const Record& record : list->children) {
      Object object{record.integer(0), record.name, plain_name(record.text(1)), record.text(2), &record};
      if (object.id == 0 || !number_of.try_emplace(object.id, objects.size()).second) continue;
      objects.push_back(std::move(object));
    }
  children.resize(objects.size());
  parents.resize(objects.size());
  if (const Record* const list = tree.root.find("Connections"))
    for (const Record& record : list->children) {
      const auto child = number_of.find(record.integer(1));
      const auto parent = number_of.find(record.integer(2));
      const std::string_view kind = record.text(0);
      if (child == number_of.end() || (kind != "OO" && kind != "OP")) continue;
      if (parent == number_of.end()) {
        if (record.integer(2) == 0 && kind == "OO") of_scene.push_back(child->second);
        continue;
      }
      const std::string_view property = kind == "OP" ? record.text(3) : std::string_view();
      children[parent->second].push_back({child->second, property});
      parents[child->second].push_back({parent->second, property});
    }
  if (const Record* const list = tree.root.find("Definitions"))
    for (const Record& type : list->children)
      if (const Record* const found = type.find("PropertyTemplate"))
        if (const Record* const properties = found->find("Properties70")) templates_[type.text(0)] = properties;
}

std::vector<std::size_t> Document::children_of(std::size_t object, std::string_view type, std::string_view kind) const {
  std::vector<std::size_t> out;
  for (const Link& link : children[object]) {
    const Object& child = objects[link.object];
    if (link.property.empty() && child.type == type && (kind.empty() || child.kind == kind)) out.push_back(link.object);
  }
  return out;
}

const Record* Document::property(std::size_t object, std::string_view name) const {
  const Object& o = objects[object];
  if (const Record* const own = find_property(o.record->find("Properties70"), name)) return own;
  const auto found = templates_.find(o.type);
  return found == templates_.end() ? nullptr : find_property(found->second, name);
}

double Document::number(std::size_t object, std::string_view name, double otherwise) const {
  const Record* const found = property(object, name);
  return found == nullptr ? otherwise : found->number(4, otherwise);
}

Eigen::Vector3d Document::vector(std::size_t object, std::string_view name, const Eigen::Vector3d& otherwise) const {
  const Record* const found = property(object, name);
  if (found == nullptr || found->values.size() < 7) return otherwise;
  Eigen::Vector3d out(found->number(4), found->number(5), found->number(6));
  if (!out.allFinite())
    tree.refuse(fmt::format("{} '{}': {} is not finite", objects[object].type, objects[object].name, name));
  return out;
}

double Document::setting(std::string_view name, double otherwise) const {
  const Record* const settings = tree.root.find("GlobalSettings");
  const Record* const found = settings == nullptr ? nullptr : find_property(settings->find("Properties70"), name);
  return found == nullptr ? otherwise : found->number(4, otherwise);
}

Eigen::Matrix3d ordered_rotation(const Eigen::Vector3d& degrees, int order) {
  static constexpr int kAxes[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 2, 0}, {1, 0, 2}, {2, 0, 1}, {2, 1, 0}};
  Eigen::Matrix3d out = Eigen::Matrix3d::Identity();
  for (const int axis : kAxes[order])
    out =
        Eigen::AngleAxisd(degrees[axis] * std::numbers::pi / 180, Eigen::Vector3d::Unit(axis)).toRotationMatrix() * out;
  return out;
}

std::vector<ModelNode> read_nodes(const Document& document) {
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::vector<ModelNode> nodes;
  std::vector<std::size_t> node_of(document.objects.size(), kNone);
  const auto parent_model = [&](std::size_t object) {
    for (const Link& link : document.parents[object])
      if (link.property.empty() && document.objects[link.object].type == "Model") return link.object;
    return kNone;
  };
  // Depth first from every model without a parent, so that parents come first and siblings stay in file order.
  std::vector<std::size_t> waiting;
  for (std::size_t i = document.objects.size(); i-- > 0;)
    if (document.objects[i].type == "Model" && parent_model(i) == kNone) waiting.push_back(i);
  while (!waiting.empty()) {
    const std::size_t object = waiting.back();
    waiting.pop_back();
    if (node_of[object] != kNone) continue;
    ModelNode node;
    node.object = object;
    node.name = document.objects[object].name;
    const std::size_t parent = parent_model(object);
    node.parent = parent == kNone ? -1 : static_cast<int>(node_of[parent]);
    read_chain(document, object, node);
    node_of[object] = nodes.size();
    nodes.push_back(std::move(node));
    const std::vector<std::size_t> below = document.children_of(object, "Model");
    for (std::size_t i = below.size(); i-- > 0;)
      if (parent_model(below[i]) == object) waiting.push_back(below[i]);
  }
  for (std::size_t i = 0; i < document.objects.size(); ++i)
    if (document.objects[i].type == "Model" && node_of[i] == kNone)
      document.tree.refuse(fmt::format("model '{}' is below itself", document.objects[i].name));
  return nodes;
}

std::vector<Eigen::Affine3d> global_places(const std::vector<ModelNode>& nodes, const std::vector<Chain>& chains) {
  std::vector<Eigen::Affine3d> out;
  out.reserve(nodes.size());
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const Eigen::Affine3d local = local_matrix(chains[n]);
    if (nodes[n].parent < 0) {
      out.push_back(local);
      continue;
    }
    const auto p = static_cast<std::size_t>(nodes[n].parent);
    Eigen::Affine3d global = out[p] * local;
    if (nodes[n].inherit != Inherit::product) {
      const Eigen::Matrix3d turned = rotation_part(out[p].linear());
      Eigen::Matrix3d scaled = turned.transpose() * out[p].linear();
      // Only the parent's own scale is left out, not what it inherited.
      if (nodes[n].inherit == Inherit::without_parent_scale && (chains[p].scaling.array() != 0).all())
        scaled = scaled * Eigen::Matrix3d(chains[p].scaling.cwiseInverse().asDiagonal());
      const Eigen::Matrix3d turn = chains[n].pre_rotation * ordered_rotation(chains[n].rotation, chains[n].order) *
                                   chains[n].post_rotation.transpose();
      global.linear() = turned * turn * scaled * Eigen::Matrix3d(chains[n].scaling.asDiagonal());
    }
    out.push_back(global);
  }
  return out;
}

Eigen::Affine3d to_our_space(const Document& document) {
  const auto axis = [&](const char* name, int otherwise) {
    const double value = document.setting(name, otherwise);
    return value >= 0 && value <= 2 ? static_cast<int>(value) : otherwise;
  };
  const auto sign = [&](const char* name) { return document.setting(name, 1) < 0 ? -1.0 : 1.0; };
  Eigen::Matrix3d turn = Eigen::Matrix3d::Zero();
  turn(0, axis("CoordAxis", 0)) = sign("CoordAxisSign");
  turn(1, axis("UpAxis", 1)) = sign("UpAxisSign");
  turn(2, axis("FrontAxis", 2)) = sign("FrontAxisSign");
  if (std::abs(turn.determinant()) != 1) turn = Eigen::Matrix3d::Identity();  // axes named twice
  const double centimetres = document.setting("UnitScaleFactor", 1);
  const double scale = std::isfinite(centimetres) && centimetres > 0 ? centimetres / 100 : 0.01;
  Eigen::Affine3d out = Eigen::Affine3d::Identity();
  out.linear() = scale * turn;
  return out;
}

}  // namespace sinew::fbx
