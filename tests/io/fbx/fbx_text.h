#pragma once

#include <fmt/format.h>

#include <bit>
#include <string>

#include "io/fbx/tree.h"

/// Binary FBX files as the text that means the same.
namespace sinew::test {

/// "NAME\0\1CLASS" as text spells it: "CLASS::NAME".
inline std::string text_name(std::string_view name) {
  const std::size_t cut = name.find(std::string_view("\x00\x01", 2));
  if (cut == std::string_view::npos) return std::string(name);
  return fmt::format("{}::{}", name.substr(cut + 2), name.substr(0, cut));
}

inline std::string text_of(const fbx::Property& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *whole);
  if (const auto* real = std::get_if<double>(&value)) return fmt::format("{}", *real);
  return fmt::format("\"{}\"", text_name(std::get<std::string_view>(value)));
}

/// Numbers of an array; floats of curve attributes are written as the integers of their bits.
inline std::string array_text(const fbx::Tree& tree, const fbx::Record& record) {
  std::string out;
  std::size_t count = 0;
  for (const double value : tree.doubles(&record, record.name)) {
    const auto narrow = static_cast<float>(value);
    const char type = std::get<fbx::Array>(record.values[0]).type;
    const std::string number = record.name == "KeyAttrDataFloat"
                                   ? fmt::format("{}", std::bit_cast<std::int32_t>(narrow))
                               : type == 'f' ? fmt::format("{}", narrow)
                               : type == 'd' ? fmt::format("{}", value)
                                             : fmt::format("{}", static_cast<std::int64_t>(value));
    out += (count++ > 0 ? "," : "") + number;
  }
  return fmt::format("*{} {{\n\ta: {}\n}}\n", count, out);
}

inline void append_text(const fbx::Tree& tree, const fbx::Record& record, std::string& out) {
  out += fmt::format("{}: ", record.name);
  if (!record.values.empty() && std::holds_alternative<fbx::Array>(record.values[0])) {
    out += array_text(tree, record);
    return;
  }
  for (std::size_t i = 0; i < record.values.size(); ++i) out += (i > 0 ? ", " : "") + text_of(record.values[i]);
  const bool holds = !record.children.empty() || record.name == "AnimationLayer" || record.name == "Properties70";
  if (holds) {
    out += " {\n";
    for (const fbx::Record& child : record.children) append_text(tree, child, out);
    out += "}";
  }
  out += "\n";
}

inline std::string fbx_text(std::span<const std::byte> binary) {
  const fbx::Tree tree = fbx::parse_tree(binary, "FBX");
  std::string out = "; FBX 7.4.0 project file\n";
  for (const fbx::Record& record : tree.root.children)
    if (record.name != "FileId") append_text(tree, record, out);
  return out;
}

}  // namespace sinew::test
