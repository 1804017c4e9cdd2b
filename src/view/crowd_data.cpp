#include "view/crowd_data.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "io/gltf/write_mesh.h"
#include "io/scene/split_mesh.h"
#include "sinew/core/bounds.h"

namespace sinew::crowd {
namespace {

using nlohmann::json;

constexpr int kAttributeSlots = 4;      // influences that go into vertex attributes
constexpr float kSphereMargin = 1.02F;  // for methods and number formats that pose a little differently

/// Vertices of a level as they are drawn: split where normals differ.
struct Drawn {
  std::vector<Index> source;  // vertex of the rig
  std::vector<float> normals;
  std::vector<Index> triangles;
};

Drawn drawn(const Mesh& mesh) {
  Mesh shape;  // seams of textures and colours are not seen in a crowd
  shape.positions = mesh.positions;
  shape.face_sizes = mesh.face_sizes;
  shape.corners = mesh.corners;
  shape.normals = mesh.normals;
  const std::vector<Index> triangulation = triangulate_corners(shape);
  const Points smooth = gltf::smooth_normals(shape, triangulation);
  Drawn out;
  for (const gltf::SplitPiece& piece : gltf::split_pieces(shape, triangulation)) {
    out.source = piece.source;
    for (const auto& [material, corners] : piece.triangles)
      out.triangles.insert(out.triangles.end(), corners.begin(), corners.end());
    if (!shape.normals.empty()) out.normals = gltf::vertex_values(piece.corner, shape.normals, {0, 1, 0});
  }
  if (out.normals.empty())
    for (const Index v : out.source) {
      const Vector3 n = smooth.col(v).stableNormalized();
      out.normals.insert(out.normals.end(), {n.x(), n.y(), n.z()});
    }
  return out;
}

/// The first `slots` influences of each drawn vertex, padded with nothing; `whole`: scaled to sum 1.
json influences_json(const Drawn& vertices, int stored, std::span<const Index> numbers, std::span<const float> values,
                     int slots, bool whole, Arrays& arrays) {
  std::vector<std::uint16_t> out_numbers;
  std::vector<float> out_values;
  for (const Index v : vertices.source) {
    float sum = 0;
    for (int k = 0; k < std::min(slots, stored); ++k) sum += values[v * static_cast<std::size_t>(stored) + k];
    for (int k = 0; k < slots; ++k) {
      const std::size_t at = v * static_cast<std::size_t>(stored) + static_cast<std::size_t>(k);
      out_numbers.push_back(k < stored ? static_cast<std::uint16_t>(numbers[at]) : std::uint16_t{0});
      out_values.push_back(k < stored ? (whole ? values[at] / sum : values[at]) : 0.0F);
    }
  }
  return {{"slots", slots}, {"numbers", arrays.add(out_numbers)}, {"weights", arrays.add(out_values)}};
}

json vector_json(const Vector3& v) {
  return {v.x(), v.y(), v.z()};
}

std::vector<Clip> clips_of(const Rig& rig) {
  return rig.clips.empty() ? std::vector<Clip>{{"", 0, rig.frame_count()}} : rig.clips;
}

}  // namespace

json Arrays::add(std::span<const std::byte> bytes, std::size_t count, const char* type) {
  const std::size_t at = bytes_.size();
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  bytes_.resize((bytes_.size() + 3) / 4 * 4);
  return {{"at", at}, {"count", count}, {"type", type}};
}

Frame frame_of(const Rig& finest) {
  const Vector3 low = finest.rest.positions.rowwise().minCoeff();
  const Vector3 high = finest.rest.positions.rowwise().maxCoeff();
  return {0.5F * (low + high), static_cast<float>(2 / bounding_box_diagonal(finest.rest.positions))};
}

Rig framed(const Rig& rig, const Frame& frame) {
  Rig out;
  out.rest = rig.rest;
  out.rest.positions = frame.scale * (rig.rest.positions.colwise() - frame.center);
  out.bones = rig.bones;
  out.weights = rig.weights;
  out.motion = rig.motion;
  out.times = rig.times;
  out.clips = rig.clips;
  out.two_layer = rig.two_layer;
  for (std::size_t f = 0; f < out.frame_count(); ++f)
    for (std::size_t b = 0; b < out.bone_count(); ++b) {
      Affine& T = out.motion(f, b);
      T.col(3) = frame.scale * (T.col(3) + T.leftCols<3>() * frame.center - frame.center);
    }
  return out;
}

json level_json(const Rig& rig, Arrays& arrays) {
  const Drawn vertices = drawn(rig.rest);
  std::vector<float> positions;
  for (const Index v : vertices.source)
    for (int c = 0; c < 3; ++c) positions.push_back(rig.rest.positions(c, v));
  json out{{"vertices", vertices.source.size()},    {"flat", rig.rest.flat && rig.rest.normals.empty()},
           {"positions", arrays.add(positions)},    {"normals", arrays.add(vertices.normals)},
           {"source", arrays.add(vertices.source)}, {"triangles", arrays.add(vertices.triangles)}};
  const SkinWeights& W = rig.weights;
  json& methods = out["methods"];
  methods["lbs4"] = influences_json(vertices, W.influences, W.bones, W.values, kAttributeSlots, true, arrays);
  const int used = used_influences(W);
  if (used > kAttributeSlots)
    methods["dense"] = influences_json(vertices, W.influences, W.bones, W.values, used, false, arrays);
  if (rig.two_layer) {
    const BlendRows& A = rig.two_layer->coefficients;
    methods["two_layer"] =
        influences_json(vertices, A.slots, A.columns, A.values, std::max(A.slots, kAttributeSlots), false, arrays);
  }
  return out;
}

json virtual_bones_json(const TwoLayer& model, Arrays& arrays) {
  const BlendRows& D = model.dictionary;
  return {{"count", D.row_count()},
          {"slots", D.slots},
          {"numbers", arrays.add(D.columns)},
          {"weights", arrays.add(D.values)}};
}

json clips_json(std::span<const Rig> levels) {
  json out = json::array();
  for (const Clip& clip : clips_of(levels[0])) {
    Vector3 low = Vector3::Constant(std::numeric_limits<float>::max());
    Vector3 high = -low;
    std::vector<Points> posed;
    for (const Rig& rig : levels) {
      Rig skinned = rig;
      skinned.two_layer.reset();
      for (std::size_t f = clip.first_frame; f < clip.first_frame + clip.frames; ++f) {
        posed.emplace_back(3, rig.rest.positions.cols());
        pose(skinned, f, posed.back());
        low = low.cwiseMin(posed.back().rowwise().minCoeff());
        high = high.cwiseMax(posed.back().rowwise().maxCoeff());
      }
    }
    const Vector3 center = 0.5F * (low + high);
    float radius = 0;
    for (const Points& points : posed)
      radius = std::max(radius, (points.colwise() - center).colwise().norm().maxCoeff());
    const std::size_t last = clip.first_frame + clip.frames - 1;
    out.push_back({{"name", clip.name},
                   {"first", clip.first_frame},
                   {"frames", clip.frames},
                   {"seconds", levels[0].times[last] - levels[0].times[clip.first_frame]},
                   {"center", vector_json(center)},
                   {"radius", kSphereMargin * radius},
                   {"floor", low.y()}});
  }
  return out;
}

std::vector<float> texels_of_motion(const Rig& rig) {
  std::vector<float> out;
  out.reserve(12 * rig.frame_count() * rig.bone_count());
  for (std::size_t f = 0; f < rig.frame_count(); ++f)
    for (std::size_t b = 0; b < rig.bone_count(); ++b)
      for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 4; ++c) out.push_back(rig.motion(f, b)(r, c));
  return out;
}

}  // namespace sinew::crowd
