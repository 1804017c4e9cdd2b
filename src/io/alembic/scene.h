#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "io/alembic/archive.h"

/// The objects of an archive as a tree, instances spelled out, and where its transforms put them.
namespace sinew::alembic {

inline constexpr int kNoParent = -1;

/// One object, or one appearance of an object through an instance.
struct Node {
  std::string name;
  std::string path;
  std::string type;         // the schema without prefix and version: "PolyMesh"
  std::string instance_of;  // path of the source when this node is an instance
  int parent = kNoParent;   // index of an earlier node
  int depth = 0;
  Properties properties;
  bool shown = true;  // visible at some time, parents taken into account

  bool is_mesh() const { return type == "PolyMesh" || type == "SubD"; }
};

/// All objects depth first, children in file order.
std::vector<Node> read_nodes(const Archive& archive);

/// Where a time falls among the samples of a property: at `sample`, or `blend` of the way from it to the next.
struct SamplePosition {
  std::size_t sample = 0;
  double blend = 0;
};

/// Times closer than `tolerance` to a sample are that sample; times outside the samples are the nearest.
SamplePosition locate(const TimeSampling& sampling, std::size_t samples, double time, double tolerance);

/// The transform of one Xform object over time. Column vectors: posed = matrix · point.
class Xform {
 public:
  Xform(const Archive& archive, const Node& node);

  /// True when its value differs between samples.
  bool moves() const { return moves_; }
  const Property& values() const { return values_.property(); }

  Eigen::Matrix4d local(double time, double tolerance);
  bool inherits(double time, double tolerance) const;

 private:
  const std::vector<double>& channels(std::size_t sample, std::size_t slot);
  bool read_inherits(std::size_t sample) const;

  const Archive* archive_;
  std::string path_;
  std::vector<std::uint8_t> operations_;
  std::size_t channel_count_ = 0;
  Samples values_;
  Samples inherits_;
  std::optional<bool> always_inherits_;  // known when it never changes
  bool moves_ = false;
  struct Cached {
    std::optional<ogawa::Entry> entry;
    std::vector<double> channels;
  };
  Cached cache_[2];  // the two samples around the last time asked for
};

/// Evaluates where nodes are, keeping what the nodes of one moment share.
class Placement {
 public:
  Placement(const Archive& archive, const std::vector<Node>& nodes) : archive_(&archive), nodes_(&nodes) {
    places_.resize(nodes.size());
  }

  /// The transforms above a node that move.
  std::vector<const Xform*> moving_above(int node);

  /// Matrix from the space of a node's points to the world.
  const Eigen::Matrix4d& world(int node, double time, double tolerance);

 private:
  Xform* xform(int node);

  struct Place {
    std::optional<Xform> xform;
    std::optional<double> time;
    Eigen::Matrix4d world = Eigen::Matrix4d::Identity();
  };
  const Archive* archive_;
  const std::vector<Node>* nodes_;
  std::vector<Place> places_;
};

}  // namespace sinew::alembic
