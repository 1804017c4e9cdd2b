#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "io/textures/srgb.h"
#include "sinew/core/error.h"
#include "sinew/io/obj.h"
#include "sinew/io/output_file.h"

namespace sinew {
namespace {

constexpr Index kNone = std::numeric_limits<Index>::max();

/// A part of the file that an `o` or `g` line opens.
struct Section {
  std::string name;
  std::size_t first_face = 0;
  std::size_t vertices_before = 0;  // vertices read when the section was opened
};

/// An index per corner of one attribute, kNone where the file gave none.
struct CornerIndices {
  std::vector<Index> values;
  bool any = false;
  bool all = true;

  void add(Index value) {
    any = any || value != kNone;
    all = all && value != kNone;
    values.push_back(value);
  }
};

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\f' || c == '\v';
}

bool is_line_end(char c) {
  return c == '\n' || c == '\r';
}

/// Reads OBJ text line by line. With `expected` it keeps positions only and compares the faces with that mesh.
class Parser {
 public:
  Parser(std::span<const std::byte> bytes, const std::string& name, const Mesh* expected)
      : text_(reinterpret_cast<const char*>(bytes.data()), bytes.size()), name_(name), expected_(expected) {
    join_continued_lines();
    at_ = text_.data();
    end_ = text_.data() + text_.size();
  }

  void run() {
    for (; at_ != end_; skip_line()) {
      skip_blanks();
      if (at_ == end_) return;
      if (*at_ == 'v')
        read_v();
      else if (*at_ == 'f' && at_ + 1 != end_ && is_blank(at_[1]))
        read_face();
      else if (expected_ == nullptr)
        read_other();
    }
  }

  Mesh mesh();
  Points frame();

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    const std::string_view before = text_.substr(0, static_cast<std::size_t>(at_ - text_.data()));
    std::size_t line = 1;
    for (std::size_t i = 0; i < before.size(); ++i)
      if (before[i] == '\n' || (before[i] == '\r' && (i + 1 == text_.size() || text_[i + 1] != '\n'))) ++line;
    throw Error(ErrorKind::input, fmt::format("{}: line {}: {}", name_, line, what));
  }

  /// A backslash at the end of a line continues it on the next. Blanks take their place, so that offsets stay.
  void join_continued_lines() {
    if (text_.find('\\') == std::string_view::npos) return;
    joined_ = text_;
    for (std::size_t i = 0; i + 1 < joined_.size(); ++i) {
      if (joined_[i] != '\\' || !is_line_end(joined_[i + 1])) continue;
      const bool crlf = joined_[i + 1] == '\r' && i + 2 < joined_.size() && joined_[i + 2] == '\n';
      std::fill_n(joined_.begin() + static_cast<std::ptrdiff_t>(i), crlf ? 3 : 2, ' ');
    }
    text_ = joined_;
  }

  void skip_blanks() {
    while (at_ != end_ && is_blank(*at_)) ++at_;
  }
  void skip_line() {
    while (at_ != end_ && !is_line_end(*at_)) ++at_;
    if (at_ != end_) ++at_;
  }
  bool at_end_of_line() const { return at_ == end_ || is_line_end(*at_) || *at_ == '#'; }

  /// Numbers up to the end of the line, at most N; refuses anything that is not a number.
  template <int N>
  int read_numbers(float (&out)[N], const char* what) {
    int count = 0;
    for (; count < N; ++count) {
      skip_blanks();
      if (at_end_of_line()) break;
      out[count] = read_number(what);
    }
    return count;
  }

  float read_number(const char* what) {
    if (*at_ == '+') ++at_;
    float value = 0;
    auto [next, status] = std::from_chars(at_, end_, value);
    if (status == std::errc::result_out_of_range) {  // too small for float is 0 or denormal, too large becomes infinite
      double wide = 0;
      if (std::from_chars(at_, end_, wide).ec == std::errc::result_out_of_range) {
        const std::string_view digits(at_, static_cast<std::size_t>(next - at_));
        const bool tiny = digits.find("e-") != std::string_view::npos || digits.find("E-") != std::string_view::npos;
        wide = tiny ? 0 : std::numeric_limits<double>::infinity();
      }
      value = static_cast<float>(wide);
    } else if (status != std::errc{}) {
      refuse(fmt::format("{} has something that is not a number", what));
    }
    at_ = next;
    if (at_ != end_ && !is_blank(*at_) && !at_end_of_line())
      refuse(fmt::format("{} has something that is not a number", what));
    return value;
  }

  void read_v() {
    const char kind = at_ + 1 == end_ ? '\0' : at_[1];
    if (is_blank(kind)) {
      ++at_;
      read_position();
    } else if (expected_ != nullptr || at_ + 2 >= end_ || !is_blank(at_[2])) {
      return;
    } else if (kind == 't') {
      at_ += 2;
      float uv[3] = {};
      if (read_numbers(uv, "a vt line") == 0) refuse("a vt line without a number");
      uvs_.insert(uvs_.end(), {uv[0], 1 - uv[1]});
    } else if (kind == 'n') {
      at_ += 2;
      float n[3];
      if (read_numbers(n, "a vn line") != 3) refuse("a vn line needs three numbers");
      normals_.insert(normals_.end(), n, n + 3);
    }
  }

  void read_position() {
    float n[7];
    const int count = read_numbers(n, "a v line");
    if (count < 3) refuse(fmt::format("vertex {} has {} numbers, three are needed", positions_.size() / 3, count));
    if (!std::isfinite(n[0]) || !std::isfinite(n[1]) || !std::isfinite(n[2]))
      refuse(fmt::format("position of vertex {} is not finite", positions_.size() / 3));
    positions_.insert(positions_.end(), n, n + 3);
    if (count < 6 || expected_ != nullptr) return;
    colors_.resize(positions_.size() / 3 * 4 - 4, 1.0F);  // vertices without a colour are white
    for (int i = 3; i < 6; ++i) colors_.push_back(linear_from_srgb(n[i]));
    colors_.push_back(1.0F);
  }

  /// An index as OBJ counts: from 1, or from the end of what was read so far when negative.
  Index read_index(std::size_t count) {
    std::int64_t value = 0;
    const auto [next, status] = std::from_chars(at_, end_, value);
    if (status != std::errc{} || value == 0) refuse(fmt::format("face {} has an index that is not valid", faces_));
    const std::int64_t index = value > 0 ? value - 1 : static_cast<std::int64_t>(count) + value;
    if (index < 0 || index >= kNone) refuse(fmt::format("face {} refers to {}, there are {}", faces_, value, count));
    at_ = next;
    return static_cast<Index>(index);
  }

  void read_face() {
    ++at_;
    Index size = 0;
    for (skip_blanks(); !at_end_of_line(); skip_blanks(), ++size) {
      const Index v = read_index(positions_.size() / 3);
      Index uv = kNone;
      Index normal = kNone;
      if (at_ != end_ && *at_ == '/') {
        ++at_;
        if (at_ != end_ && *at_ != '/') uv = read_index(uvs_.size() / 2);
        if (at_ != end_ && *at_ == '/') {
          ++at_;
          normal = read_index(normals_.size() / 3);
        }
      }
      if (at_ != end_ && !is_blank(*at_) && !at_end_of_line())
        refuse(fmt::format("face {} has an index that is not valid", faces_));
      add_corner(v, uv, normal);
    }
    if (size < 3) refuse(fmt::format("face {} has {} corners, at least 3 are needed", faces_, size));
    end_face(size);
  }

  void add_corner(Index v, Index uv, Index normal) {
    if (expected_ != nullptr) {
      if (corners_ >= expected_->corners.size() || expected_->corners[corners_] != v) note_difference();
    } else {
      out_.corners.push_back(v);
      uv_indices_.add(uv);
      normal_indices_.add(normal);
    }
    ++corners_;
  }

  void end_face(Index size) {
    if (expected_ != nullptr) {
      if (faces_ >= expected_->face_count() || expected_->face_sizes[faces_] != size) note_difference();
    } else {
      out_.face_sizes.push_back(size);
      if (material_ >= 0 || !out_.face_materials.empty()) {
        out_.face_materials.resize(faces_, -1);  // faces before the first usemtl
        out_.face_materials.push_back(material_);
      }
    }
    ++faces_;
  }

  void note_difference() {
    if (!first_difference_) first_difference_ = faces_;
  }

  void read_other() {
    const char* start = at_;
    while (at_ != end_ && !is_blank(*at_) && !is_line_end(*at_)) ++at_;
    const std::string_view keyword(start, static_cast<std::size_t>(at_ - start));
    if (keyword == "usemtl") {
      const std::string material = rest_of_line();
      material_ = -1;
      if (material.empty()) return;
      const auto [entry, added] = material_numbers_.try_emplace(material, static_cast<int>(material_numbers_.size()));
      if (added) out_.appearance.materials.push_back({material, {}});
      material_ = entry->second;
    } else if (keyword == "o") {
      objects_.push_back({rest_of_line(), faces_, positions_.size() / 3});
    } else if (keyword == "g") {
      groups_.push_back({rest_of_line(), faces_, positions_.size() / 3});
    }
  }

  std::string rest_of_line() {
    skip_blanks();
    const char* start = at_;
    while (at_ != end_ && !is_line_end(*at_)) ++at_;
    const char* last = at_;
    while (last != start && is_blank(last[-1])) --last;
    return {start, last};
  }

  void check_counts() const {
    const std::size_t vertices = positions_.size() / 3;
    if (vertices == 0) throw Error(ErrorKind::input, fmt::format("{}: no vertices", name_));
    if (vertices >= kNone || corners_ >= kNone)
      throw Error(ErrorKind::input, fmt::format("{}: {} vertices and {} corners, fewer than 2^32 of each are supported",
                                                name_, vertices, corners_));
  }

  void finish_uvs();
  void finish_normals();
  void finish_colors();
  void finish_pieces();

  std::string_view text_;
  std::string joined_;
  const std::string& name_;
  const Mesh* expected_;
  const char* at_ = nullptr;
  const char* end_ = nullptr;

  Mesh out_;
  std::vector<float> positions_;
  std::vector<float> uvs_;
  std::vector<float> normals_;
  std::vector<float> colors_;  // 4 per vertex, up to the last vertex that has one
  CornerIndices uv_indices_;
  CornerIndices normal_indices_;
  std::size_t faces_ = 0;
  std::size_t corners_ = 0;
  std::optional<std::size_t> first_difference_;
  int material_ = -1;
  std::unordered_map<std::string, int> material_numbers_;
  std::vector<Section> objects_;
  std::vector<Section> groups_;
};

/// Corners without a UV, in a file that has some, get (0, 0).
void Parser::finish_uvs() {
  if (!uv_indices_.any) return;
  CornerAttribute<2> attribute;
  attribute.values = std::move(uvs_);
  attribute.indices = std::move(uv_indices_.values);
  if (!uv_indices_.all) {
    const auto fallback = static_cast<Index>(attribute.values.size() / 2);
    attribute.values.insert(attribute.values.end(), {0.0F, 0.0F});
    std::replace(attribute.indices.begin(), attribute.indices.end(), kNone, fallback);
  }
  out_.uv_sets.push_back(std::move(attribute));
}

/// Normals are kept when every corner has one: those of the others cannot be guessed. Zero ones become +Z.
void Parser::finish_normals() {
  if (!normal_indices_.any || !normal_indices_.all) return;
  for (std::size_t i = 0; i + 2 < normals_.size(); i += 3) {
    Eigen::Map<Vector3> normal(normals_.data() + i);
    if (!normal.allFinite()) continue;  // Mesh::check refuses it
    const Eigen::Vector3d wide = normal.cast<double>();
    const double length = wide.norm();
    normal = length > 0 ? Vector3((wide / length).cast<float>()) : Vector3::UnitZ();
  }
  out_.normals.values = std::move(normals_);
  out_.normals.indices = std::move(normal_indices_.values);
}

void Parser::finish_colors() {
  if (colors_.empty() || out_.corners.empty()) return;
  colors_.resize(positions_.size() / 3 * 4, 1.0F);
  CornerAttribute<4> attribute;
  attribute.values = std::move(colors_);
  attribute.indices = out_.corners;
  out_.color_sets.push_back(std::move(attribute));
}

/// Objects (groups where there are none) become pieces when their faces use separate vertex ranges in file order.
void Parser::finish_pieces() {
  const std::vector<Section>& opened = objects_.empty() ? groups_ : objects_;
  std::vector<Section> sections;  // those that hold faces
  if (!opened.empty() && opened.front().first_face > 0) sections.push_back({"", 0, 0});
  for (std::size_t i = 0; i < opened.size(); ++i) {
    const std::size_t next = i + 1 < opened.size() ? opened[i + 1].first_face : faces_;
    if (next == opened[i].first_face) continue;
    if (objects_.empty() && !sections.empty() && sections.back().name == opened[i].name) continue;
    sections.push_back(opened[i]);
  }
  std::vector<Piece> pieces;
  std::size_t corner = 0;
  std::size_t used = 0;  // one past the last vertex of the pieces so far
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const std::size_t last_face = i + 1 < sections.size() ? sections[i + 1].first_face : faces_;
    Index lowest = kNone;
    Index highest = 0;
    for (std::size_t face = sections[i].first_face; face < last_face; ++face)
      for (Index k = 0; k < out_.face_sizes[face]; ++k, ++corner) {
        lowest = std::min(lowest, out_.corners[corner]);
        highest = std::max(highest, out_.corners[corner]);
      }
    if (lowest < used) return;
    // Vertices that no face uses belong to the section they were written in, where that can be told.
    std::size_t first = lowest;
    if (sections[i].vertices_before >= used && sections[i].vertices_before <= lowest)
      first = sections[i].vertices_before;
    if (i == 0) first = 0;
    pieces.push_back({sections[i].name, static_cast<Index>(first), 0, static_cast<Index>(sections[i].first_face),
                      static_cast<Index>(last_face - sections[i].first_face)});
    used = highest + 1;
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::size_t next = i + 1 < pieces.size() ? pieces[i + 1].first_vertex : positions_.size() / 3;
    pieces[i].vertices = static_cast<Index>(next - pieces[i].first_vertex);
  }
  out_.pieces = std::move(pieces);
}

Mesh Parser::mesh() {
  check_counts();
  const std::size_t vertices = positions_.size() / 3;
  std::size_t face = 0;
  std::size_t left = 0;
  for (const Index v : out_.corners) {
    if (left == 0) left = out_.face_sizes[face++];
    if (v >= vertices)
      throw Error(ErrorKind::input, fmt::format("{}: face {} refers to vertex {}, there are {} vertices", name_,
                                                face - 1, v + std::size_t{1}, vertices));
    --left;
  }
  finish_uvs();
  finish_normals();
  finish_colors();
  finish_pieces();
  out_.positions = ConstPointsMap(positions_.data(), 3, static_cast<Eigen::Index>(vertices));
  out_.check(name_);
  return std::move(out_);
}

Points Parser::frame() {
  check_counts();
  const std::size_t vertices = positions_.size() / 3;
  if (vertices != expected_->vertex_count())
    throw Error(ErrorKind::input,
                fmt::format("{}: {} vertices, the rest mesh has {}", name_, vertices, expected_->vertex_count()));
  if (faces_ != expected_->face_count())
    throw Error(ErrorKind::input,
                fmt::format("{}: {} faces, the rest mesh has {}", name_, faces_, expected_->face_count()));
  if (first_difference_)
    throw Error(ErrorKind::input, fmt::format("{}: face {} is not that of the rest mesh", name_, *first_difference_));
  return ConstPointsMap(positions_.data(), 3, static_cast<Eigen::Index>(vertices));
}

}  // namespace

Mesh parse_obj(std::span<const std::byte> bytes, const std::string& name) {
  Parser parser(bytes, name, nullptr);
  parser.run();
  return parser.mesh();
}

Mesh read_obj(const std::filesystem::path& path) {
  return parse_obj(read_file(path), path.string());
}

Points parse_obj_frame(std::span<const std::byte> bytes, const std::string& name, const Mesh& rest) {
  Parser parser(bytes, name, &rest);
  parser.run();
  return parser.frame();
}

}  // namespace sinew
