#pragma once

#include <charconv>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinew::usd {

/// Text of a layer while it is written, laid out as usdcat does: one property per line, four blanks per level. Numbers
/// have the shortest form that reads back as the same number. What is written goes to `sink` in large pieces, so that a
/// long sequence is never held whole.
class Text {
 public:
  using Sink = std::function<void(std::string_view)>;
  explicit Text(Sink sink) : sink_(std::move(sink)), buffer_(kCapacity) {}

  Text& operator<<(std::string_view text);
  template <class T>
  Text& number(T value) {
    if (buffer_.size() - used_ < kLongestNumber) flush();
    used_ = static_cast<std::size_t>(std::to_chars(buffer_.data() + used_, buffer_.data() + buffer_.size(), value).ptr -
                                     buffer_.data());
    return *this;
  }
  /// A time code: without an exponent where that is short, since some readers know no other.
  Text& code(double value);
  /// (a, b, c)
  template <class T>
  Text& tuple(const T* values, int width) {
    *this << "(";
    for (int i = 0; i < width; ++i) (i == 0 ? *this : *this << ", ").number(values[i]);
    return *this << ")";
  }
  /// [a, b] where width is 1, else [(a, b), (c, d)]
  template <class T>
  Text& array(std::span<const T> values, int width = 1) {
    *this << "[";
    const auto step = static_cast<std::size_t>(width);
    for (std::size_t i = 0; i + step <= values.size(); i += step) {
      if (i > 0) *this << ", ";
      if (width == 1)
        number(values[i]);
      else
        tuple(values.data() + i, width);
    }
    return *this << "]";
  }
  /// ["a", "b"]
  Text& tokens(const std::vector<std::string>& values);
  /// A quoted string on one line.
  Text& quoted(std::string_view value);

  /// Starts a line at the present depth.
  Text& line();
  /// def TYPE "NAME" ( METADATA ) {, each entry of `metadata` a line of its own.
  void open_prim(std::string_view type, std::string_view name, const std::vector<std::string>& metadata = {});
  void close_prim();
  /// ( interpolation = ... ) after a value.
  void metadata(const std::vector<std::string>& entries);
  /// TYPE NAME.timeSamples = { code: value, ... }: `value(f)` writes that of one frame.
  void samples(std::string_view declaration, std::span<const double> codes,
               const std::function<void(std::size_t)>& value);
  void finish();

 private:
  static constexpr std::size_t kCapacity = std::size_t{1} << 18;
  static constexpr std::size_t kLongestNumber = 64;

  void flush();

  Sink sink_;
  std::vector<char> buffer_;
  std::size_t used_ = 0;
  std::size_t depth_ = 0;
};

/// Names that a path accepts, each given once: letters, digits and '_', not starting with a digit.
class Identifiers {
 public:
  std::string take(std::string_view wanted, std::string_view fallback);

 private:
  std::set<std::string> taken_;
};

}  // namespace sinew::usd
