#include "sinew/io/animation_texture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "io/gltf/write_mesh.h"
#include "io/json_text.h"
#include "sinew/core/bounds.h"
#include "sinew/core/error.h"

namespace sinew {
namespace {

constexpr std::size_t kMostNumbers = std::size_t{1} << 28;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Adds up distances between what is played and what should be.
class Distances {
 public:
  void add(const Eigen::Ref<const Points>& played, const Eigen::Ref<const Points>& wanted) {
    for (Eigen::Index v = 0; v < played.cols(); ++v) {
      const double square = (played.col(v) - wanted.col(v)).cast<double>().squaredNorm();
      if (!std::isfinite(square)) finite_ = false;
      sum_ += square;
      largest_ = std::max(largest_, square);
      ++count_;
    }
  }

  HalfError percent_of(double diagonal) const {
    if (!finite_) return {kInfinity, kInfinity};
    if (count_ == 0 || sum_ == 0) return {};
    const double scale = 100 / std::max(diagonal, std::numeric_limits<double>::min());
    return {scale * std::sqrt(sum_ / static_cast<double>(count_)), scale * std::sqrt(largest_)};
  }

 private:
  double sum_ = 0;
  double largest_ = 0;
  std::size_t count_ = 0;
  bool finite_ = true;
};

/// Where the texels of a frame lie: `texels` of them, in rows of at most `widest`.
struct Grid {
  std::size_t width = 0;
  std::size_t rows = 0;  // per frame

  Grid(std::size_t texels, std::size_t widest)
      : width(std::min(texels, widest)), rows(width == 0 ? 0 : (texels + width - 1) / width) {}
};

void put(std::vector<float>& texels, const Grid& grid, std::size_t first_row, std::size_t i, const Vector3& xyz,
         float w) {
  float* at = texels.data() + 4 * ((first_row + i / grid.width) * grid.width + i % grid.width);
  for (int c = 0; c < 3; ++c) at[c] = xyz[c];
  at[3] = w;
}

/// An empty texture of so many rows for every frame.
ExrImage blank(const Rig& rig, const Grid& grid, std::size_t rows) {
  const std::size_t height = rig.frame_count() * rows;
  if (grid.width == 0 || height == 0) throw Error(ErrorKind::output, "texture: the rig has no frames or no bones");
  if (height > kMostNumbers / (4 * grid.width))
    throw Error(ErrorKind::output,
                fmt::format("texture: {} x {} texels, at most 2^26 are written", grid.width, height));
  ExrImage out{static_cast<int>(grid.width), static_cast<int>(height), false, {}};
  out.texels.assign(4 * grid.width * height, 0);
  return out;
}

void fill_with_bones(const Rig& rig, const Grid& grid, ExrImage& image) {
  for (std::size_t f = 0; f < rig.frame_count(); ++f)
    for (std::size_t b = 0; b < rig.bone_count(); ++b)
      for (int r = 0; r < 3; ++r) {
        const Affine& T = rig.motion(f, b);
        put(image.texels, grid, f * grid.rows, 3 * b + static_cast<std::size_t>(r), T.row(r).head<3>().transpose(),
            T(r, 3));
      }
}

/// Offsets from the rest pose, and below them normals. Returns what half floats cost.
HalfError fill_with_positions(const Rig& rig, const Grid& grid, ExrImage& image) {
  const Points rest_normals = gltf::smooth_normals(rig.rest, triangulate_corners(rig.rest));
  const std::size_t normals = rig.frame_count() * grid.rows;
  Points posed(3, rig.rest.positions.cols());
  Points turned = posed;
  Distances distances;
  for (std::size_t f = 0; f < rig.frame_count(); ++f) {
    pose(rig, f, posed);
    pose_normals(rig, f, rest_normals, turned);
    const Points offsets = posed - rig.rest.positions;
    distances.add(offsets.unaryExpr([](float x) { return rounded_to_half(x); }), offsets);
    for (Eigen::Index v = 0; v < posed.cols(); ++v) {
      put(image.texels, grid, f * grid.rows, static_cast<std::size_t>(v), offsets.col(v), 1);
      put(image.texels, grid, normals + f * grid.rows, static_cast<std::size_t>(v), turned.col(v), 0);
    }
  }
  return distances.percent_of(bounding_box_diagonal(rig.rest.positions));
}

nlohmann::json layout_of(const Rig& rig, const AnimationTextureOptions& options, const Grid& grid,
                         const AnimationTexture& texture) {
  nlohmann::json out{{"version", 1},
                     {"holds", options.positions ? "positions" : "bones"},
                     {"width", texture.image.width},
                     {"height", texture.image.height},
                     {"precision", texture.image.half ? "half" : "float"},
                     {"half_error_percent", std::isfinite(texture.half_error.max_percent)
                                                ? nlohmann::json{{"rms", texture.half_error.rms_percent},
                                                                 {"max", texture.half_error.max_percent}}
                                                : nlohmann::json()},
                     {"rows_per_frame", grid.rows},
                     {"frames", rig.frame_count()},
                     {"up", "+Y"},
                     {"handed", "right"}};
  if (options.positions) {
    out["vertices"] = rig.vertex_count();
    out["texels_per_vertex"] = 1;
    out["relative_to"] = "rest";
    out["first_row_of_normals"] = rig.frame_count() * grid.rows;
  } else {
    out["texels_per_bone"] = 3;
    for (const Bone& bone : rig.bones) out["bones"].push_back({{"name", bone.name}, {"parent", bone.parent}});
  }
  std::vector<Clip> clips = rig.clips;
  if (clips.empty()) clips.push_back({"", 0, rig.frame_count()});
  for (const Clip& clip : clips)
    out["clips"].push_back({{"name", clip.name},
                            {"first_frame", clip.first_frame},
                            {"frames", clip.frames},
                            {"seconds", rig.times[clip.first_frame + clip.frames - 1] - rig.times[clip.first_frame]}});
  const Vector3 low = rig.rest.positions.rowwise().minCoeff();
  const Vector3 high = rig.rest.positions.rowwise().maxCoeff();
  out["rest"] = {{"min", {low.x(), low.y(), low.z()}}, {"max", {high.x(), high.y(), high.z()}}};
  return out;
}

}  // namespace

TexelPrecision texel_precision(std::string_view name) {
  if (name == "auto") return TexelPrecision::automatic;
  if (name == "half") return TexelPrecision::half;
  if (name == "float") return TexelPrecision::full;
  throw Error(ErrorKind::usage, fmt::format("precision {}: expected auto, half or float", name));
}

float rounded_to_half(float value) {
  return static_cast<float>(Eigen::half(value));
}

HalfError half_error_of_bones(const Rig& rig) {
  Rig plain;
  plain.rest.positions = rig.rest.positions;
  plain.bones = rig.bones;
  plain.weights = rig.weights;
  plain.motion = Motion(1, rig.bone_count());
  Points wanted(3, rig.rest.positions.cols());
  Points played = wanted;
  Distances distances;
  for (std::size_t f = 0; f < rig.frame_count(); ++f) {
    for (std::size_t b = 0; b < rig.bone_count(); ++b) plain.motion(0, b) = rig.motion(f, b);
    pose(plain, 0, wanted);
    for (std::size_t b = 0; b < rig.bone_count(); ++b)
      plain.motion(0, b) = rig.motion(f, b).unaryExpr([](float x) { return rounded_to_half(x); });
    pose(plain, 0, played);
    distances.add(played, wanted);
  }
  return distances.percent_of(bounding_box_diagonal(rig.rest.positions));
}

AnimationTexture animation_texture(const Rig& rig, const AnimationTextureOptions& options) {
  if (options.max_width < 1 || options.max_width > 65536)
    throw Error(ErrorKind::usage, fmt::format("texture width {}: expected 1 to 65536", options.max_width));
  if (!(options.max_error >= 0))
    throw Error(ErrorKind::usage, fmt::format("error of half floats {}: expected a number from 0", options.max_error));
  const std::size_t texels = options.positions ? rig.vertex_count() : 3 * rig.bone_count();
  const Grid grid(texels, static_cast<std::size_t>(options.max_width));
  AnimationTexture out;
  out.image = blank(rig, grid, (options.positions ? 2 : 1) * grid.rows);
  if (options.positions) {
    out.half_error = fill_with_positions(rig, grid, out.image);
  } else {
    fill_with_bones(rig, grid, out.image);
    out.half_error = half_error_of_bones(rig);
  }
  const bool fits = std::isfinite(out.half_error.max_percent);
  if (options.precision == TexelPrecision::half && !fits)
    throw Error(ErrorKind::output, "texture: numbers of the rig are larger than a half float holds (65504)");
  out.image.half = options.precision == TexelPrecision::half ||
                   (options.precision == TexelPrecision::automatic && out.half_error.max_percent <= options.max_error);
  out.layout = json_text(layout_of(rig, options, grid, out));
  return out;
}

}  // namespace sinew
