#include <fmt/format.h>

#include <algorithm>

#include "io/arrays/npz_members.h"
#include "sinew/io/blendshapes.h"

namespace sinew {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

/// Code points of UTF-8; bytes that are none become U+FFFD.
std::vector<char32_t> code_points(const std::string& text) {
  std::vector<char32_t> out;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i++]);
    const int more = lead < 0x80 ? 0 : lead >= 0xF0 && lead < 0xF8 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC0 ? 1 : -1;
    char32_t point = more < 0 || lead >= 0xF8 ? kReplacement : more == 0 ? lead : lead & (0x3FU >> more);
    for (int n = 0; n < more && point != kReplacement; ++n) {
      const auto next = i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
      point = (next & 0xC0U) == 0x80 ? point << 6 | (next & 0x3FU) : kReplacement;
      if (point != kReplacement) ++i;
    }
    const bool none = point > 0x10FFFF || (point >= 0xD800 && point < 0xE000);
    out.push_back(none ? kReplacement : point);
  }
  return out;
}

/// Texts as NumPy has them: as many code points each as the longest has, padded with zeros.
struct Texts {
  std::size_t width = 1;
  std::vector<char32_t> points;

  explicit Texts(const std::vector<std::string>& all) {
    std::vector<std::vector<char32_t>> rows;
    for (const std::string& text : all) {
      rows.push_back(code_points(text));
      width = std::max(width, rows.back().size());
    }
    for (const auto& row : rows) {
      points.insert(points.end(), row.begin(), row.end());
      points.insert(points.end(), width - row.size(), 0);
    }
  }
  std::string type() const { return fmt::format("<U{}", width); }
};

}  // namespace

SliderEntries entries_of(const SliderMap& map) {
  SliderEntries out;
  for (const SliderMap::Entry& entry : map.entries) {
    out.bones.push_back(entry.bone);
    out.sliders.push_back(entry.slider);
    out.by.insert(out.by.end(), entry.by.begin(), entry.by.begin() + static_cast<std::ptrdiff_t>(map.width()));
  }
  return out;
}

void write_sliders_npz(const std::filesystem::path& path, const Rig& rig, const SliderMap& map,
                       const Eigen::MatrixXf& values) {
  std::vector<std::string> bone_names;
  std::vector<float> heads;
  for (const Bone& bone : rig.bones) {
    bone_names.push_back(bone.name);
    heads.insert(heads.end(), bone.head.data(), bone.head.data() + 3);
  }
  const SliderEntries entries = entries_of(map);
  const Texts slider_texts(map.names);
  const Texts bone_texts(bone_names);
  const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> rows = values;
  const auto frames = static_cast<std::size_t>(rows.rows());
  NpzMembers out;
  out.add("sliders", slider_texts.type(), {map.names.size()}, std::span<const char32_t>(slider_texts.points));
  out.add("bones", bone_texts.type(), {bone_names.size()}, std::span<const char32_t>(bone_texts.points));
  out.add("heads", "<f4", {bone_names.size(), 3}, std::span<const float>(heads));
  out.add("entry_bone", "<u4", {map.entries.size()}, std::span<const Index>(entries.bones));
  out.add("entry_slider", "<u4", {map.entries.size()}, std::span<const Index>(entries.sliders));
  out.add("entry_by", "<f4", {map.entries.size(), map.width()}, std::span<const float>(entries.by));
  out.add("values", "<f4", {frames, static_cast<std::size_t>(rows.cols())},
          std::span<const float>(rows.data(), static_cast<std::size_t>(rows.size())));
  out.add("times", "<f8", {rig.times.size()}, std::span<const double>(rig.times));
  out.write(path);
}

}  // namespace sinew
