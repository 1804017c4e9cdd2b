#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <string_view>
#include <type_traits>

#include "io/arrays/npy_stream.h"
#include "sinew/core/error.h"

namespace sinew {
namespace {

static_assert(std::endian::native == std::endian::little, "the array readers copy little-endian bytes");

struct Header {
  std::string type;  // as numpy's descr, e.g. "<f4"
  bool column_major = false;
  std::vector<std::size_t> shape;
};

/// Reads the header, a Python literal: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  void parse(Header& header) {
    expect('{');
    bool has_type = false;
    bool has_order = false;
    bool has_shape = false;
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr") {
        header.type = quoted();
        has_type = true;
      } else if (key == "fortran_order") {
        header.column_major = truth();
        has_order = true;
      } else if (key == "shape") {
        header.shape = tuple();
        has_shape = true;
      } else {
        refuse();
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!has_type || !has_order || !has_shape) refuse();
  }

 private:
  [[noreturn]] void refuse() const {
    throw Error(ErrorKind::input, fmt::format("{}: the header of the array is not understood", name_));
  }
  void skip_blanks() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\n')) text_.remove_prefix(1);
  }
  bool accept(char c) {
    skip_blanks();
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) refuse();
  }
  std::string_view quoted() {
    skip_blanks();
    if (text_.empty() || (text_.front() != '\'' && text_.front() != '"')) refuse();
    const std::size_t end = text_.find(text_.front(), 1);
    if (end == std::string_view::npos) refuse();
    const std::string_view inside = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return inside;
  }
  bool truth() {
    skip_blanks();
    for (const auto& [word, value] : {std::pair{std::string_view("True"), true}, {std::string_view("False"), false}})
      if (text_.starts_with(word)) {
        text_.remove_prefix(word.size());
        return value;
      }
    refuse();
  }
  std::vector<std::size_t> tuple() {
    std::vector<std::size_t> sizes;
    expect('(');
    while (!accept(')')) {
      skip_blanks();
      std::size_t size = 0;
      const auto [next, status] = std::from_chars(text_.data(), text_.data() + text_.size(), size);
      if (status != std::errc{} || sizes.size() == 32) refuse();
      text_.remove_prefix(static_cast<std::size_t>(next - text_.data()));
      sizes.push_back(size);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return sizes;
  }

  std::string_view text_;
  const std::string& name_;
};

std::string read_text(Stretch& stretch, std::size_t count, const std::string& name) {
  if (stretch.left() < count)
    throw Error(ErrorKind::input, fmt::format("{}: ends within the header of the array", name));
  std::string text(count, ' ');
  stretch.read(std::as_writable_bytes(std::span(text)));
  return text;
}

Header read_header(Stretch& stretch, const std::string& name) {
  const std::string start = read_text(stretch, std::min<std::size_t>(8, stretch.left()), name);
  if (!start.starts_with("\x93NUMPY") || start.size() < 8)
    throw Error(ErrorKind::input, fmt::format("{}: does not begin as a NumPy array", name));
  const int version = static_cast<unsigned char>(start[6]);
  if (version < 1 || version > 3)
    throw Error(ErrorKind::input, fmt::format("{}: NumPy array format {}, expected 1 to 3", name, version));
  std::size_t length = 0;
  const std::string digits = read_text(stretch, version == 1 ? 2 : 4, name);
  for (std::size_t i = 0; i < digits.size(); ++i) length |= std::size_t{static_cast<unsigned char>(digits[i])} << 8 * i;
  const std::string text = read_text(stretch, length, name);
  Header header;
  HeaderParser(text, name).parse(header);
  return header;
}

/// Number of values of a shape, refusing those that `bytes` does not hold exactly.
std::size_t check_size(const Header& header, std::size_t item, std::size_t bytes, const std::string& name) {
  std::size_t count = 1;
  for (const std::size_t size : header.shape) {
    if (size != 0 && count > std::numeric_limits<std::size_t>::max() / 16 / size)
      throw Error(ErrorKind::input, fmt::format("{}: the shape of the array is larger than any file", name));
    count *= size;
  }
  if (count * item != bytes)
    throw Error(ErrorKind::input,
                fmt::format("{}: {} values of {} bytes expected, {} bytes found", name, count, item, bytes));
  return count;
}

template <class From, class T>
T converted(From value, std::size_t i, const std::string& name) {
  if constexpr (std::is_same_v<From, std::uint64_t> && std::is_same_v<T, std::int64_t>)
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      throw Error(ErrorKind::input, fmt::format("{}: value {} is too large: {}", name, i, value));
  return static_cast<T>(value);  // NOLINT(bugprone-signed-char-misuse): int8 holds numbers, not characters
}

template <class From, class T>
std::vector<T> load_values(Stretch& stretch, const Header& header, const std::string& name) {
  std::vector<T> values(check_size(header, sizeof(From), stretch.left(), name));
  if constexpr (std::is_same_v<From, T>) {
    stretch.read(std::as_writable_bytes(std::span(values)));
  } else {
    std::vector<From> piece(std::min<std::size_t>(values.size(), 1U << 16));
    for (std::size_t i = 0; i < values.size(); i += piece.size()) {
      piece.resize(std::min(piece.size(), values.size() - i));
      stretch.read(std::as_writable_bytes(std::span(piece)));
      for (std::size_t k = 0; k < piece.size(); ++k) values[i + k] = converted<From, T>(piece[k], i + k, name);
    }
  }
  return values;
}

template <class T>
std::vector<T> load_values(Stretch& stretch, const Header& header, const std::string& name) {
  const std::string_view type = header.type;
  if constexpr (std::is_floating_point_v<T>) {
    if (type == "<f4") return load_values<float, T>(stretch, header, name);
    if (type == "<f8") return load_values<double, T>(stretch, header, name);
  }
  if (type == "|i1" || type == "<i1") return load_values<std::int8_t, T>(stretch, header, name);
  if (type == "|u1" || type == "<u1") return load_values<std::uint8_t, T>(stretch, header, name);
  if (type == "<i2") return load_values<std::int16_t, T>(stretch, header, name);
  if (type == "<u2") return load_values<std::uint16_t, T>(stretch, header, name);
  if (type == "<i4") return load_values<std::int32_t, T>(stretch, header, name);
  if (type == "<u4") return load_values<std::uint32_t, T>(stretch, header, name);
  if (type == "<i8") return load_values<std::int64_t, T>(stretch, header, name);
  if (type == "<u8") return load_values<std::uint64_t, T>(stretch, header, name);
  throw Error(ErrorKind::input, fmt::format("{}: values of type '{}', expected little-endian {}", name, type,
                                            std::is_floating_point_v<T> ? "floats or integers" : "integers"));
}

/// Row-major order of column-major values.
template <class T>
std::vector<T> to_row_major(const std::vector<T>& values, const std::vector<std::size_t>& shape) {
  std::vector<T> out(values.size());
  std::vector<std::size_t> at(shape.size(), 0);  // index of the value that is taken, first fastest
  std::vector<std::size_t> stride(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) stride[i - 1] = stride[i] * shape[i];
  for (const T value : values) {
    std::size_t target = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) target += at[i] * stride[i];
    out[target] = value;
    for (std::size_t i = 0; i < shape.size() && ++at[i] == shape[i]; ++i) at[i] = 0;
  }
  return out;
}

}  // namespace

template <class T>
NpyArray<T> parse_npy(Stretch& stretch, const std::string& name) {
  const Header header = read_header(stretch, name);
  NpyArray<T> array{header.shape, load_values<T>(stretch, header, name)};
  if (header.column_major && header.shape.size() > 1) array.values = to_row_major(array.values, array.shape);
  return array;
}

Frames parse_npy_frames(Stretch& stretch, const std::string& name, const Paging& paging) {
  const Header header = read_header(stretch, name);
  const std::vector<std::size_t>& shape = header.shape;
  if (shape.size() != 3 || shape[2] != 3 || shape[0] == 0 || shape[1] == 0)
    throw Error(ErrorKind::input, fmt::format("{}: shape ({}), expected frames × vertices × 3, none of them 0", name,
                                              fmt::join(shape, ", ")));
  if (header.type != "<f4" || header.column_major) {
    std::vector<float> values = load_values<float>(stretch, header, name);
    if (header.column_major) values = to_row_major(values, shape);
    return {shape[0], shape[1], std::move(values)};
  }
  check_size(header, sizeof(float), stretch.left(), name);
  Frames frames(shape[0], shape[1], paging);
  for (std::size_t f = 0; f < shape[0]; ++f) {
    PointsMap frame = frames[f];
    stretch.read(std::as_writable_bytes(std::span(frame.data(), 3 * shape[1])));
  }
  return frames;
}

template <class T>
NpyArray<T> parse_npy(std::span<const std::byte> bytes, const std::string& name) {
  const ByteSource source(bytes);
  Stretch all(source, 0, source.size());
  return parse_npy<T>(all, name);
}

template <class T>
NpyArray<T> read_npy(const std::filesystem::path& path) {
  const ByteSource source(path);
  Stretch all(source, 0, source.size());
  return parse_npy<T>(all, path.string());
}

template NpyArray<float> parse_npy(Stretch&, const std::string&);
template NpyArray<double> parse_npy(Stretch&, const std::string&);
template NpyArray<std::int64_t> parse_npy(Stretch&, const std::string&);
template NpyArray<float> parse_npy(std::span<const std::byte>, const std::string&);
template NpyArray<double> parse_npy(std::span<const std::byte>, const std::string&);
template NpyArray<std::int64_t> parse_npy(std::span<const std::byte>, const std::string&);
template NpyArray<float> read_npy(const std::filesystem::path&);
template NpyArray<double> read_npy(const std::filesystem::path&);
template NpyArray<std::int64_t> read_npy(const std::filesystem::path&);

}  // namespace sinew
