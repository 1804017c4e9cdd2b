#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sinew::fbx {

/// Numbers of an array property, taken apart when they are asked for. Binary: `count` numbers of `type` (one of bcdfil)
/// in bytes of the file, deflated or not. ASCII: numbers already read.
struct Array {
  char type = 'd';
  std::size_t count = 0;
  bool deflated = false;
  std::span<const std::byte> bytes;
  std::shared_ptr<const std::vector<double>> numbers;
};

/// One property of a record: a number, text (or raw bytes), or an array.
using Property = std::variant<std::int64_t, double, std::string_view, Array>;

/// A record of the tree that every FBX file is. Text belongs to the file's bytes or to the tree.
struct Record {
  std::string_view name;
  std::vector<Property> values;
  std::vector<Record> children;

  /// The first child of that name, or null.
  const Record* find(std::string_view child) const;
  /// Properties as what they are meant to be; `otherwise` where they are missing or something else.
  std::string_view text(std::size_t i, std::string_view otherwise = {}) const;
  double number(std::size_t i, double otherwise = 0) const;
  std::int64_t integer(std::size_t i, std::int64_t otherwise = 0) const;
};

/// A file as a tree.
struct Tree {
  std::string file;  // stands for it in sentences
  int version = 0;   // 7400
  bool ascii = false;
  Record root;
  std::vector<std::unique_ptr<std::string>> owned;  // text that the file spells differently

  [[noreturn]] void refuse(const std::string& sentence) const;

  /// Numbers of an array property, or of the plain numbers of a record (ASCII of some writers); empty when there is no
  /// such record. `where` names it in sentences.
  std::vector<double> doubles(const Record* record, std::string_view where) const;
  std::vector<std::int64_t> integers(const Record* record, std::string_view where) const;
};

/// Reads binary files of version 7100 to 7700 and ASCII ones of version 7. Counts, sizes and places are checked against
/// the bytes there are, and records nest at most 64 deep. `bytes` must outlive the tree. Throws Error{input}.
Tree parse_tree(std::span<const std::byte> bytes, const std::string& file);

/// The part of parse_tree for text.
Tree parse_ascii_tree(std::string_view text, const std::string& file);

}  // namespace sinew::fbx
