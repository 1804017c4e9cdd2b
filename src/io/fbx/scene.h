#pragma once

#include <Eigen/Geometry>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "io/fbx/tree.h"
#include "sinew/io/io.h"

namespace sinew::fbx {

/// An object of a file. Names are without their class.
struct Object {
  std::int64_t id = 0;
  std::string_view type;  // Model, Geometry, Deformer, ...
  std::string name;
  std::string_view kind;  // Mesh, LimbNode, Skin, Cluster, ...
  const Record* record = nullptr;
};

/// One end of a connection as the other sees it; `property` is empty for object to object.
struct Link {
  std::size_t object = 0;  // in Document::objects
  std::string_view property;
};

/// Objects of a file by number, with what is connected to what and the properties that they have.
struct Document {
  const Tree& tree;
  std::vector<Object> objects;
  std::vector<std::vector<Link>> children;  // per object: what belongs to it, in file order
  std::vector<std::vector<Link>> parents;
  std::vector<std::size_t> of_scene;  // objects that belong to the scene itself

  explicit Document(const Tree& from);

  /// Children of a type and kind ("": any), object to object.
  std::vector<std::size_t> children_of(std::size_t object, std::string_view type, std::string_view kind = {}) const;
  /// The record P of an object's property: its own, else that of the template for its type; null when there is neither.
  const Record* property(std::size_t object, std::string_view name) const;
  double number(std::size_t object, std::string_view name, double otherwise) const;
  Eigen::Vector3d vector(std::size_t object, std::string_view name, const Eigen::Vector3d& otherwise) const;
  /// A property of GlobalSettings.
  double setting(std::string_view name, double otherwise) const;

 private:
  std::map<std::string_view, const Record*> templates_;  // Properties70 by type
};

/// The chain of one node: T · Roff · Rp · Rpre · R · Rpost⁻¹ · Rp⁻¹ · Soff · Sp · S · Sp⁻¹.
struct Chain {
  Eigen::Vector3d translation = Eigen::Vector3d::Zero();
  Eigen::Vector3d rotation = Eigen::Vector3d::Zero();  // degrees
  Eigen::Vector3d scaling = Eigen::Vector3d::Ones();
  Eigen::Vector3d rotation_offset = Eigen::Vector3d::Zero();
  Eigen::Vector3d rotation_pivot = Eigen::Vector3d::Zero();
  Eigen::Vector3d scaling_offset = Eigen::Vector3d::Zero();
  Eigen::Vector3d scaling_pivot = Eigen::Vector3d::Zero();
  Eigen::Matrix3d pre_rotation = Eigen::Matrix3d::Identity();
  Eigen::Matrix3d post_rotation = Eigen::Matrix3d::Identity();
  int order = 0;  // of rotation: XYZ, XZY, YZX, YXZ, ZXY, ZYX
};

/// How a node takes over the scale of its parent: RrSs, RSrs, Rrs.
enum class Inherit { parent_scale_last = 0, product = 1, without_parent_scale = 2 };

/// A node of the scene.
struct ModelNode {
  std::size_t object = 0;
  std::string name;
  int parent = -1;
  Chain chain;
  Inherit inherit = Inherit::product;
  Eigen::Affine3d geometric = Eigen::Affine3d::Identity();  // of its geometry alone, not of what is below
};

/// Nodes of the scene, parents first.
std::vector<ModelNode> read_nodes(const Document& document);

/// Places of all nodes in the file's own space, given their chains.
std::vector<Eigen::Affine3d> global_places(const std::vector<ModelNode>& nodes, const std::vector<Chain>& chains);

/// Takes the file's space to ours: +Y up, right-handed, metres.
Eigen::Affine3d to_our_space(const Document& document);

/// The rotation of degrees in an order, 0 to 5: XYZ, XZY, YZX, YXZ, ZXY, ZYX, the first letter acting first.
Eigen::Matrix3d ordered_rotation(const Eigen::Vector3d& degrees, int order);

}  // namespace sinew::fbx
