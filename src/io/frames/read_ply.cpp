#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>

#include "io/textures/srgb.h"
#include "sinew/core/error.h"
#include "sinew/io/output_file.h"
#include "sinew/io/ply.h"

/// PLY: a header of lines that names elements and their properties, then the values, element after element.
namespace sinew {
namespace {

enum class Type { int8, uint8, int16, uint16, int32, uint32, float32, float64 };

constexpr std::array<std::size_t, 8> kSize{1, 1, 2, 2, 4, 4, 4, 8};

struct PlyProperty {
  std::string_view name;
  Type type = Type::float32;
  std::optional<Type> count;  // of a list
};

struct Element {
  std::string_view name;
  std::size_t count = 0;
  std::vector<PlyProperty> properties;
};

enum class Encoding { ascii, little, big };

/// What vertices can have, in the order of PlyParser::vertex_.
constexpr std::array<std::string_view, 12> kVertexNames{"x",   "y",     "z",    "nx",    "ny", "nz",
                                                        "red", "green", "blue", "alpha", "u",  "v"};

class PlyParser {
 public:
  PlyParser(std::span<const std::byte> bytes, const std::string& name)
      : text_(reinterpret_cast<const char*>(bytes.data()), bytes.size()), name_(name) {}

  Mesh run() {
    read_header();
    bool any = false;
    for (const Element& element : elements_) {
      if (element.name == "vertex" && !any) {
        read_vertices(element);
        any = true;
      } else if (element.name == "face" && out_.face_sizes.empty()) {
        read_faces(element);
      } else {
        skip_element(element);
      }
    }
    if (!any || out_.positions.cols() == 0) refuse("no vertices");
    finish_attributes();
    out_.check(name_);
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorKind::input, fmt::format("{}: {}", name_, what));
  }

  // --- Header.

  std::string_view take_line() {
    const std::size_t end = text_.find_first_of("\r\n", at_);
    if (end == std::string_view::npos) refuse("ends inside of its header");
    const std::string_view line = text_.substr(at_, end - at_);
    at_ = end + 1;
    if (text_[end] == '\r' && at_ < text_.size() && text_[at_] == '\n') ++at_;
    return line;
  }

  static std::vector<std::string_view> words_of(std::string_view line) {
    std::vector<std::string_view> out;
    for (std::size_t i = 0; i < line.size();) {
      const std::size_t end = std::min(line.find_first_of(" \t", i), line.size());
      if (end > i) out.push_back(line.substr(i, end - i));
      i = end + 1;
    }
    return out;
  }

  Type type_of(std::string_view word) const {
    constexpr std::array<std::array<std::string_view, 2>, 8> kNames{{{"char", "int8"},
                                                                     {"uchar", "uint8"},
                                                                     {"short", "int16"},
                                                                     {"ushort", "uint16"},
                                                                     {"int", "int32"},
                                                                     {"uint", "uint32"},
                                                                     {"float", "float32"},
                                                                     {"double", "float64"}}};
    for (std::size_t i = 0; i < kNames.size(); ++i)
      if (word == kNames[i][0] || word == kNames[i][1]) return static_cast<Type>(i);
    refuse(fmt::format("'{}' is not a type of PLY", word));
  }

  void read_format(const std::vector<std::string_view>& words) {
    const std::string_view format = words.size() > 1 ? words[1] : std::string_view();
    if (format == "ascii")
      encoding_ = Encoding::ascii;
    else if (format == "binary_little_endian")
      encoding_ = Encoding::little;
    else if (format == "binary_big_endian")
      encoding_ = Encoding::big;
    else
      refuse(fmt::format("format '{}', expected ascii, binary_little_endian or binary_big_endian", format));
  }

  void read_header() {
    if (take_line() != "ply") refuse("is not a PLY file");
    bool formatted = false;
    while (true) {
      const std::string_view line = take_line();
      const std::vector<std::string_view> words = words_of(line);
      if (words.empty() || words[0] == "comment" || words[0] == "obj_info") continue;
      if (words[0] == "end_header") break;
      if (words[0] == "format") {
        read_format(words);
        formatted = true;
      } else if (words[0] == "element" && words.size() == 3) {
        Element element{words[1], 0, {}};
        const auto [end, status] = std::from_chars(words[2].data(), words[2].data() + words[2].size(), element.count);
        if (status != std::errc{} || end != words[2].data() + words[2].size())
          refuse(fmt::format("'{}' elements of '{}'", words[2], words[1]));
        elements_.push_back(std::move(element));
      } else if (words[0] == "property" && words.size() == 3 && !elements_.empty()) {
        elements_.back().properties.push_back({words[2], type_of(words[1]), std::nullopt});
      } else if (words[0] == "property" && words.size() == 5 && words[1] == "list" && !elements_.empty()) {
        elements_.back().properties.push_back({words[4], type_of(words[3]), type_of(words[2])});
      } else {
        refuse(fmt::format("'{}' is not a line of a PLY header", line.substr(0, 60)));
      }
    }
    if (!formatted) refuse("its header has no format");
  }

  // --- Values.

  template <class T>
  double take_bytes() {
    if (sizeof(T) > text_.size() - at_)
      refuse(fmt::format("ends at byte {}, where {} more are expected", text_.size(), sizeof(T)));
    std::array<char, sizeof(T)> raw{};
    std::memcpy(raw.data(), text_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    const bool native = (encoding_ == Encoding::little) == (std::endian::native == std::endian::little);
    if (!native) std::reverse(raw.begin(), raw.end());
    return static_cast<double>(std::bit_cast<T>(raw));
  }

  double take(Type type) {
    if (encoding_ == Encoding::ascii) return take_word();
    switch (type) {
      case Type::int8:
        return take_bytes<std::int8_t>();
      case Type::uint8:
        return take_bytes<std::uint8_t>();
      case Type::int16:
        return take_bytes<std::int16_t>();
      case Type::uint16:
        return take_bytes<std::uint16_t>();
      case Type::int32:
        return take_bytes<std::int32_t>();
      case Type::uint32:
        return take_bytes<std::uint32_t>();
      case Type::float32:
        return take_bytes<float>();
      case Type::float64:
        break;
    }
    return take_bytes<double>();
  }

  double take_word() {
    constexpr std::string_view kBlank = " \t\r\n";
    at_ = std::min(text_.find_first_not_of(kBlank, at_), text_.size());
    if (at_ == text_.size()) refuse("ends where a number is expected");
    const std::size_t end = std::min(text_.find_first_of(kBlank, at_), text_.size());
    double value = 0;
    const char* const from = text_.data() + at_ + (text_[at_] == '+' ? 1 : 0);
    const auto [last, status] = std::from_chars(from, text_.data() + end, value);
    if (status == std::errc::result_out_of_range)  // too large, or too small to tell from 0
      value = std::strtod(std::string(from, text_.data() + end).c_str(), nullptr);
    else if (status != std::errc{} || last != text_.data() + end)
      refuse(fmt::format("'{}' is not a number", text_.substr(at_, std::min<std::size_t>(end - at_, 40))));
    at_ = end;
    return value;
  }

  std::size_t take_count(Type type) {
    const double count = take(type);
    if (!(count >= 0 && count <= static_cast<double>(text_.size() - at_)))
      refuse(fmt::format("a list of {} values, more than there are bytes", count));
    return static_cast<std::size_t>(count);
  }

  /// Bytes that one element takes at least: counts beyond what is there are refused before memory is taken.
  void check_count(const Element& element) const {
    std::size_t least = 0;
    for (const PlyProperty& property : element.properties)
      least +=
          encoding_ == Encoding::ascii ? 2 : kSize[static_cast<std::size_t>(property.count.value_or(property.type))];
    const std::size_t left = text_.size() - at_ + 1;  // the last number of a text needs no blank after it
    if (least == 0 ? element.count > 0 : element.count > left / least)
      refuse(fmt::format("{} elements of '{}' in {} bytes", element.count, element.name, left - 1));
  }

  void skip_value(const PlyProperty& property) {
    if (!property.count) {
      take(property.type);
      return;
    }
    const std::size_t count = take_count(*property.count);
    for (std::size_t i = 0; i < count; ++i) take(property.type);
  }

  void skip_element(const Element& element) {
    check_count(element);
    for (std::size_t i = 0; i < element.count; ++i)
      for (const PlyProperty& property : element.properties) skip_value(property);
  }

  /// The place in kVertexNames, by any of the names in use.
  static std::size_t place_of(std::string_view name) {
    if (name == "s" || name == "texture_u") name = "u";
    if (name == "t" || name == "texture_v") name = "v";
    return static_cast<std::size_t>(std::find(kVertexNames.begin(), kVertexNames.end(), name) - kVertexNames.begin());
  }

  void read_vertices(const Element& element) {
    check_count(element);
    std::vector<std::size_t> place;
    std::array<Type, kVertexNames.size()> types{};
    for (const PlyProperty& property : element.properties) {
      place.push_back(property.count ? kVertexNames.size() : place_of(property.name));
      if (place.back() == kVertexNames.size()) continue;
      has_[place.back()] = true;
      types[place.back()] = property.type;
    }
    if (!has_[0] || !has_[1] || !has_[2]) refuse("its vertices have no x, y and z");
    if (element.count > 0x7FFFFFFF) refuse(fmt::format("{} vertices are too many", element.count));
    out_.positions.resize(3, static_cast<Eigen::Index>(element.count));
    std::array<double, kVertexNames.size() + 1> value{};
    for (std::size_t v = 0; v < element.count; ++v) {
      for (std::size_t p = 0; p < place.size(); ++p) {
        if (element.properties[p].count)
          skip_value(element.properties[p]);
        else
          value[place[p]] = take(element.properties[p].type);
      }
      for (int i = 0; i < 3; ++i)
        out_.positions(i, static_cast<Eigen::Index>(v)) = static_cast<float>(value[static_cast<std::size_t>(i)]);
      keep_attributes(value, types);
    }
  }

  bool has_all(std::size_t first, std::size_t count) const {
    return std::all_of(has_.begin() + static_cast<std::ptrdiff_t>(first),
                       has_.begin() + static_cast<std::ptrdiff_t>(first + count), [](bool there) { return there; });
  }

  void keep_attributes(const std::array<double, kVertexNames.size() + 1>& value,
                       const std::array<Type, kVertexNames.size()>& types) {
    if (has_all(3, 3))
      for (std::size_t i = 3; i < 6; ++i) normals_.push_back(static_cast<float>(value[i]));
    if (has_all(6, 3))
      for (std::size_t i = 6; i < 10; ++i) {
        const bool whole = types[i] != Type::float32 && types[i] != Type::float64;
        const auto c = static_cast<float>(whole ? value[i] / 255 : value[i]);
        colors_.push_back(i < 9 ? linear_from_srgb(c) : has_[9] ? c : 1.0F);
      }
    if (has_all(10, 2)) uvs_.insert(uvs_.end(), {static_cast<float>(value[10]), static_cast<float>(1 - value[11])});
  }

  void read_faces(const Element& element) {
    check_count(element);
    const auto vertices = static_cast<double>(out_.positions.cols());
    for (std::size_t f = 0; f < element.count; ++f)
      for (const PlyProperty& property : element.properties) {
        const bool corners = property.count && (property.name == "vertex_indices" || property.name == "vertex_index");
        if (!corners) {
          skip_value(property);
          continue;
        }
        const std::size_t count = take_count(*property.count);
        if (count < 3) refuse(fmt::format("face {} has {} corners, at least 3 are needed", f, count));
        for (std::size_t i = 0; i < count; ++i) {
          const double vertex = take(property.type);
          if (!(vertex >= 0 && vertex < vertices))
            refuse(fmt::format("face {} refers to vertex {}, there are {} vertices", f, vertex, vertices));
          out_.corners.push_back(static_cast<Index>(vertex));
        }
        out_.face_sizes.push_back(static_cast<Index>(count));
      }
  }

  /// Values of vertices as values of corners. Normals of no length are left out with all others.
  void finish_attributes() {
    if (out_.corners.empty()) return;
    bool directed = !normals_.empty();
    for (std::size_t i = 0; i + 2 < normals_.size(); i += 3) {
      Eigen::Map<Vector3> normal(normals_.data() + i);
      const double length = normal.cast<double>().norm();
      directed = directed && length > 0 && std::isfinite(length);
      if (directed) normal = (normal.cast<double>() / length).cast<float>();
    }
    if (directed) {
      out_.normals.values = std::move(normals_);
      out_.normals.indices = out_.corners;
    }
    if (!colors_.empty()) out_.color_sets.push_back({"", std::move(colors_), out_.corners});
    if (!uvs_.empty()) out_.uv_sets.push_back({"", std::move(uvs_), out_.corners});
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
  Encoding encoding_ = Encoding::ascii;
  std::vector<Element> elements_;
  std::array<bool, kVertexNames.size()> has_{};
  Mesh out_;
  std::vector<float> normals_;
  std::vector<float> colors_;  // 4 per vertex
  std::vector<float> uvs_;
};

}  // namespace

Mesh parse_ply(std::span<const std::byte> bytes, const std::string& name) {
  return PlyParser(bytes, name).run();
}

Mesh read_ply(const std::filesystem::path& path) {
  return parse_ply(read_file(path), path.string());
}

Points parse_ply_frame(std::span<const std::byte> bytes, const std::string& name, const Mesh& rest) {
  Mesh frame = parse_ply(bytes, name);
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorKind::input, fmt::format("{}: {}", name, what));
  };
  if (frame.vertex_count() != rest.vertex_count())
    refuse(fmt::format("{} vertices, the rest mesh has {}", frame.vertex_count(), rest.vertex_count()));
  if (frame.face_count() != rest.face_count())
    refuse(fmt::format("{} faces, the rest mesh has {}", frame.face_count(), rest.face_count()));
  std::size_t corner = 0;
  for (std::size_t face = 0; face < rest.face_count(); ++face) {
    const Index size = rest.face_sizes[face];
    if (frame.face_sizes[face] != size || !std::equal(rest.corners.begin() + static_cast<std::ptrdiff_t>(corner),
                                                      rest.corners.begin() + static_cast<std::ptrdiff_t>(corner + size),
                                                      frame.corners.begin() + static_cast<std::ptrdiff_t>(corner)))
      refuse(fmt::format("face {} is not that of the rest mesh", face));
    corner += size;
  }
  return std::move(frame.positions);
}

}  // namespace sinew
