#include "sinew/rework/bounds.h"

#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "core/index.h"
#include "math/parallel.h"
#include "sinew/core/error.h"

namespace sinew {
namespace {

constexpr std::uint32_t kLeaf = 4;  // triangles

using Weights = std::vector<std::pair<std::uint32_t, double>>;  // of a vertex over bones, ascending

/// The weights that pose each vertex: of its one layer, or of its two multiplied out.
std::vector<Weights> posing_weights(const Rig& rig) {
  std::vector<Weights> out(rig.vertex_count());
  for (std::size_t v = 0; v < out.size(); ++v) {
    std::map<std::uint32_t, double> sum;
    if (!rig.two_layer) {
      const auto slots = at(rig.weights.influences);
      for (std::size_t k = v * slots; k < (v + 1) * slots; ++k)
        if (rig.weights.values[k] != 0) sum[rig.weights.bones[k]] += static_cast<double>(rig.weights.values[k]);
    } else {
      const BlendRows& top = rig.two_layer->coefficients;
      const BlendRows& below = rig.two_layer->dictionary;
      for (std::size_t k = v * at(top.slots); k < (v + 1) * at(top.slots); ++k)
        for (std::size_t j = top.columns[k] * at(below.slots); j < (top.columns[k] + 1) * at(below.slots); ++j)
          sum[below.columns[j]] += static_cast<double>(top.values[k]) * static_cast<double>(below.values[j]);
    }
    out[v].assign(sum.begin(), sum.end());
    std::erase_if(out[v], [](const auto& entry) { return entry.second == 0; });
  }
  return out;
}

/// Middle and half size of a box in float that holds what it is to hold.
void write_box(const Eigen::AlignedBox3f& box, float* middle, float* half) {
  for (int k = 0; k < 3; ++k) {
    const double low = static_cast<double>(box.min()[k]);
    const double high = static_cast<double>(box.max()[k]);
    middle[k] = static_cast<float>((low + high) / 2);
    const double reach = std::max(high - static_cast<double>(middle[k]), static_cast<double>(middle[k]) - low);
    half[k] = std::nextafter(static_cast<float>(reach), std::numeric_limits<float>::infinity());
  }
}

class Builder {
 public:
  explicit Builder(const Rig& rig) : rig_(rig), triangles_(triangles_of(rig.rest)), weights_(posing_weights(rig)) {
    order_.resize(triangles_.size() / 3);
    for (std::size_t t = 0; t < order_.size(); ++t) order_[t] = static_cast<std::uint32_t>(t);
    out_.corrections = rig.corrections ? rig.corrections->rank() : 0;
    if (!order_.empty()) build(0, static_cast<std::uint32_t>(order_.size()));
    out_.numbers = order_;
    for (const std::uint32_t t : order_)
      for (std::size_t i = 0; i < 3; ++i) out_.corners.push_back(triangles_[3 * t + i]);
  }

  BoundsTree take() { return std::move(out_); }

 private:
  float centre(std::uint32_t t, Eigen::Index axis) const {
    float sum = 0;
    for (std::size_t i = 0; i < 3; ++i) sum += rig_.rest.positions(axis, triangles_[3 * std::size_t{t} + i]);
    return sum;
  }

  std::vector<Index> vertices_of(std::uint32_t first, std::uint32_t last) const {
    std::vector<Index> out;
    for (std::uint32_t t = first; t < last; ++t)
      for (std::size_t i = 0; i < 3; ++i) out.push_back(triangles_[3 * std::size_t{order_[t]} + i]);
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

  /// Mean and spread of the weights on each bone, and the rest boxes of the vertices that follow it.
  void add_follows(const std::vector<Index>& vertices, sinew_tree_node& node) {
    struct Sum {
      double low = 0, high = 0, total = 0;
      std::size_t count = 0;
      Eigen::AlignedBox3f box;
    };
    std::map<std::uint32_t, Sum> sums;
    node.convex = 1;
    for (const Index v : vertices)
      for (const auto& [bone, weight] : weights_[v]) {
        const auto [entry, fresh] = sums.try_emplace(bone, Sum{weight, weight, 0, 0, {}});
        entry->second.low = std::min(entry->second.low, weight);
        entry->second.high = std::max(entry->second.high, weight);
        entry->second.total += weight;
        ++entry->second.count;
        entry->second.box.extend(rig_.rest.positions.col(v));
        if (weight < 0) node.convex = 0;
      }
    for (auto& [bone, sum] : sums) {
      if (sum.count == vertices.size()) continue;
      sum.low = std::min(sum.low, 0.0);  // the others follow it with weight none
      sum.high = std::max(sum.high, 0.0);
    }
    node.first_follow = static_cast<std::uint32_t>(out_.follows.size());
    node.follows = static_cast<std::uint32_t>(sums.size());
    for (const auto& [bone, sum] : sums) {
      sinew_tree_follow follow{};
      follow.bone = bone;
      follow.weight = static_cast<float>(sum.total / static_cast<double>(vertices.size()));
      const double away =
          std::max(sum.high - static_cast<double>(follow.weight), static_cast<double>(follow.weight) - sum.low);
      follow.spread = away < 1e-6 ? 1e-6F : static_cast<float>(away * (1 + 1e-6));
      write_box(sum.box, follow.middle, follow.half);
      out_.follows.push_back(follow);
    }
  }

  std::uint32_t build(std::uint32_t first, std::uint32_t last) {
    const auto number = static_cast<std::uint32_t>(out_.nodes.size());
    const std::vector<Index> vertices = vertices_of(first, last);
    Eigen::AlignedBox3f box;
    for (const Index v : vertices) box.extend(rig_.rest.positions.col(v));
    sinew_tree_node node{};
    node.first_triangle = first;
    node.triangles = last - first;
    write_box(box, node.middle, node.half);
    add_follows(vertices, node);
    out_.nodes.push_back(node);
    for (std::size_t r = 0; r < out_.corrections; ++r) {
      Eigen::AlignedBox3f moves;
      for (const Index v : vertices) moves.extend(rig_.corrections->offsets[r].col(v));
      out_.shifts.resize(out_.shifts.size() + 6);
      write_box(moves, out_.shifts.data() + out_.shifts.size() - 6, out_.shifts.data() + out_.shifts.size() - 3);
    }
    if (last - first <= kLeaf) return number;
    Eigen::Index axis = 0;
    box.sizes().maxCoeff(&axis);
    const std::uint32_t middle = first + (last - first) / 2;
    std::nth_element(order_.begin() + first, order_.begin() + middle, order_.begin() + last,
                     [&](std::uint32_t a, std::uint32_t b) {
                       return std::pair(centre(a, axis), a) < std::pair(centre(b, axis), b);
                     });
    build(first, middle);
    const std::uint32_t right = build(middle, last);
    out_.nodes[number].right = right;
    return number;
  }

  const Rig& rig_;
  std::vector<Index> triangles_;
  std::vector<Weights> weights_;
  std::vector<std::uint32_t> order_;
  BoundsTree out_;
};

template <class T>
GltfArray array_of(const char* name, const std::vector<T>& values, GltfArray::Component component, int width) {
  GltfArray out;
  out.name = name;
  out.component = component;
  out.width = width;
  const auto bytes = std::as_bytes(std::span(values));
  out.bytes.assign(bytes.begin(), bytes.end());
  return out;
}

/// Numbers of an array of an extension, as many as it has.
template <class T>
std::vector<T> numbers_of(const GltfExtension& extension, const char* name, GltfArray::Component component,
                          const std::string& file) {
  for (const GltfArray& array : extension.arrays) {
    if (array.name != name || array.component != component || array.bytes.size() % sizeof(T) != 0) continue;
    std::vector<T> out(array.bytes.size() / sizeof(T));
    std::memcpy(out.data(), array.bytes.data(), array.bytes.size());
    return out;
  }
  throw Error(ErrorKind::input,
              fmt::format("{}: {} has no array '{}' of the right kind", file, kBoundsExtension, name));
}

constexpr std::size_t kNodeIntegers = 6;
constexpr std::size_t kNodeFloats = 6;
constexpr std::size_t kFollowFloats = 8;

}  // namespace

std::vector<ClipBounds> clip_bounds(const Rig& rig, int threads) {
  if (rig.frame_count() == 0) throw Error(ErrorKind::input, "bounds: the rig has no frames");
  std::vector<Bounds> frames(rig.frame_count());
  parallel_for(frames.size(), 1, threads, [&](std::size_t begin, std::size_t end) {
    Points posed(3, rig.rest.positions.cols());
    for (std::size_t f = begin; f < end; ++f) {
      pose(rig, f, posed);
      frames[f] = {posed.rowwise().minCoeff(), posed.rowwise().maxCoeff()};
    }
  });
  std::vector<Clip> clips = rig.clips;
  if (clips.empty()) clips.push_back({"", 0, rig.frame_count()});
  std::vector<ClipBounds> out;
  for (const Clip& clip : clips) {
    ClipBounds one{clip.name, frames[clip.first_frame]};
    for (std::size_t f = clip.first_frame; f < clip.first_frame + clip.frames; ++f) {
      one.box.low = one.box.low.cwiseMin(frames[f].low);
      one.box.high = one.box.high.cwiseMax(frames[f].high);
    }
    out.push_back(std::move(one));
  }
  return out;
}

sinew_tree BoundsTree::view() const {
  return {nodes.size(),   nodes.data(),   follows.size(),
          follows.data(), numbers.size(), corners.data(),
          numbers.data(), corrections,    shifts.empty() ? nullptr : shifts.data()};
}

BoundsTree build_bounds_tree(const Rig& rig) {
  rig.check();
  return Builder(rig).take();
}

GltfExtension bounds_extension(const std::vector<ClipBounds>& clips, const BoundsTree* tree) {
  GltfExtension out;
  out.name = kBoundsExtension;
  nlohmann::json json{{"version", 1}, {"clips", nlohmann::json::array()}};
  for (const ClipBounds& clip : clips)
    json["clips"].push_back({{"name", clip.name},
                             {"min", {clip.box.low.x(), clip.box.low.y(), clip.box.low.z()}},
                             {"max", {clip.box.high.x(), clip.box.high.y(), clip.box.high.z()}}});
  if (tree != nullptr && !tree->nodes.empty()) {
    json["tree"] = {{"nodes", tree->nodes.size()}, {"corrections", tree->corrections}};
    std::vector<std::uint32_t> integers;
    std::vector<float> boxes;
    for (const sinew_tree_node& node : tree->nodes) {
      integers.insert(integers.end(),
                      {node.right, node.first_triangle, node.triangles, node.first_follow, node.follows, node.convex});
      boxes.insert(boxes.end(), node.middle, node.middle + 3);
      boxes.insert(boxes.end(), node.half, node.half + 3);
    }
    std::vector<std::uint32_t> bones;
    std::vector<float> follows;
    for (const sinew_tree_follow& follow : tree->follows) {
      bones.push_back(follow.bone);
      follows.insert(follows.end(), {follow.weight, follow.spread});
      follows.insert(follows.end(), follow.middle, follow.middle + 3);
      follows.insert(follows.end(), follow.half, follow.half + 3);
    }
    using C = GltfArray::Component;
    out.arrays.push_back(array_of("nodes", integers, C::u32, 1));
    out.arrays.push_back(array_of("boxes", boxes, C::f32, 3));
    out.arrays.push_back(array_of("bones", bones, C::u32, 1));
    out.arrays.push_back(array_of("follows", follows, C::f32, 1));
    out.arrays.push_back(array_of("corners", tree->corners, C::u32, 1));
    out.arrays.push_back(array_of("triangles", tree->numbers, C::u32, 1));
    if (!tree->shifts.empty()) out.arrays.push_back(array_of("shifts", tree->shifts, C::f32, 3));
  }
  out.json = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return out;
}

std::optional<BoundsTree> tree_of(const GltfExtension& extension, const Rig& rig, const std::string& name) {
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorKind::input, fmt::format("{}: {}: {}", name, kBoundsExtension, what));
  };
  const auto json = nlohmann::json::parse(extension.json, nullptr, false);
  if (!json.is_object() || json.value("version", nlohmann::json(0)) != 1) refuse("is of another version, expected 1");
  if (!json.contains("tree")) return std::nullopt;
  using C = GltfArray::Component;
  const auto integers = numbers_of<std::uint32_t>(extension, "nodes", C::u32, name);
  const auto boxes = numbers_of<float>(extension, "boxes", C::f32, name);
  const auto bones = numbers_of<std::uint32_t>(extension, "bones", C::u32, name);
  const auto follows = numbers_of<float>(extension, "follows", C::f32, name);
  BoundsTree out;
  out.corners = numbers_of<std::uint32_t>(extension, "corners", C::u32, name);
  out.numbers = numbers_of<std::uint32_t>(extension, "triangles", C::u32, name);
  out.corrections = rig.corrections ? rig.corrections->rank() : 0;
  const std::size_t nodes = integers.size() / kNodeIntegers;
  if (out.corrections > 0) out.shifts = numbers_of<float>(extension, "shifts", C::f32, name);
  if (integers.size() != nodes * kNodeIntegers || boxes.size() != nodes * kNodeFloats ||
      follows.size() != bones.size() * kFollowFloats || out.corners.size() != 3 * out.numbers.size() ||
      out.shifts.size() != nodes * out.corrections * 6)
    refuse("its arrays do not fit each other or the rig");
  for (const std::vector<float>* floats : {&boxes, &follows, static_cast<const std::vector<float>*>(&out.shifts)})
    if (!std::all_of(floats->begin(), floats->end(), [](float x) { return std::isfinite(x); }))
      refuse("a number is not finite");
  for (std::size_t i = 0; i < nodes; ++i) {
    const std::uint32_t* const n = integers.data() + kNodeIntegers * i;
    sinew_tree_node node{n[0], n[1], n[2], n[3], n[4], n[5], {}, {}};
    std::copy_n(boxes.data() + kNodeFloats * i, 3, node.middle);
    std::copy_n(boxes.data() + kNodeFloats * i + 3, 3, node.half);
    out.nodes.push_back(node);
  }
  for (std::size_t i = 0; i < bones.size(); ++i) {
    const float* const x = follows.data() + kFollowFloats * i;
    sinew_tree_follow follow{bones[i], x[0], x[1], {x[2], x[3], x[4]}, {x[5], x[6], x[7]}};
    out.follows.push_back(follow);
  }
  const RuntimeModel model = runtime_model(rig);
  const sinew_tree view = out.view();
  if (sinew_tree_check(&view, &model.model) != sinew_ok) refuse("its tree does not fit the rig");
  return out;
}

std::optional<BoundsTree> read_bounds_tree(const std::filesystem::path& path, const Rig& rig) {
  const auto extension = read_gltf_extension(path, kBoundsExtension);
  return extension ? tree_of(*extension, rig, path.string()) : std::nullopt;
}

RuntimeModel runtime_model(const Rig& rig) {
  RuntimeModel out;
  const auto flat = [](const Points& points, std::vector<float>& to) {
    to.insert(to.end(), points.data(), points.data() + points.size());
  };
  flat(rig.rest.positions, out.positions);
  sinew_model& model = out.model;
  model.vertices = rig.vertex_count();
  model.bones = rig.bone_count();
  if (rig.two_layer) {
    out.indices = rig.two_layer->coefficients.columns;
    out.values = rig.two_layer->coefficients.values;
    out.dictionary_indices = rig.two_layer->dictionary.columns;
    out.dictionary_values = rig.two_layer->dictionary.values;
    model.virtual_bones = rig.two_layer->virtual_bone_count();
    model.dictionary = {rig.two_layer->dictionary.slots, nullptr, out.dictionary_indices.data(),
                        out.dictionary_values.data()};
  } else {
    out.indices = rig.weights.bones;
    out.values = rig.weights.values;
  }
  model.weights = {rig.two_layer ? rig.two_layer->coefficients.slots : rig.weights.influences, nullptr,
                   out.indices.data(), out.values.data()};
  model.positions = {out.positions.data(), 3 * sizeof(float)};
  if (rig.corrections) {
    model.corrections = rig.corrections->rank();
    for (const Points& offsets : rig.corrections->offsets) flat(offsets, out.offsets);
    model.position_offsets = out.offsets.data();
    for (Eigen::Index f = 0; f < rig.corrections->coefficients.rows(); ++f)
      for (Eigen::Index r = 0; r < rig.corrections->coefficients.cols(); ++r)
        out.coefficients.push_back(rig.corrections->coefficients(f, r));
  }
  for (std::size_t f = 0; f < rig.frame_count(); ++f)
    for (std::size_t b = 0; b < rig.bone_count(); ++b)
      for (Eigen::Index c = 0; c < 4; ++c) {
        const Vector3 column = rig.motion(f, b).col(c);
        out.palettes.insert(out.palettes.end(), {column.x(), column.y(), column.z(), c == 3 ? 1.0F : 0.0F});
      }
  return out;
}

}  // namespace sinew
