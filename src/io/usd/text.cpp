#include "io/usd/text.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <cstring>

namespace sinew::usd {

Text& Text::operator<<(std::string_view text) {
  if (buffer_.size() - used_ < text.size()) flush();
  if (text.size() > buffer_.size()) {
    sink_(text);
    return *this;
  }
  std::memcpy(buffer_.data() + used_, text.data(), text.size());
  used_ += text.size();
  return *this;
}

void Text::flush() {
  sink_({buffer_.data(), used_});
  used_ = 0;
}

void Text::finish() {
  *this << "\n";
  flush();
}

Text& Text::code(double value) {
  const double size = std::abs(value);
  if (size != 0 && (size < 1e-6 || size > 1e15)) return number(value);
  char digits[kLongestNumber];
  return *this << std::string_view(
             digits, static_cast<std::size_t>(
                         std::to_chars(digits, digits + sizeof digits, value, std::chars_format::fixed).ptr - digits));
}

Text& Text::quoted(std::string_view value) {
  *this << "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\')
      *this << "\\" << std::string_view(&c, 1);
    else if (c == '\n')
      *this << "\\n";
    else if (static_cast<unsigned char>(c) < 32 || c == 127)
      *this << fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      *this << std::string_view(&c, 1);
  }
  return *this << "\"";
}

Text& Text::tokens(const std::vector<std::string>& values) {
  *this << "[";
  for (std::size_t i = 0; i < values.size(); ++i) (i == 0 ? *this : *this << ", ").quoted(values[i]);
  return *this << "]";
}

Text& Text::line() {
  *this << "\n";
  for (std::size_t i = 0; i < depth_; ++i) *this << "    ";
  return *this;
}

void Text::metadata(const std::vector<std::string>& entries) {
  if (entries.empty()) return;
  *this << " (";
  ++depth_;
  for (const std::string& entry : entries) line() << entry;
  --depth_;
  line() << ")";
}

void Text::open_prim(std::string_view type, std::string_view name, const std::vector<std::string>& metadata_lines) {
  *this << "\n";
  line() << "def " << type << " \"" << name << "\"";
  metadata(metadata_lines);
  line() << "{";
  ++depth_;
}

void Text::close_prim() {
  --depth_;
  line() << "}";
}

void Text::samples(std::string_view declaration, std::span<const double> codes,
                   const std::function<void(std::size_t)>& value) {
  line() << declaration << ".timeSamples = {";
  ++depth_;
  for (std::size_t f = 0; f < codes.size(); ++f) {
    line().code(codes[f]) << ": ";
    value(f);
    *this << ",";
  }
  --depth_;
  line() << "}";
}

std::string Identifiers::take(std::string_view wanted, std::string_view fallback) {
  std::string name;
  for (const char c : wanted.empty() ? fallback : wanted)
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  if (std::isdigit(static_cast<unsigned char>(name[0])) != 0) name.insert(name.begin(), '_');
  std::string candidate = name;
  for (int suffix = 2; !taken_.insert(candidate).second; ++suffix) candidate = fmt::format("{}_{}", name, suffix);
  return candidate;
}

}  // namespace sinew::usd
