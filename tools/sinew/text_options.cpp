#include "text_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "sinew/core/error.h"

namespace sinew::tool {

std::string one_of(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  return text;
}

void parse_frames(const std::string& text, ReadOptions& options) {
  const std::array<std::size_t*, 3> fields{&options.first_frame, &options.last_frame, &options.frame_step};
  const auto refuse = [&] {
    throw Error(ErrorKind::usage, fmt::format("--frames {}: expected A:B or A:B:STEP, frames A to B-1 from 0", text));
  };
  std::size_t field = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    if (at != end && *at != ':') {
      const auto [next, failure] = std::from_chars(at, end, *fields[field]);
      if (failure != std::errc{}) refuse();
      at = next;
    }
    if (at == end) break;
    if (*at != ':' || ++field == fields.size()) refuse();
    ++at;
  }
  if (field == 0 || options.frame_step == 0) refuse();
}

int parse_influences(const std::string& text) {
  if (text == "all") return 0;
  int number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc{} || end != text.data() + text.size() || number < 1 || number > 99999)
    throw Error(ErrorKind::usage, fmt::format("--influences {}: expected a number from 1 up, or 'all'", text));
  return number;
}

namespace {

/// The number in a text, if it is one.
std::optional<double> number_in(const std::string& text) {
  double number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc{} || end != text.data() + text.size() || !std::isfinite(number)) return std::nullopt;
  return number;
}

}  // namespace

void misused(const std::string& sentence) {
  throw Error(ErrorKind::usage, sentence);
}

std::string above_zero(const std::string& text) {
  const std::optional<double> number = number_in(text);
  return number && *number > 0 ? "" : fmt::format("{} is not a number above 0", text);
}

std::string not_negative(const std::string& text) {
  const std::optional<double> number = number_in(text);
  return number && *number >= 0 ? "" : fmt::format("{} is not a number from 0 up", text);
}

Check in_range(int least, int most) {
  return [least, most](const std::string& text) {
    int number = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool whole = failure == std::errc{} && end == text.data() + text.size();
    if (whole && number >= least && number <= most) return std::string();
    return fmt::format("{} is not a whole number from {} to {}", text, least, most);
  };
}

Check in_range(double least, double most) {
  return [least, most](const std::string& text) {
    const std::optional<double> number = number_in(text);
    if (number && *number >= least && *number <= most) return std::string();
    return fmt::format("{} is not a number from {} to {}", text, least, most);
  };
}

std::string not_among(const std::vector<std::string>& words, const std::string& text) {
  if (std::find(words.begin(), words.end(), text) != words.end()) return "";
  return fmt::format("{} is expected, not {}", one_of(words), text.empty() ? "nothing" : text);
}

CLI::Validator word_of(std::vector<std::string> words) {
  std::string all = fmt::format("{}", fmt::join(words, "|"));
  return {[words = std::move(words)](std::string& text) { return not_among(words, text); }, std::move(all)};
}

std::uint64_t parse_size(const std::string& option, const std::string& text) {
  const auto refuse = [&] {
    throw Error(ErrorKind::usage,
                fmt::format("{} {}: expected a number of bytes, or one with K, M, G or T", option, text));
  };
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, number);
  if (failure != std::errc{} || !std::isfinite(number) || number < 0) refuse();
  double unit = 1;
  if (rest != end) {
    const std::size_t power = std::string_view("KMGT").find(static_cast<char>(std::toupper(*rest)));
    if (power == std::string_view::npos || rest + 1 != end) refuse();
    unit = std::exp2(10.0 * static_cast<double>(power + 1));
  }
  if (number * unit >= 0x1p63) refuse();
  return static_cast<std::uint64_t>(number * unit);
}

}  // namespace sinew::tool
