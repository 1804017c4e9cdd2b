#include "pack/packed_glb.h"

#include <fmt/format.h>
#include <meshoptimizer.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "core/index.h"
#include "io/gltf/builder.h"
#include "io/gltf/write_mesh.h"
#include "io/scene/split_mesh.h"
#include "pack/packed_motion.h"
#include "pack/packed_normals.h"
#include "pack/stream.h"
#include "sinew/core/error.h"
#include "sinew/io/two_layer_gltf.h"

namespace sinew::pack {
namespace {

using gltf::GlbBuilder;
using gltf::Json;
using gltf::Use;
using Component = GltfArray::Component;

/// Numbers of a node, where they are not what a node without them has.
void set_unless(const std::vector<float>& usual, const std::vector<float>& values, const char* name, Json& node) {
  if (values == usual) return;
  for (const float x : values) node[name].push_back(shortest(x));
}

void bounds(GlbBuilder& out, std::size_t accessor, const Eigen::Matrix3Xd& values) {
  const Eigen::Vector3d low = values.rowwise().minCoeff();
  const Eigen::Vector3d high = values.rowwise().maxCoeff();
  out.root["accessors"][accessor]["min"] = {low.x(), low.y(), low.z()};
  out.root["accessors"][accessor]["max"] = {high.x(), high.y(), high.z()};
}

bool power_of_two(int x) {
  return std::has_single_bit(static_cast<unsigned>(x));
}

template <int N>
bool within(const std::vector<CornerAttribute<N>>& sets, float low, float high) {
  for (const auto& set : sets)
    for (const float x : set.values)
      if (!(x >= low && x <= high)) return false;
  return true;
}

const std::vector<float> kNoTurn{0, 0, 0, 1};
constexpr int kUvExponent = -13;  // UVs are multiples of 2^-13: a quarter of a pixel of 2048

class Writer {
 public:
  Writer(const Rounded& rounded, const std::vector<DrawnPiece>& pieces, const Points& normals,
         const PackOptions& options)
      : rounded_(rounded),
        rig_(rounded.rig),
        pieces_(pieces),
        normals_(normals),
        options_(options),
        extension_(options.khronos ? "KHR_meshopt_compression" : "EXT_meshopt_compression"),
        targets_(gltf::effective_corrections(rig_)) {
    std::size_t most = 0;
    for (const DrawnPiece& piece : pieces) most = std::max(most, bones_of(piece).size());
    wide_joints_ = most > 256;
    if (wide_joints_) influences_ = Stream(8, Use::vertices);
  }

  std::vector<std::byte> file() {
    out_.root["asset"] = {{"version", "2.0"}, {"generator", options_.generator}};
    gltf::add_appearance(rig_.rest.appearance, out_);
    add_bones();
    for (const DrawnPiece& piece : pieces_) add_mesh(piece);
    finish_indices(false);
    finish_indices(true);
    for (Stream* stream :
         {&positions_, &normals4_, &influences_, &weights_, &uvs_, &colors_, &morph_positions_, &morph_normals_})
      stream->finish(out_, extension_);
    add_packed_motion(rounded_, {root_, outer_, joints_, meshes_}, targets_, options_, extension_, out_);
    if (rounded_.layers) add_layers();
    for (const GltfExtension& extension : options_.extensions) gltf::add_extension(extension, out_);
    if (!lossless()) {
      out_.root["extensionsUsed"].push_back("KHR_mesh_quantization");
      out_.root["extensionsRequired"].push_back("KHR_mesh_quantization");
    }
    Json scene = {root_};
    for (const std::size_t node : meshes_) scene.push_back(node);
    out_.root["scenes"] = Json::array({{{"nodes", std::move(scene)}}});
    out_.root["scene"] = 0;
    return out_.finish();
  }

 private:
  bool lossless() const { return rounded_.precision.cells == 0; }
  /// Bones that turn before they stretch, in some frame, take two nodes.
  bool has_one_node(std::size_t b) const {
    const std::vector<float>& inner = rounded_.tracks[b].values.inner;
    return inner.empty() || (constant(inner, 4) && rounded_.rests[b].inner == kNoTurn &&
                             std::equal(kNoTurn.begin(), kNoTurn.end(), inner.begin()));
  }

  /// Sinew's own players compute normals where a mesh has none.
  bool lit(const DrawnPiece& piece) const { return piece.lit && !(rounded_.layers && rig_.rest.normals.empty()); }

  std::vector<Index> bones_of(const DrawnPiece& piece) const {
    if (!piece.bones.empty()) return piece.bones;
    std::vector<Index> all(rig_.bone_count());
    std::iota(all.begin(), all.end(), Index{0});
    return all;
  }

  void add_bones() {
    gltf::Names names(options_.safe_names);
    root_ = out_.append("nodes", {{"name", names.take("skeleton", "")}});
    for (std::size_t b = 0; b < rig_.bone_count(); ++b) {
      Json node = Json::object();
      const NodeRest& rest = rounded_.rests[b];
      set_unless({0, 0, 0}, rest.translation, "translation", node);
      set_unless(kNoTurn, rest.rotation, "rotation", node);
      set_unless({1, 1, 1}, rest.scale, "scale", node);
      const std::string name = names.take(rig_.bones[b].name, fmt::format("bone_{}", b));
      if (has_one_node(b)) {
        node["name"] = name;
        outer_.push_back(out_.append("nodes", std::move(node)));
        joints_.push_back(outer_.back());
      } else {
        Json joint = {{"name", name}};
        set_unless(kNoTurn, rest.inner, "rotation", joint);
        joints_.push_back(out_.append("nodes", std::move(joint)));
        node["children"] = {joints_.back()};
        outer_.push_back(out_.append("nodes", std::move(node)));
      }
      const int parent = rounded_.hierarchy ? rig_.bones[b].parent : -1;
      const std::size_t holder = parent >= 0 ? joints_[static_cast<std::size_t>(parent)] : root_;
      out_.root["nodes"][holder]["children"].push_back(outer_.back());
    }
    names_ = std::move(names);
  }

  /// Whether every node rests where its bone does in the rest pose.
  bool rests_bound() const {
    for (std::size_t b = 0; b < rig_.bone_count(); ++b) {
      const NodeRest& rest = rounded_.rests[b];
      const Vector3 place = gltf::rest_translation(rig_, b, rounded_.hierarchy);
      if (rest.translation != std::vector<float>{place.x(), place.y(), place.z()} || rest.rotation != kNoTurn ||
          rest.scale != std::vector<float>{1, 1, 1} || rest.inner != kNoTurn)
        return false;
    }
    return true;
  }

  /// The skin of these bones; pieces that follow the same share one.
  std::size_t add_skin(const std::vector<Index>& bones) {
    const auto [entry, is_new] = skins_.try_emplace(bones, skins_.size());
    if (!is_new) return entry->second;
    Stream binds(64, Use::data);
    Json joints = Json::array();
    for (const Index b : bones) {
      joints.push_back(joints_[b]);
      const Vector3 t = rounded_.origin - rig_.bones[b].head;
      const auto s = static_cast<float>(rounded_.step);
      for (const float x : {s, 0.0F, 0.0F, 0.0F, 0.0F, s, 0.0F, 0.0F, 0.0F, 0.0F, s, 0.0F, t.x(), t.y(), t.z(), 1.0F})
        binds.put(x);
    }
    const std::size_t accessor = binds.accessor(out_, 0, Component::f32, "MAT4", false);
    binds.finish(out_, extension_);
    // Babylon.js follows nodes between joints only where the skin names its root.
    Json skin = {{"inverseBindMatrices", accessor}, {"joints", std::move(joints)}, {"skeleton", root_}};
    const Vector3& at = rounded_.origin;
    if (!rests_bound())
      skin["extras"]["sinew"]["bind"] = {shortest(static_cast<float>(rounded_.step)), shortest(at.x()),
                                         shortest(at.y()), shortest(at.z())};
    out_.append("skins", std::move(skin));
    return entry->second;
  }

  std::size_t add_positions(const DrawnPiece& piece) {
    const std::size_t from = positions_.size();
    Eigen::Matrix3Xd values(3, index(piece.point.size()));
    for (std::size_t i = 0; i < piece.point.size(); ++i) {
      if (lossless()) {
        const Vector3 p = rig_.rest.positions.col(piece.point[i]);
        positions_.put(p.data(), 12);
        values.col(index(i)) = p.cast<double>();
        continue;
      }
      const Eigen::Vector3i cell = rounded_.cells.col(piece.point[i]);
      for (Eigen::Index c = 0; c < 3; ++c) positions_.put(static_cast<std::uint16_t>(cell[c]));
      positions_.pad();
      values.col(index(i)) = cell.cast<double>();
    }
    const std::size_t accessor =
        positions_.accessor(out_, from, lossless() ? Component::f32 : Component::u16, "VEC3", false);
    bounds(out_, accessor, values);
    return accessor;
  }

  std::size_t add_normals(const DrawnPiece& piece) {
    const std::size_t from = normals4_.size();
    const std::vector<float> values = normals_of(rig_, piece, normals_);
    const int bits = rounded_.precision.normal_bits;
    if (bits == 0) {
      for (std::size_t i = 0; i < values.size(); i += 4) normals4_.put(values.data() + i, 12);
      return normals4_.accessor(out_, from, Component::f32, "VEC3", false);
    }
    std::vector<std::byte> coded(piece.point.size() * bytes_of_normal(bits));
    meshopt_encodeFilterOct(coded.data(), piece.point.size(), bytes_of_normal(bits), bits, values.data());
    normals4_.put(coded.data(), coded.size());
    return normals4_.accessor(out_, from, bits <= 8 ? Component::i8 : Component::i16, "VEC3", true);
  }

  /// Slots of each vertex: an influence stays where the vertex before it has the same bone, others take what is free.
  std::vector<std::vector<std::pair<Index, float>>> slots_of(const DrawnPiece& piece, std::size_t slots) const {
    std::vector<std::vector<std::pair<Index, float>>> out;
    std::vector<Index> last(slots, 0);
    const auto own = static_cast<std::size_t>(rig_.weights.influences);
    for (const Index v : piece.point) {
      std::vector<std::pair<Index, float>> row(slots, {0, 0.0F});
      std::vector<std::pair<Index, float>> homeless;
      for (std::size_t k = v * own; k < (v + 1) * own; ++k) {
        if (!(rig_.weights.values[k] > 0)) continue;
        const auto found = std::find(last.begin(), last.end(), rig_.weights.bones[k]);
        const auto slot = static_cast<std::size_t>(found - last.begin());
        if (rounded_.precision.weight_one != 0 && found != last.end() && row[slot].second == 0)
          row[slot] = {rig_.weights.bones[k], rig_.weights.values[k]};
        else
          homeless.emplace_back(rig_.weights.bones[k], rig_.weights.values[k]);
      }
      for (const auto& influence : homeless)
        *std::find_if(row.begin(), row.end(), [](const auto& slot) { return slot.second == 0; }) = influence;
      for (std::size_t k = 0; k < slots; ++k)
        if (row[k].second > 0) last[k] = row[k].first;
      out.push_back(std::move(row));
    }
    return out;
  }

  void add_influences(const DrawnPiece& piece, Json& attributes) {
    const std::size_t sets = (static_cast<std::size_t>(std::max(1, used_influences(rig_.weights))) + 3) / 4;
    std::vector<Index> joint(rig_.bone_count(), 0);  // of each bone in the skin
    const std::vector<Index> bones = bones_of(piece);
    for (Index j = 0; j < bones.size(); ++j) joint[bones[j]] = j;
    const int one = rounded_.precision.weight_one;
    const auto rows = slots_of(piece, 4 * sets);
    for (std::size_t set = 0; set < sets; ++set) {
      const std::size_t joints = influences_.size();
      const std::size_t weights = weights_.size();
      for (const auto& row : rows)
        for (std::size_t k = 4 * set; k < 4 * set + 4; ++k) {
          const Index number = row[k].second > 0 ? joint[row[k].first] : 0;
          if (wide_joints_)
            influences_.put(static_cast<std::uint16_t>(number));
          else
            influences_.put(static_cast<std::uint8_t>(number));
          const auto whole = static_cast<unsigned>(std::lround(static_cast<double>(row[k].second) * one));
          if (one == 0)
            weights_.put(row[k].second);
          else if (power_of_two(one))
            weights_.put(exponential(row[k].second, 1 - std::bit_width(static_cast<unsigned>(one))));
          else if (one == 255)
            weights_.put(static_cast<std::uint8_t>(whole));
          else
            weights_.put(static_cast<std::uint16_t>(whole));
        }
      attributes[fmt::format("JOINTS_{}", set)] =
          influences_.accessor(out_, joints, wide_joints_ ? Component::u16 : Component::u8, "VEC4", false);
      const bool floats = one == 0 || power_of_two(one);
      const Component component = floats ? Component::f32 : one == 255 ? Component::u8 : Component::u16;
      attributes[fmt::format("WEIGHTS_{}", set)] = weights_.accessor(out_, weights, component, "VEC4", !floats);
    }
  }

  void add_looks(const DrawnPiece& piece, Json& attributes) {
    const Mesh& mesh = rig_.rest;
    for (std::size_t set = 0; set < mesh.uv_sets.size(); ++set) {
      if (mesh.uv_sets[set].empty()) continue;
      const std::size_t from = uvs_.size();
      for (const float x : gltf::vertex_values<2>(piece.corner, mesh.uv_sets[set], {0.0F, 0.0F}))
        if (plain_uvs_)
          uvs_.put(x);
        else
          uvs_.put(exponential(x, kUvExponent));
      attributes[fmt::format("TEXCOORD_{}", set)] = uvs_.accessor(out_, from, Component::f32, "VEC2", false);
    }
    for (std::size_t set = 0; set < mesh.color_sets.size(); ++set) {
      if (mesh.color_sets[set].empty()) continue;
      const std::size_t from = colors_.size();
      for (const float x : gltf::vertex_values<4>(piece.corner, mesh.color_sets[set], {1.0F, 1.0F, 1.0F, 1.0F}))
        if (plain_colors_)
          colors_.put(x);
        else
          colors_.put(static_cast<std::uint8_t>(std::lround(255 * x)));
      attributes[fmt::format("COLOR_{}", set)] =
          colors_.accessor(out_, from, plain_colors_ ? Component::f32 : Component::u8, "VEC4", !plain_colors_);
    }
  }

  Json add_targets(const DrawnPiece& piece) {
    Json list = Json::array();
    const Corrections& corrections = *rig_.corrections;
    for (const std::size_t r : targets_) {
      Json target = Json::object();
      const bool rounded = !rounded_.morphs.empty();
      const auto add = [&](Stream& stream, const Points& points, const Cells* cells, bool normal) {
        const std::size_t from = stream.size();
        Eigen::Matrix3Xd values(3, index(piece.point.size()));
        for (std::size_t i = 0; i < piece.point.size(); ++i) {
          const Index v = piece.point[i];
          if (rounded) {
            for (Eigen::Index c = 0; c < 3; ++c)
              if (!normal && wide_morphs_)
                stream.put(static_cast<std::int16_t>((*cells)(c, v)));
              else
                stream.put(static_cast<std::int8_t>((*cells)(c, v)));
            stream.pad();
            values.col(index(i)) = cells->col(v).cast<double>();
          } else {
            stream.put(Vector3(points.col(v)).data(), 12);
            values.col(index(i)) = points.col(v).cast<double>();
          }
        }
        const Component whole = !rounded ? Component::f32 : !normal && wide_morphs_ ? Component::i16 : Component::i8;
        const std::size_t accessor = stream.accessor(out_, from, whole, "VEC3", rounded && normal);
        if (!normal) bounds(out_, accessor, values);
        return accessor;
      };
      target["POSITION"] =
          add(morph_positions_, corrections.offsets[r], rounded ? &rounded_.morphs[r].offsets : nullptr, false);
      if (lit(piece) && !corrections.normal_offsets.empty())
        target["NORMAL"] =
            add(morph_normals_, corrections.normal_offsets[r], rounded ? &rounded_.morphs[r].normals : nullptr, true);
      list.push_back(std::move(target));
    }
    return list;
  }

  std::size_t add_indices(const std::vector<Index>& triangles, std::size_t vertices) {
    const bool wide = vertices > 65535;
    Indices& indices = indices_[wide ? 1 : 0];
    Json entry = {{"componentType", wide ? 5125 : 5123}, {"count", triangles.size()}, {"type", "SCALAR"}};
    if (!indices.all.empty()) entry["byteOffset"] = indices.all.size() * (wide ? 4 : 2);
    indices.all.insert(indices.all.end(), triangles.begin(), triangles.end());
    indices.accessors.push_back(out_.append("accessors", std::move(entry)));
    return indices.accessors.back();
  }

  void finish_indices(bool wide) {
    const Indices& indices = indices_[wide ? 1 : 0];
    if (indices.all.empty()) return;
    const gltf::CompressedView coded{"TRIANGLES", "", indices.all.size(), wide ? 4U : 2U};
    const std::size_t view = out_.add_coded_view(coded, gltf::encode_view(coded, std::as_bytes(std::span(indices.all))),
                                                 Use::indices, extension_);
    for (const std::size_t accessor : indices.accessors) out_.root["accessors"][accessor]["bufferView"] = view;
  }

  void add_mesh(const DrawnPiece& piece) {
    Json primitive = Json::object();
    Json& attributes = primitive["attributes"];
    attributes["POSITION"] = add_positions(piece);
    if (lit(piece)) attributes["NORMAL"] = add_normals(piece);
    add_influences(piece, attributes);
    if (!piece.triangles.empty()) add_looks(piece, attributes);
    if (!targets_.empty()) primitive["targets"] = add_targets(piece);
    Json mesh = Json::object();
    if (piece.triangles.empty()) {
      primitive["mode"] = 0;
      mesh["primitives"].push_back(primitive);
    }
    for (const auto& [material, triangles] : piece.triangles) {
      Json entry = primitive;
      entry["indices"] = add_indices(triangles, piece.point.size());
      if (material >= 0) entry["material"] = material;
      mesh["primitives"].push_back(std::move(entry));
    }
    if (!targets_.empty()) mesh["weights"] = std::vector<int>(targets_.size(), 0);
    const std::string name = names_.take(piece.name, "mesh");
    const std::size_t skin = add_skin(bones_of(piece));
    meshes_.push_back(
        out_.append("nodes", {{"name", name}, {"mesh", out_.append("meshes", std::move(mesh))}, {"skin", skin}}));
  }

  /// The two-layer model: rows in the order in which readers find the control points of this file.
  void add_layers() {
    BlendRows rows{rig_.two_layer->coefficients.slots, {}, {}};
    const auto slots = static_cast<std::size_t>(rows.slots);
    for (const DrawnPiece& piece : pieces_) {
      std::set<std::vector<int>> known;
      for (const Index v : piece.point) {
        std::vector<int> told(rounded_.cells.col(v).begin(), rounded_.cells.col(v).end());
        for (const std::size_t r : targets_) {
          const auto offset = rounded_.morphs[r].offsets.col(v);
          told.insert(told.end(), offset.begin(), offset.end());
        }
        if (!known.insert(std::move(told)).second) continue;
        for (std::size_t k = v * slots; k < (v + 1) * slots; ++k) {
          rows.columns.push_back(rig_.two_layer->coefficients.columns[k]);
          rows.values.push_back(rig_.two_layer->coefficients.values[k]);
        }
      }
    }
    const TwoLayer model = gltf::in_order_of_use({rig_.two_layer->dictionary, std::move(rows)});
    Json object = {{"version", 1},
                   {"vertices", model.coefficients.row_count()},
                   {"bones", rig_.bone_count()},
                   {"frames", rig_.frame_count()},
                   {"virtualBones", model.virtual_bone_count()},
                   {"bonesPerVirtualBone", model.dictionary.slots},
                   {"virtualBonesPerVertex", model.coefficients.slots}};
    if (rig_.rest.normals.empty() && !rig_.rest.flat) object["normals"] = "computed";
    object["accessors"]["coded"] =
        out_.add_array({"coded", Component::u8, 1, gltf::code_two_layer(model, rig_.motion, *rounded_.layers)});
    out_.root["extensions"][kTwoLayerExtension] = std::move(object);
    out_.root["extensionsUsed"].push_back(kTwoLayerExtension);
  }

  /// Triangles of all pieces: one coded view.
  struct Indices {
    std::vector<Index> all;
    std::vector<std::size_t> accessors;
  };

  const Rounded& rounded_;
  const Rig& rig_;
  const std::vector<DrawnPiece>& pieces_;
  const Points& normals_;
  const PackOptions& options_;
  const char* extension_;
  std::vector<std::size_t> targets_;
  GlbBuilder out_;
  std::array<Indices, 2> indices_;  // in 16 bits, in 32
  gltf::Names names_{false};
  std::size_t root_ = 0;
  std::map<std::vector<Index>, std::size_t> skins_;
  std::vector<std::size_t> outer_, joints_, meshes_;
  bool plain_uvs_ = lossless() || !within(rig_.rest.uv_sets, -512, 512);
  bool plain_colors_ = lossless() || !within(rig_.rest.color_sets, 0, 1);
  Stream positions_{rounded_.precision.cells == 0 ? 12U : 8U, Use::vertices};
  Stream normals4_{rounded_.precision.normal_bits == 0 ? 12U : bytes_of_normal(rounded_.precision.normal_bits),
                   Use::vertices, rounded_.precision.normal_bits == 0 ? "" : "OCTAHEDRAL"};
  bool wide_joints_ = false;
  Stream influences_{4U, Use::vertices};
  Stream weights_{rounded_.precision.weight_one == 255     ? 4U
                  : rounded_.precision.weight_one == 65535 ? 8U
                                                           : 16U,
                  Use::vertices, power_of_two(rounded_.precision.weight_one) ? "EXPONENTIAL" : ""};
  Stream uvs_{8, Use::vertices, plain_uvs_ ? "" : "EXPONENTIAL"};
  Stream colors_{plain_colors_ ? 16U : 4U, Use::vertices};
  bool wide_morphs_ = std::any_of(rounded_.morphs.begin(), rounded_.morphs.end(),
                                  [](const RoundedMorph& morph) { return morph.offsets.cwiseAbs().maxCoeff() > 127; });
  Stream morph_positions_{rounded_.morphs.empty() ? 12U : wide_morphs_ ? 8U : 4U, Use::vertices};
  Stream morph_normals_{rounded_.morphs.empty() ? 12U : 4U, Use::vertices};
};

}  // namespace

std::vector<std::byte> packed_glb(const Rounded& rounded, const std::vector<DrawnPiece>& pieces, const Points& normals,
                                  const PackOptions& options) {
  return Writer(rounded, pieces, normals, options).file();
}

}  // namespace sinew::pack
