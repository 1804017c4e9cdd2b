#pragma once

#include <Eigen/Geometry>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "io/usd/layer.h"

namespace sinew::usd {

/// An attribute or relationship of a composed prim: the strongest opinion there is.
struct Attribute {
  const Property* values = nullptr;   // has the value or the samples; null: nothing is said
  const Property* targets = nullptr;  // has the targets
  std::string from;                   // in targets, paths below this ...
  std::string to;                     // ... mean paths below that

  bool has_value() const { return values != nullptr && (values->value || !values->samples.empty()); }
  /// Moves with time.
  bool animated() const { return values != nullptr && values->samples.size() > 1; }
};

/// One place that has something to say about a prim, strongest first.
struct Opinion {
  const PrimSpec* spec = nullptr;
  std::string from;
  std::string to;
};

/// A prim as all opinions together make it.
struct Prim {
  std::string path;
  std::string name;
  std::string type;
  int parent = -1;  // in Stage::prims
  std::vector<Opinion> opinions;
};

/// The prims that are shown: defined, active and not abstract, parents first, in the order of the file.
///
/// Variants that are selected, inherited and specialised classes, and references within the layer are resolved. What
/// lies in other files is refused with the command that brings it in, and so are value clips.
class Stage {
 public:
  explicit Stage(Layer layer);

  const Layer& layer() const { return layer_; }
  const std::vector<Prim>& prims() const { return prims_; }
  std::optional<std::size_t> find(const std::string& path) const;

  Attribute attribute(const Prim& prim, std::string_view name) const;
  /// Names of all properties of a prim, each once.
  std::vector<std::string> property_names(const Prim& prim) const;
  /// Metadata of a property, strongest opinion first; nothing when there is none.
  std::optional<Value> metadata(const Prim& prim, std::string_view property, std::string_view key) const;
  /// Paths that a relationship or connection leads to.
  std::vector<std::string> targets(const Prim& prim, std::string_view name) const;

  /// A text or number without a time: the value, or that of the first sample.
  std::optional<Value> value(const Prim& prim, std::string_view name) const;
  std::string text(const Prim& prim, std::string_view name, const std::string& otherwise = {}) const;

  double codes_per_second() const { return codes_per_second_; }
  bool z_up() const { return z_up_; }

 private:
  void add(Prim prim, int depth);
  void expand(const Opinion& opinion, int depth, std::vector<Opinion>& out);
  void check_metadata(const Prim& prim) const;
  const PrimSpec* spec_at(const std::string& path) const;
  void read_root_metadata();

  Layer layer_;
  std::vector<Prim> prims_;
  std::size_t opinions_ = 0;  // of all prims
  std::unordered_map<std::string, std::size_t> by_path_;
  double codes_per_second_ = 24;
  bool z_up_ = false;
};

/// Attributes that a number of every frame depends on, at a time code: samples blended linearly, held outside.
struct SampleAt {
  std::size_t first = 0;
  double blend = 0;  // 0: the first alone; else towards the one after it
};
SampleAt locate(const Property& property, double code);

/// Numbers of an attribute at a time code; nothing where it says nothing.
std::vector<double> numbers_at(const Layer& layer, const Attribute& attribute, double code, int width);
/// The same for quaternions (w x y z), along the arc.
std::vector<double> quaternions_at(const Layer& layer, const Attribute& attribute, double code);

/// Where a prim is.
class Placement {
 public:
  explicit Placement(const Stage& stage);

  /// From the prim's space to that of the world, at a time code.
  Eigen::Affine3d world(std::size_t prim, double code) const;
  /// Adds the time codes at which the prim or one above it is placed anew.
  void add_codes(std::size_t prim, std::vector<double>& out) const;

 private:
  struct Operation {
    std::string kind;  // "translate", "rotateXYZ", ...
    Attribute attribute;
    bool inverted = false;
  };
  struct Local {
    std::vector<Operation> operations;
    bool resets = false;  // what is above does not count
  };
  Eigen::Affine3d local(const Local& local, double code) const;

  const Stage& stage_;
  std::vector<Local> locals_;  // per prim
};

}  // namespace sinew::usd
