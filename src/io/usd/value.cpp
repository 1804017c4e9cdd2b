#include "io/usd/value.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <span>

namespace sinew::usd {
namespace {

/// A number at `at`, which moves past it. Too small for the type is 0, too large is infinite.
template <class T>
T parse_number(const Layer& layer, const char*& at, const char* end) {
  if (at != end && *at == '+') ++at;
  T value = 0;
  const auto [next, status] = std::from_chars(at, end, value);
  if (status == std::errc::invalid_argument) layer.refuse_at(at, "a number is expected");
  if (status == std::errc::result_out_of_range) {
    if constexpr (std::is_same_v<T, std::int64_t>) {
      layer.refuse_at(at, "a number that does not fit");
    } else {
      double wide = 0;
      if (std::from_chars(at, end, wide).ec == std::errc::result_out_of_range) {
        const std::string_view digits(at, static_cast<std::size_t>(next - at));
        const bool tiny = digits.find("e-") != std::string_view::npos || digits.find("E-") != std::string_view::npos;
        wide = tiny ? 0 : std::numeric_limits<double>::infinity();
      }
      value = static_cast<T>(wide);
    }
  }
  if constexpr (std::is_floating_point_v<T>)
    if (!std::isfinite(value)) layer.refuse_at(at, "a number that is not finite");
  at = next;
  return value;
}

/// Calls take(number) for every number of the value.
template <class T, class Take>
void each_number(const Layer& layer, Value value, int width, const Take& take) {
  const char* at = value.data();
  const char* const end = at + value.size();
  int in_tuple = -1;  // numbers since the innermost parenthesis opened; -1 outside
  while (at != end) {
    const char c = *at;
    if (c == ' ' || c == ',' || c == '\n' || c == '\r' || c == '\t' || c == '[' || c == ']') {
      ++at;
    } else if (c == '(') {
      in_tuple = 0;
      ++at;
    } else if (c == ')') {
      if (in_tuple > 0 && in_tuple != width)
        layer.refuse_at(at, fmt::format("{} numbers between parentheses, {} expected", in_tuple, width));
      in_tuple = -1;
      ++at;
    } else if (c == '#') {
      while (at != end && *at != '\n') ++at;
    } else {
      take(parse_number<T>(layer, at, end));
      if (in_tuple >= 0) ++in_tuple;
    }
  }
}

/// The bytes of a quoted string with its escapes resolved.
std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    unsigned code = 0;
    if (c == 'x' && i + 2 < text.size() + 0 &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, code, 16).ptr == text.data() + i + 3) {
      out += static_cast<char>(code);
      i += 2;
    } else {
      out += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
    }
  }
  return out;
}

template <class T>
std::vector<T> all_numbers(const Layer& layer, Value value, int width) {
  std::vector<T> out;
  each_number<T>(layer, value, width, [&](T number) { out.push_back(number); });
  if (width > 0 && out.size() % static_cast<std::size_t>(width) != 0)
    layer.refuse_at(value.data(), fmt::format("{} numbers, a multiple of {} expected", out.size(), width));
  return out;
}

}  // namespace

double read_number(const Layer& layer, Value value) {
  if (value == "true" || value == "True") return 1;
  if (value == "false" || value == "False") return 0;
  const char* at = value.data();
  const char* const end = at + value.size();
  const double out = parse_number<double>(layer, at, end);
  if (at != end) layer.refuse_at(value.data(), fmt::format("'{}' is not a number", value));
  return out;
}

std::vector<float> read_floats(const Layer& layer, Value value, int width) {
  return all_numbers<float>(layer, value, width);
}

std::vector<double> read_doubles(const Layer& layer, Value value, int width) {
  return all_numbers<double>(layer, value, width);
}

std::vector<std::int64_t> read_integers(const Layer& layer, Value value) {
  return all_numbers<std::int64_t>(layer, value, 1);
}

void read_floats(const Layer& layer, Value value, int width, float* out, std::size_t count) {
  std::size_t found = 0;
  each_number<float>(layer, value, width, [&](float number) {
    if (found < count) out[found] = number;
    ++found;
  });
  if (found != count) layer.refuse_at(value.data(), fmt::format("{} numbers, {} expected", found, count));
}

std::string read_text(const Layer& layer, Value value) {
  const auto between = [&](std::size_t quotes) { return value.substr(quotes, value.size() - 2 * quotes); };
  if (value.size() >= 6 && (value.starts_with("\"\"\"") || value.starts_with("'''"))) return unescape(between(3));
  if (value.size() >= 6 && value.starts_with("@@@")) return std::string(between(3));
  if (value.size() >= 2) {
    if (value[0] == '"' || value[0] == '\'') return unescape(between(1));
    if (value[0] == '@' || value[0] == '<') return std::string(between(1));
  }
  layer.refuse_at(value.data(), fmt::format("'{}' found where a text is expected", value.substr(0, 40)));
}

std::vector<std::string> read_texts(const Layer& layer, Value value) {
  std::vector<std::string> out;
  if (value == "None") return out;
  if (!value.starts_with('[')) return {read_text(layer, value)};
  const char* at = value.data() + 1;
  const char* const end = value.data() + value.size();
  while (at != end && *at != ']') {
    if (*at == ' ' || *at == ',' || *at == '\n' || *at == '\r' || *at == '\t') {
      ++at;
      continue;
    }
    if (*at == '#') {
      while (at != end && *at != '\n') ++at;
      continue;
    }
    const char* const begin = at;
    const char closing = *at == '<' ? '>' : *at;
    if (closing != '>' && closing != '"' && closing != '\'' && closing != '@')
      layer.refuse_at(at, "a list of texts is expected");
    const std::string_view left(at, static_cast<std::size_t>(end - at));
    std::string_view triple;
    for (const char* quotes : {"\"\"\"", "'''", "@@@"})
      if (left.starts_with(quotes)) triple = quotes;
    // An empty string is two quotes, not the start of three.
    for (at += triple.empty() ? 1 : 3; at < end; ++at) {
      const std::string_view rest(at, static_cast<std::size_t>(end - at));
      if (*at == '\\' && (closing == '"' || closing == '\''))
        ++at;
      else if (triple.empty() ? *at == closing : rest.starts_with(triple))
        break;
    }
    if (at >= end) layer.refuse_at(begin, "a text has no end");
    at += triple.empty() ? 1 : 3;
    out.push_back(read_text(layer, {begin, static_cast<std::size_t>(at - begin)}));
  }
  return out;
}

}  // namespace sinew::usd
