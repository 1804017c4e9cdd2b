#include "io/usd/layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <unordered_map>

#include "io/usd/value.h"
#include "sinew/core/error.h"

namespace sinew::usd {
namespace {

constexpr int kDeepest = 64;

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/// Letters, digits, '_', ':' in names of properties and any byte of a character beyond ASCII.
bool is_name_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':' ||
         static_cast<unsigned char>(c) >= 0x80;
}

class Parser {
 public:
  Parser(const Layer& layer, Value part) : layer_(layer), at_(part.data()), end_(part.data() + part.size()) {}
  explicit Parser(Layer& layer) : layer_(layer), out_(&layer), at_(layer.text.data()), end_(at_ + layer.text.size()) {}

  std::optional<Value> find_entry(const std::string& wanted) {
    expect('{', "before a dictionary");
    while (!accept('}')) {
      read_word();
      if (starts("[]")) at_ += 2;
      skip();
      const bool quoted = peek() == '"' || peek() == '\'';
      const std::string key = quoted ? read_text(layer_, read_value()) : read_word();
      expect('=', "in a dictionary");
      const Value value = read_value();
      if (key == wanted) return value;
    }
    return std::nullopt;
  }

  void run() {
    if (!layer_.text.starts_with("#usda ") && !layer_.text.starts_with("#sdf "))
      layer_.refuse("not a text layer: it does not begin with #usda");
    skip_line();
    skip();
    if (peek() == '(') read_metadata(out_->metadata, nullptr);
    for (skip(); at_ != end_; skip()) {
      const std::string word = read_word();
      if (word == "reorder")
        skip_statement();
      else
        out_->root.children.push_back(read_prim(word, 1));
    }
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { layer_.refuse_at(at_, what); }

  char peek() const { return at_ == end_ ? '\0' : *at_; }
  bool starts(std::string_view text) const {
    return static_cast<std::size_t>(end_ - at_) >= text.size() && std::memcmp(at_, text.data(), text.size()) == 0;
  }
  void skip_line() {
    while (at_ != end_ && *at_ != '\n') ++at_;
  }
  /// Blanks, comments and the semicolons that may end a statement.
  void skip() {
    for (; at_ != end_; ++at_) {
      if (is_blank(*at_) || *at_ == ';') continue;
      if (*at_ == '#') {
        skip_line();
        if (at_ == end_) return;
      } else if (starts("/*")) {
        skip_past("*/");
        --at_;
      } else {
        return;
      }
    }
  }
  void skip_past(std::string_view closing) {
    const std::string_view left(at_, static_cast<std::size_t>(end_ - at_));
    const std::size_t found = left.find(closing, closing == "@@@" ? 3 : 1);
    if (found == std::string_view::npos) refuse(fmt::format("{} is missing", closing));
    at_ += found + closing.size();
  }
  void expect(char c, const char* where) {
    skip();
    if (peek() != c) refuse(fmt::format("'{}' expected {}", c, where));
    ++at_;
  }
  bool accept(char c) {
    skip();
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  std::string read_word() {
    skip();
    const char* const begin = at_;
    while (at_ != end_ && is_name_byte(*at_)) ++at_;
    if (at_ == begin) refuse("a word is expected");
    return {begin, at_};
  }

  void skip_string() {
    const char quote = *at_;
    const std::string_view triple = quote == '"' ? "\"\"\"" : "'''";
    if (starts(triple)) {
      at_ += 2;
      for (++at_; at_ != end_; ++at_) {
        if (*at_ == '\\' && at_ + 1 != end_)
          ++at_;
        else if (starts(triple)) {
          at_ += 3;
          return;
        }
      }
      refuse("a string has no end");
    }
    for (++at_; at_ != end_ && *at_ != '\n'; ++at_) {
      if (*at_ == '\\' && at_ + 1 != end_)
        ++at_;
      else if (*at_ == quote) {
        ++at_;
        return;
      }
    }
    refuse("a string has no end");
  }

  /// Skips one string, asset, path or bracketed value; the reader of the value looks at what is inside.
  void skip_one(int depth) {
    if (depth > kDeepest) refuse(fmt::format("nested deeper than {}", kDeepest));
    switch (peek()) {
      case '"':
      case '\'':
        return skip_string();
      case '@':
        return skip_past(starts("@@@") ? "@@@" : "@");
      case '<':
        return skip_past(">");
      case '[':
        return skip_list(']', depth);
      case '(':
        return skip_list(')', depth);
      case '{':
        return skip_list('}', depth);
      default:
        ++at_;
    }
  }

  void skip_list(char closing, int depth) {
    // Bytes that a list of numbers is made of: most of any large layer.
    static constexpr auto kPlain = [] {
      std::array<bool, 256> plain{};
      for (const char c : std::string_view("0123456789.,+-eE \n\r\t")) plain[static_cast<unsigned char>(c)] = true;
      return plain;
    }();
    for (++at_;;) {
      while (at_ != end_ && kPlain[static_cast<unsigned char>(*at_)]) ++at_;
      if (at_ == end_) refuse(fmt::format("'{}' is missing: the file is cut short", closing));
      const char c = *at_;
      if (c == closing) {
        ++at_;
        return;
      }
      if (c == ']' || c == ')' || c == '}') refuse(fmt::format("'{}' found, '{}' expected", c, closing));
      if (c == '#')
        skip_line();
      else
        skip_one(depth + 1);
    }
  }

  Value read_value() {
    skip();
    const char* const begin = at_;
    const char c = peek();
    if (c == '"' || c == '\'' || c == '@' || c == '<' || c == '[' || c == '(' || c == '{') {
      skip_one(0);
    } else {
      while (at_ != end_ && (is_name_byte(*at_) || *at_ == '.' || *at_ == '-' || *at_ == '+')) ++at_;
      if (at_ == begin) refuse("a value is expected");
    }
    return {begin, static_cast<std::size_t>(at_ - begin)};
  }

  /// A value of metadata: a reference has a path and an offset after the asset.
  Value read_metadata_value() {
    const Value value = read_value();
    const char* const begin = value.data();
    if (value.starts_with('@') || value.starts_with('<')) {
      skip();
      if (peek() == '<') skip_one(0);
      skip();
      if (peek() == '(') skip_one(0);
    }
    return {begin, static_cast<std::size_t>(at_ - begin)};
  }

  void skip_statement() {
    read_word();
    expect('=', "in a list of names");
    read_value();
  }

  /// ( key = value ... ); `prim` takes arcs and variant selections.
  void read_metadata(Metadata& out, PrimSpec* prim) {
    expect('(', "before metadata");
    for (skip(); !accept(')'); skip()) {
      if (peek() == '"' || peek() == '\'') {  // a comment
        skip_string();
        continue;
      }
      std::string word = read_word();
      const bool deleted = word == "delete";
      if (word == "prepend" || word == "append" || word == "add" || word == "reorder" || deleted) word = read_word();
      expect('=', "in metadata");
      const Value value = read_metadata_value();
      if (deleted) continue;
      if (prim != nullptr) add_composition(word, value, *prim);
      out.insert_or_assign(word, value);
    }
  }

  void add_composition(const std::string& key, Value value, PrimSpec& prim) {
    static constexpr std::array kinds{
        std::pair{"inherits", ArcKind::inherits}, std::pair{"references", ArcKind::references},
        std::pair{"payload", ArcKind::payload}, std::pair{"specializes", ArcKind::specializes}};
    for (const auto& [word, kind] : kinds)
      if (key == word) read_arcs(kind, value, prim.arcs);
    if (key != "variants") return;
    Parser inside(layer_, value);
    inside.expect('{', "after variants");
    while (!inside.accept('}')) {
      if (inside.read_word() != "string") inside.refuse("'string' expected");
      const std::string set = inside.read_word();
      inside.expect('=', "in a selection of variants");
      prim.selections.insert_or_assign(set, read_text(layer_, inside.read_value()));
    }
  }

  void read_arcs(ArcKind kind, Value value, std::vector<Arc>& out) {
    Parser inside(layer_, value);
    const bool list = inside.accept('[');
    for (inside.skip(); inside.at_ != inside.end_ && inside.peek() != ']'; inside.skip()) {
      if (inside.accept(',')) continue;
      Arc arc;
      arc.kind = kind;
      if (inside.starts("None")) return;
      if (inside.peek() == '@') arc.asset = read_text(layer_, inside.read_value());
      inside.skip();
      if (inside.peek() == '<') arc.path = read_text(layer_, inside.read_value());
      inside.skip();
      if (inside.peek() == '(') {
        arc.retimed = true;
        inside.skip_one(0);
      }
      if (arc.asset.empty() && arc.path.empty()) inside.refuse("a reference is expected");
      out.push_back(std::move(arc));
      if (!list) return;
    }
  }

  /// def TYPE "NAME" ( ... ) { ... }; `word` is the specifier.
  PrimSpec read_prim(const std::string& word, int depth) {
    PrimSpec prim;
    if (word == "over")
      prim.specifier = PrimSpec::Specifier::over;
    else if (word == "class")
      prim.specifier = PrimSpec::Specifier::abstract;
    else if (word != "def")
      refuse(fmt::format("'{}' found where a prim is expected", word));
    skip();
    if (peek() != '"' && peek() != '\'') prim.type = read_word();
    skip();
    if (peek() != '"' && peek() != '\'') refuse("the name of a prim is expected");
    prim.name = read_text(layer_, read_value());
    if (prim.name.empty() || prim.name.find('/') != std::string::npos) refuse("a prim has no usable name");
    read_contents(prim, depth);
    return prim;
  }

  void read_contents(PrimSpec& prim, int depth) {
    if (depth > kDeepest) refuse(fmt::format("nested deeper than {}", kDeepest));
    skip();
    if (peek() == '(') read_metadata(prim.metadata, &prim);
    expect('{', "before the contents of a prim");
    Known known;
    while (!accept('}')) {
      const std::string word = read_word();
      if (word == "def" || word == "over" || word == "class")
        prim.children.push_back(read_prim(word, depth + 1));
      else if (word == "variantSet")
        prim.variant_sets.push_back(read_variants(depth));
      else
        read_property(word, prim, known);
    }
    std::sort(prim.properties.begin(), prim.properties.end(),
              [](const Property& a, const Property& b) { return a.name < b.name; });
  }

  VariantSet read_variants(int depth) {
    VariantSet out;
    skip();
    out.name = read_text(layer_, read_value());
    expect('=', "after the name of a variant set");
    expect('{', "before variants");
    while (!accept('}')) {
      out.variants.emplace_back();
      if (peek() != '"' && peek() != '\'') refuse("the name of a variant is expected");
      out.variants.back().name = read_text(layer_, read_value());
      read_contents(out.variants.back(), depth + 1);
    }
    return out;
  }

  /// Numbers of the properties of a prim, by name.
  using Known = std::unordered_map<std::string, std::size_t>;

  void read_property(std::string word, PrimSpec& prim, Known& known) {
    bool deleted = false;
    while (word == "custom" || word == "uniform" || word == "varying" || word == "config" || word == "prepend" ||
           word == "append" || word == "add" || word == "delete" || word == "reorder") {
      deleted = deleted || word == "delete" || word == "reorder";
      word = read_word();
    }
    if (word == "properties" || word == "nameChildren") {
      expect('=', "in a list of names");
      read_value();
      return;
    }
    if (starts("[]")) {
      at_ += 2;
      word += "[]";
    }
    std::string name = read_word();
    std::string field;
    if (peek() == '.') {
      ++at_;
      field = read_word();
    }
    const auto [entry, is_new] = known.try_emplace(name, prim.properties.size());
    if (is_new) prim.properties.emplace_back().name = std::move(name);
    Property& out = prim.properties[entry->second];  // declared in several statements it is one
    out.type = word;
    skip();
    if (peek() == '=') {
      ++at_;
      read_field(field, deleted, out);
    }
    skip();
    if (peek() == '(') read_metadata(out.metadata, nullptr);
  }

  void read_field(const std::string& field, bool deleted, Property& out) {
    if (field == "timeSamples") return read_samples(out);
    if (field == "spline") refuse(fmt::format("'{}' is animated by a spline, which is not read", out.name));
    const Value value = read_value();
    if (deleted) return;
    if (out.type == "rel" || field == "connect") {
      for (std::string& target : read_texts(layer_, value)) out.targets.push_back(std::move(target));
      return;
    }
    if (value == "None")
      out.value.reset();
    else
      out.value = value;
  }

  void read_samples(Property& out) {
    expect('{', "before time samples");
    out.samples.clear();
    while (!accept('}')) {
      const Value time = read_time();
      expect(':', "after a time code");
      out.samples.emplace_back(read_number(layer_, time), read_value());
      accept(',');
    }
    std::stable_sort(out.samples.begin(), out.samples.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t i = 1; i < out.samples.size(); ++i)
      if (out.samples[i].first == out.samples[i - 1].first)
        refuse(fmt::format("'{}' has two samples at time code {}", out.name, out.samples[i].first));
    std::erase_if(out.samples, [](const auto& sample) { return sample.second == "None"; });
  }

  /// The text of a number, which ends before its colon.
  Value read_time() {
    skip();
    const char* const begin = at_;
    while (at_ != end_ && *at_ != ':' && (is_name_byte(*at_) || *at_ == '.' || *at_ == '-' || *at_ == '+')) ++at_;
    if (at_ == begin) refuse("a time code is expected");
    return {begin, static_cast<std::size_t>(at_ - begin)};
  }

  const Layer& layer_;
  Layer* out_ = nullptr;  // null for a part of a layer
  const char* at_;
  const char* end_;
};

}  // namespace

const Property* PrimSpec::find(std::string_view name_wanted) const {
  const auto found = std::lower_bound(properties.begin(), properties.end(), name_wanted,
                                      [](const Property& p, std::string_view wanted) { return p.name < wanted; });
  return found != properties.end() && found->name == name_wanted ? &*found : nullptr;
}

void Layer::refuse(const std::string& what) const {
  throw Error(ErrorKind::input, fmt::format("{}: {}", name, what));
}

void Layer::refuse_at(const char* place, const std::string& what) const {
  const std::ptrdiff_t line = 1 + std::count(text.data(), place, '\n');
  throw Error(ErrorKind::input, fmt::format("{}: line {}: {}", name, line, what));
}

Layer parse_layer(std::string_view text, const std::string& name) {
  Layer layer;
  layer.name = name;
  layer.text = text;
  Parser(layer).run();
  return layer;
}

std::optional<Value> dictionary_entry(const Layer& layer, Value dictionary, const std::string& key) {
  return Parser(layer, dictionary).find_entry(key);
}

}  // namespace sinew::usd
