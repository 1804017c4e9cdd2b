#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sinew::usd {

/// A value as the layer has it: its text, taken apart when it is asked for (io/usd/value.h).
using Value = std::string_view;
using Metadata = std::map<std::string, Value, std::less<>>;

/// An attribute or a relationship as one prim spec states it.
struct Property {
  std::string name;                               // "primvars:st:indices"
  std::string type;                               // "point3f[]"; "rel" for relationships
  std::optional<Value> value;                     // what it is without a time
  std::vector<std::pair<double, Value>> samples;  // strictly increasing time codes
  std::vector<std::string> targets;               // of a relationship, or of a connection
  Metadata metadata;
};

enum class ArcKind { inherits, references, payload, specializes };

/// Another prim whose opinions come after a prim's own.
struct Arc {
  ArcKind kind = ArcKind::references;
  std::string asset;     // empty: this layer
  std::string path;      // empty: the other layer's default prim
  bool retimed = false;  // by a layer offset or scale
};

struct VariantSet;

/// What one place of a layer says about a prim.
struct PrimSpec {
  enum class Specifier { def, over, abstract };  // abstract: "class"
  Specifier specifier = Specifier::def;
  std::string type;
  std::string name;
  Metadata metadata;
  std::vector<Arc> arcs;
  std::map<std::string, std::string> selections;  // variant set → variant
  std::vector<VariantSet> variant_sets;
  std::vector<Property> properties;  // sorted by name
  std::vector<PrimSpec> children;

  const Property* find(std::string_view name_wanted) const;
};

struct VariantSet {
  std::string name;
  std::vector<PrimSpec> variants;
};

/// A text layer. Values are views of the text, which has to outlive it.
struct Layer {
  std::string name;
  std::string_view text;
  Metadata metadata;
  PrimSpec root;  // its children are the root prims

  /// Throws Error{input} with the layer's name and, for a view of its text, the line.
  [[noreturn]] void refuse(const std::string& what) const;
  [[noreturn]] void refuse_at(const char* place, const std::string& what) const;
};

/// Takes a layer apart. `name` stands for it in sentences. Throws Error{input} with the line where the text is not a
/// layer: cut short, nested deeper than 64, or not what the grammar has there.
Layer parse_layer(std::string_view text, const std::string& name);

/// The entry of a dictionary ({ TYPE KEY = VALUE ... }) that has this key.
std::optional<Value> dictionary_entry(const Layer& layer, Value dictionary, const std::string& key);

}  // namespace sinew::usd
