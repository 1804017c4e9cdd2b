#include "io/usd/stage.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "io/usd/value.h"

namespace sinew::usd {
namespace {

constexpr std::size_t kMostPrims = 250000;
constexpr int kDeepestPrim = 128;          // of composed prims
constexpr int kLongestChain = 32;          // of references that lead to references
constexpr std::size_t kMostOpinions = 64;  // about one prim

/// `path` with its beginning `from` replaced by `to`.
std::string mapped(const std::string& path, const std::string& from, const std::string& to) {
  if (from.empty() || !path.starts_with(from)) return path;
  if (path.size() > from.size() && path[from.size()] != '/' && path[from.size()] != '.') return path;
  return to + path.substr(from.size());
}

bool is_true(const Layer& layer, Value value) {
  return read_number(layer, value) != 0;
}

}  // namespace

Stage::Stage(Layer layer) : layer_(std::move(layer)) {
  read_root_metadata();
  Prim root;
  root.opinions.push_back({&layer_.root, "", ""});
  add(std::move(root), 0);
}

void Stage::read_root_metadata() {
  const auto number = [&](const char* key, double otherwise) {
    const auto found = layer_.metadata.find(key);
    const double value = found == layer_.metadata.end() ? otherwise : read_number(layer_, found->second);
    if (!(value > 0)) layer_.refuse(fmt::format("{} is {}, a positive number is expected", key, value));
    return value;
  };
  codes_per_second_ = number("timeCodesPerSecond", number("framesPerSecond", 24));
  const auto axis = layer_.metadata.find("upAxis");
  z_up_ = axis != layer_.metadata.end() && read_text(layer_, axis->second) == "Z";
  const auto below = layer_.metadata.find("subLayers");
  if (below != layer_.metadata.end() && below->second.find('@') != Value::npos)
    layer_.refuse("is made of other layers, which are not read; join them first: usdcat --flatten IN -o OUT.usda");
}

const PrimSpec* Stage::spec_at(const std::string& path) const {
  const PrimSpec* at = &layer_.root;
  for (std::size_t begin = 1; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string name = path.substr(begin, end - begin);
    const auto found = std::find_if(at->children.begin(), at->children.end(),
                                    [&](const PrimSpec& child) { return child.name == name; });
    if (found == at->children.end()) return nullptr;
    at = &*found;
    begin = end + 1;
  }
  return at;
}

/// Appends an opinion and those that its variants and arcs bring in, in order of their strength: inherited classes,
/// variants, references, payloads, specialised classes.
void Stage::expand(const Opinion& opinion, int depth, std::vector<Opinion>& out) {
  if (depth > kLongestChain || out.size() > kMostOpinions)
    layer_.refuse(fmt::format("</{}> refers to itself, or to too many others", opinion.spec->name));
  out.push_back(opinion);
  const PrimSpec& spec = *opinion.spec;
  const auto follow = [&](ArcKind kind) {
    for (const Arc& arc : spec.arcs) {
      if (arc.kind != kind) continue;
      if (!arc.asset.empty())
        layer_.refuse(
            fmt::format("prim '{}' refers to @{}@, which is not read; bring it in first: usdcat --flatten IN "
                        "-o OUT.usda",
                        spec.name, arc.asset));
      if (arc.retimed)
        layer_.refuse(
            fmt::format("prim '{}' refers to <{}> at other times, which is not read; bring it in first: "
                        "usdcat --flatten IN -o OUT.usda",
                        spec.name, arc.path));
      const PrimSpec* target = arc.path.starts_with('/') ? spec_at(arc.path) : nullptr;
      if (target == nullptr || target == &layer_.root)
        layer_.refuse(fmt::format("prim '{}' refers to <{}>, which is not there", spec.name, arc.path));
      expand({target, arc.path, opinion.to}, depth + 1, out);
    }
  };
  follow(ArcKind::inherits);
  for (const VariantSet& set : spec.variant_sets) {
    std::string selected;
    for (std::size_t i = 0; i < out.size() && selected.empty(); ++i) {  // the strongest that says which
      const auto said = out[i].spec->selections.find(set.name);
      if (said != out[i].spec->selections.end()) selected = said->second;
    }
    for (const PrimSpec& variant : set.variants)
      if (variant.name == selected) expand({&variant, opinion.from, opinion.to}, depth + 1, out);
  }
  follow(ArcKind::references);
  follow(ArcKind::payload);
  follow(ArcKind::specializes);
}

void Stage::check_metadata(const Prim& prim) const {
  for (const Opinion& opinion : prim.opinions)
    if (opinion.spec->metadata.contains("clips"))
      layer_.refuse(
          fmt::format("<{}> takes its values from clips in other files, which are not read; bring them in first: "
                      "usdcat --flatten IN -o OUT.usda",
                      prim.path));
}

/// Adds a prim and all below it. Its opinions are those of its own place; the rest is brought in here.
void Stage::add(Prim prim, int depth) {
  if (depth > kDeepestPrim || prims_.size() >= kMostPrims)
    layer_.refuse(depth > kDeepestPrim ? fmt::format("prims nested deeper than {}", kDeepestPrim)
                                       : fmt::format("more than {} prims", kMostPrims));
  const std::vector<Opinion> own = std::move(prim.opinions);
  prim.opinions.clear();
  for (const Opinion& opinion : own) expand(opinion, 0, prim.opinions);
  opinions_ += prim.opinions.size();
  if (opinions_ > 4 * kMostPrims) layer_.refuse("its prims refer to too many others");
  if (depth > 0) {
    bool defined = false;
    bool active = true;
    bool abstract = false;
    for (std::size_t i = prim.opinions.size(); i-- > 0;) {  // the strongest speaks last
      const PrimSpec& spec = *prim.opinions[i].spec;
      if (!spec.type.empty()) prim.type = spec.type;
      defined = defined || (spec.specifier == PrimSpec::Specifier::def && !spec.name.empty());
      const auto found = spec.metadata.find("active");
      if (found != spec.metadata.end()) active = is_true(layer_, found->second);
    }
    abstract = own.front().spec->specifier == PrimSpec::Specifier::abstract;
    if (!defined || !active || abstract) return;
    check_metadata(prim);
  }
  const auto index = static_cast<int>(prims_.size());
  std::vector<Prim> children;
  std::unordered_map<std::string, std::size_t> known;
  for (const Opinion& opinion : prim.opinions)
    for (const PrimSpec& child : opinion.spec->children) {
      const auto [entry, is_new] = known.try_emplace(child.name, children.size());
      if (is_new) {
        children.push_back({prim.path + "/" + child.name, child.name, "", index, {}});
        if (prims_.size() + children.size() > kMostPrims) layer_.refuse(fmt::format("more than {} prims", kMostPrims));
      }
      children[entry->second].opinions.push_back({&child, opinion.from, opinion.to});
    }
  by_path_.emplace(prim.path, prims_.size());
  prims_.push_back(std::move(prim));
  for (Prim& child : children) add(std::move(child), depth + 1);
}

std::optional<std::size_t> Stage::find(const std::string& path) const {
  const auto found = by_path_.find(path);
  return found == by_path_.end() ? std::nullopt : std::optional(found->second);
}

Attribute Stage::attribute(const Prim& prim, std::string_view name) const {
  Attribute out;
  for (const Opinion& opinion : prim.opinions) {
    const Property* property = opinion.spec->find(name);
    if (property == nullptr) continue;
    if (out.values == nullptr && (property->value || !property->samples.empty())) out.values = property;
    if (out.targets == nullptr && !property->targets.empty()) {
      out.targets = property;
      out.from = opinion.from;
      out.to = opinion.to;
    }
  }
  return out;
}

std::vector<std::string> Stage::property_names(const Prim& prim) const {
  std::vector<std::string> out;
  std::set<std::string> seen;
  for (const Opinion& opinion : prim.opinions)
    for (const Property& property : opinion.spec->properties)
      if (seen.insert(property.name).second) out.push_back(property.name);
  return out;
}

std::optional<Value> Stage::metadata(const Prim& prim, std::string_view property, std::string_view key) const {
  for (const Opinion& opinion : prim.opinions) {
    const Property* candidate = opinion.spec->find(property);
    if (candidate == nullptr) continue;
    const auto found = candidate->metadata.find(key);
    if (found != candidate->metadata.end()) return found->second;
  }
  return std::nullopt;
}

std::vector<std::string> Stage::targets(const Prim& prim, std::string_view name) const {
  const Attribute found = attribute(prim, name);
  std::vector<std::string> out;
  if (found.targets == nullptr) return out;
  for (const std::string& target : found.targets->targets) {
    // Relative paths start at the prim; only those that stay inside it or go to siblings are met in practice.
    std::string path = target.starts_with('/') ? target : prim.path + "/" + target;
    for (std::size_t up = path.find("/../"); up != std::string::npos && up > 0; up = path.find("/../")) {
      const std::size_t before = path.rfind('/', up - 1);
      path.erase(before == std::string::npos ? 0 : before, up + 3 - (before == std::string::npos ? 0 : before));
    }
    out.push_back(mapped(path, found.from, found.to));
  }
  return out;
}

std::optional<Value> Stage::value(const Prim& prim, std::string_view name) const {
  const Attribute found = attribute(prim, name);
  if (!found.has_value()) return std::nullopt;
  return found.values->value ? *found.values->value : found.values->samples.front().second;
}

std::string Stage::text(const Prim& prim, std::string_view name, const std::string& otherwise) const {
  const std::optional<Value> found = value(prim, name);
  return found ? read_text(layer_, *found) : otherwise;
}

}  // namespace sinew::usd
