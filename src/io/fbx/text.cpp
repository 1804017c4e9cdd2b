#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "io/fbx/tree.h"

/// FBX as text: records `Name: value, value { children }`, arrays `*count { a: number, ... }`, comments after a
/// semicolon.
namespace sinew::fbx {
namespace {

constexpr int kDeepestText = 64;

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
         c == '+' || c == '.' || c == '|' || c == '#';
}

class AsciiParser {
 public:
  AsciiParser(std::string_view text, Tree& tree) : text_(text), tree_(tree) {}

  void run() {
    skip();
    while (at_ < text_.size()) read_record(tree_.root, 0);
    const Record* const header = tree_.root.find("FBXHeaderExtension");
    const Record* const version = header == nullptr ? nullptr : header->find("FBXVersion");
    if (version == nullptr)
      tree_.refuse("is neither a binary FBX file nor text with FBXHeaderExtension and FBXVersion");
    tree_.version = static_cast<int>(std::clamp<std::int64_t>(version->integer(0), 0, 1 << 30));
    if (tree_.version < 7000 || tree_.version > 7999)
      tree_.refuse(
          fmt::format("FBX version {} as text, expected 7000 to 7700; save it as FBX 2011 or later", tree_.version));
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
    tree_.refuse(fmt::format("line {}: {}", line, what));
  }

  /// To the next character that means something.
  void skip() {
    while (at_ < text_.size()) {
      if (text_[at_] == ';')
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      else if (is_space(text_[at_]))
        ++at_;
      else
        return;
    }
  }

  char peek() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  std::string_view take_word() {
    const std::size_t start = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    return text_.substr(start, at_ - start);
  }

  void expect(char c, const char* what) {
    if (peek() != c) refuse(fmt::format("expected {}", what));
    ++at_;
  }

  void read_record(Record& parent, int depth) {
    if (depth > kDeepestText) refuse(fmt::format("records are more than {} deep", kDeepestText));
    Record record;
    record.name = take_word();
    if (record.name.empty()) refuse("expected the name of a record");
    if (at_ >= text_.size() || text_[at_] != ':') refuse(fmt::format("expected a colon after '{}'", record.name));
    ++at_;
    read_values(record);
    if (peek() == '{') {
      ++at_;
      while (peek() != '}') {
        if (at_ >= text_.size()) refuse(fmt::format("ends inside of '{}'", record.name));
        read_record(record, depth + 1);
      }
      ++at_;
    }
    skip();
    parent.children.push_back(std::move(record));
  }

  /// Values up to the end of the line; after a comma they go on in the next one.
  void read_values(Record& record) {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    if (at_ >= text_.size() || text_[at_] == '\r' || text_[at_] == '\n') return;
    while (peek() != '{' && peek() != '}' && peek() != '\0') {
      record.values.push_back(read_value());
      if (peek() != ',') return;
      ++at_;
    }
  }

  Property read_value() {
    const char c = peek();
    if (c == '"') return read_text();
    if (c == '*') return read_array();
    if (c == ',' || !is_word(c)) {
      if (c == ',') return std::string_view();  // a value left out
      refuse(fmt::format("expected a value, found '{}'", c >= ' ' && c <= '~' ? c : '?'));
    }
    const std::string_view word = take_word();
    if (word.front() == '-' || word.front() == '+' || word.front() == '.' ||
        (word.front() >= '0' && word.front() <= '9')) {
      return number(word);
    }
    return word;
  }

  Property number(std::string_view word) const {
    if (word.front() == '+') word.remove_prefix(1);
    std::int64_t integer = 0;
    const char* const end = word.data() + word.size();
    if (const auto [last, status] = std::from_chars(word.data(), end, integer); status == std::errc{} && last == end)
      return integer;
    double real = 0;
    const auto [last, status] = std::from_chars(word.data(), end, real);
    if (status == std::errc::result_out_of_range) return word.find("e-") != std::string_view::npos ? 0.0 : HUGE_VAL;
    if (status != std::errc{} || last != end) refuse(fmt::format("'{}' is not a number", word));
    return real;
  }

  std::string_view read_text() {
    ++at_;
    const std::size_t end = text_.find('"', at_);
    if (end == std::string_view::npos) refuse("text that does not end");
    const std::string_view text = text_.substr(at_, end - at_);
    at_ = end + 1;
    if (text.find("&quot;") == std::string_view::npos) return text;
    std::string plain;
    for (std::size_t i = 0; i < text.size();) {
      const bool quote = text.substr(i, 6) == "&quot;";
      plain += quote ? '"' : text[i];
      i += quote ? 6 : 1;
    }
    tree_.owned.push_back(std::make_unique<std::string>(std::move(plain)));
    return *tree_.owned.back();
  }

  /// *count { a: numbers }; the numbers there are count, not the promise.
  Array read_array() {
    ++at_;
    take_word();
    expect('{', "'{' after the size of an array");
    skip();
    if (take_word() != "a") refuse("expected 'a:' in an array");
    expect(':', "a colon after 'a'");
    auto values = std::make_shared<std::vector<double>>();
    while (peek() != '}') {
      const std::string_view word = take_word();
      if (word.empty()) refuse("expected a number of an array");
      const Property value = number(word);
      values->push_back(std::holds_alternative<double>(value) ? std::get<double>(value)
                                                              : static_cast<double>(std::get<std::int64_t>(value)));
      if (peek() == ',') ++at_;
    }
    ++at_;
    Array out;
    out.count = values->size();
    out.numbers = std::move(values);
    return out;
  }

  std::string_view text_;
  Tree& tree_;
  std::size_t at_ = 0;
};

}  // namespace

Tree parse_ascii_tree(std::string_view text, const std::string& file) {
  Tree tree;
  tree.file = file;
  tree.ascii = true;
  if (text.find('\0') != std::string_view::npos || text.find("FBX") == std::string_view::npos)
    tree.refuse("is not an FBX file");
  AsciiParser(text, tree).run();
  return tree;
}

}  // namespace sinew::fbx
