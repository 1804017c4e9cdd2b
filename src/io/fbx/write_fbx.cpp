#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "io/fbx/mesh_writer.h"
#include "io/fbx/motion.h"
#include "io/fbx/objects.h"
#include "io/gltf/write_mesh.h"
#include "io/gltf/write_motion.h"
#include "io/json_text.h"
#include "io/scene/rig_facts.h"
#include "sinew/core/error.h"
#include "sinew/io/fbx.h"
#include "sinew/io/output_file.h"

/// A rig as FBX. The meshes lie at the origin of the scene; bones are LimbNodes whose bind pose is the rest pose, below
/// one root where there are several at the top.
namespace sinew {
namespace fbx {
namespace {

constexpr std::int32_t kLinearKey = 24836;         // linear, with the marks that the reference library sets beside it
constexpr std::uint32_t kKeyWeights = 0x0D050D05;  // a third on both sides, in ten-thousandths

using Matrix16 = std::array<double, 16>;

Matrix16 matrix16(const Eigen::Affine3d& m) {
  Matrix16 out{};
  Eigen::Map<Eigen::Matrix4d>(out.data()) = m.matrix();  // column-major: rows of the format's row vectors
  return out;
}

std::span<const double> span_of(const Matrix16& m) {
  return m;
}

/// Frames per second of a clip where its frames are evenly spaced, else 30.
double rate_of(const Rig& rig) {
  if (rig.times.size() < 2 || !(rig.times[1] > rig.times[0])) return 30;
  const double rate = 1 / (rig.times[1] - rig.times[0]);
  const double whole = std::round(rate);
  return std::abs(rate - whole) < 1e-6 * whole ? whole : rate;
}

std::int32_t time_mode(double rate) {
  constexpr std::pair<double, std::int32_t> kModes[] = {{120, 1}, {100, 2}, {60, 3},    {50, 4},  {48, 5}, {30, 6},
                                                        {25, 10}, {24, 11}, {1000, 12}, {96, 15}, {72, 16}};
  for (const auto& [frames, mode] : kModes)
    if (rate == frames) return mode;
  return 14;  // as CustomFrameRate says
}

std::int64_t ticks(double seconds) {
  return static_cast<std::int64_t>(std::llround(seconds * static_cast<double>(kTicksPerSecond)));
}

/// Readers exist that cannot read times before 0: a clip that starts earlier is moved there.
std::vector<std::int64_t> key_ticks(const Rig& rig, const Clip& clip) {
  constexpr double kMostSeconds = 1e8;  // in ticks still within 63 bits
  const double shift = std::min(0.0, rig.times[clip.first_frame]);
  std::vector<std::int64_t> out;
  for (std::size_t f = clip.first_frame; f < clip.first_frame + clip.frames; ++f) {
    const double t = rig.times[f] - shift;
    if (!(std::abs(t) < kMostSeconds) || (!out.empty() && ticks(t) <= out.back()))
      throw Error(ErrorKind::output, fmt::format("clip '{}': frame {} at {} s does not come after the frame before it",
                                                 clip.name, f - clip.first_frame, t));
    out.push_back(ticks(t));
  }
  return out;
}

// --- Head of the file.

/// The facts of the rig, and its clips as they were before names and times were made fit for readers.
std::string facts_text(const Rig& rig, bool hierarchy) {
  nlohmann::json facts = rig_facts(rig, hierarchy);
  facts["materials"] = rig.rest.appearance.materials.size();
  for (const Clip& clip : rig.clips)
    facts["clip_list"].push_back({{"name", clip.name}, {"start", rig.times[clip.first_frame]}});
  return json_text(facts);
}

void write_header(const Rig& rig, bool hierarchy, const std::string& generator, Writer& out) {
  out.open("FBXHeaderExtension");
  out.leaf("FBXHeaderVersion", {1003});
  out.leaf("FBXVersion", {7400});
  out.leaf("EncryptionType", {0});
  out.leaf("Creator", {generator});
  out.open("SceneInfo", {object_name("GlobalInfo", "SceneInfo"), std::string("UserData")});
  out.leaf("Type", {std::string("UserData")});
  out.leaf("Version", {100});
  out.open("Properties70");
  out.property("Original", "Compound", "", "");
  out.property("Original|ApplicationName", "KString", "", "", {generator});
  out.property("LastSaved", "Compound", "", "");
  out.property("LastSaved|ApplicationName", "KString", "", "", {generator});
  out.property("sinew", "KString", "", "U", {facts_text(rig, hierarchy)});
  out.close();
  out.close();
  out.close();
  out.identify(generator);
}

void write_settings(double rate, std::int64_t start, std::int64_t stop, Writer& out) {
  out.open("GlobalSettings");
  out.leaf("Version", {1000});
  out.open("Properties70");
  const auto integer = [&](const char* name, std::int32_t value) { out.property(name, "int", "Integer", "", {value}); };
  integer("UpAxis", 1);
  integer("UpAxisSign", 1);
  integer("FrontAxis", 2);
  integer("FrontAxisSign", 1);
  integer("CoordAxis", 0);
  integer("CoordAxisSign", 1);
  integer("OriginalUpAxis", -1);
  integer("OriginalUpAxisSign", 1);
  out.property("UnitScaleFactor", "double", "Number", "", {100.0});  // metres, as in glTF
  out.property("OriginalUnitScaleFactor", "double", "Number", "", {100.0});
  out.property("TimeMode", "enum", "", "", {time_mode(rate)});
  out.property("TimeSpanStart", "KTime", "Time", "", {start});
  out.property("TimeSpanStop", "KTime", "Time", "", {stop});
  out.property("CustomFrameRate", "double", "Number", "", {rate});
  out.close();
  out.close();
  out.open("Documents");
  out.leaf("Count", {1});
  out.open("Document", {std::int64_t{1000000}, std::string("Scene"), std::string("Scene")});
  out.leaf("RootNode", {std::int64_t{0}});
  out.close();
  out.close();
  out.open("References");
  out.close();
}

// --- Bones.

void write_limb(const std::string& name, const Eigen::Matrix3f& rest, Writer& out, Id id) {
  out.open("Model", {id, object_name(name, "Model"), std::string("LimbNode")});
  out.leaf("Version", {232});
  out.open("Properties70");
  out.property("InheritType", "enum", "", "", {1});  // scale is inherited as in a product of matrices
  out.property("DefaultAttributeIndex", "int", "Integer", "", {0});
  for (const auto& [key, column] : {std::pair{"Lcl Translation", 0}, {"Lcl Rotation", 1}, {"Lcl Scaling", 2}})
    out.property(key, key, "", "A",
                 {static_cast<double>(rest(0, column)), static_cast<double>(rest(1, column)),
                  static_cast<double>(rest(2, column))});
  out.close();
  out.leaf("Shading", {true});
  out.leaf("Culling", {std::string("CullingOff")});
  out.close();
}

Id add_limb(const std::string& name, const Eigen::Matrix3f& rest, Id above, ObjectList& objects) {
  const Id model = objects.add("Model", [name, rest](Writer& out, Id id) { write_limb(name, rest, out, id); });
  const Id attribute = objects.add("NodeAttribute", [name](Writer& out, Id id) {
    out.open("NodeAttribute", {id, object_name(name, "NodeAttribute"), std::string("LimbNode")});
    out.leaf("TypeFlags", {std::string("Skeleton")});
    out.close();
  });
  objects.connect(attribute, model);
  objects.connect(model, above);
  return model;
}

/// Models of the nodes, below one root where several are at the top.
struct Skeleton {
  Id root = 0;  // 0: the scene
  std::vector<Id> models;
};

Skeleton add_skeleton(const MotionNodes& motion, gltf::Names& names, ObjectList& objects) {
  const auto tops =
      std::count_if(motion.nodes.begin(), motion.nodes.end(), [](const MotionNode& node) { return node.parent < 0; });
  std::vector<std::string> own;
  for (std::size_t n = 0; n < motion.nodes.size(); ++n)
    own.push_back(names.take(motion.nodes[n].name, fmt::format("bone_{}", n)));
  Skeleton out;
  Eigen::Matrix3f at_origin = Eigen::Matrix3f::Zero();
  at_origin.col(2).setOnes();
  if (tops > 1) out.root = add_limb(names.take("skeleton", "skeleton"), at_origin, 0, objects);
  for (std::size_t n = 0; n < motion.nodes.size(); ++n) {
    const int parent = motion.nodes[n].parent;
    const Id above = parent < 0 ? out.root : out.models[static_cast<std::size_t>(parent)];
    out.models.push_back(add_limb(own[n], motion.nodes[n].rest, above, objects));
  }
  return out;
}

/// Where the node is at rest, as readers compute it from the numbers in its record.
std::vector<Eigen::Affine3d> rest_places(const MotionNodes& motion) {
  std::vector<Eigen::Affine3d> out;
  for (const MotionNode& node : motion.nodes) {
    Eigen::Affine3d local = Eigen::Affine3d::Identity();
    local.linear() = rotation_of(node.rest.col(1).cast<double>());
    local.translation() = node.rest.col(0).cast<double>();
    out.push_back(node.parent < 0 ? local : out[static_cast<std::size_t>(node.parent)] * local);
  }
  return out;
}

void add_bind_pose(const std::vector<WrittenPiece>& pieces, const Skeleton& skeleton,
                   const std::vector<Eigen::Affine3d>& places, ObjectList& objects) {
  objects.add("Pose", [pieces, skeleton, places](Writer& out, Id id) {
    const Matrix16 identity = matrix16(Eigen::Affine3d::Identity());
    out.open("Pose", {id, object_name("bind", "Pose"), std::string("BindPose")});
    out.leaf("Type", {std::string("BindPose")});
    out.leaf("Version", {100});
    const std::size_t count = pieces.size() + skeleton.models.size() + (skeleton.root != 0 ? 1 : 0);
    out.leaf("NbPoseNodes", {static_cast<std::int32_t>(count)});
    const auto node = [&](Id model, const Matrix16& matrix) {
      out.open("PoseNode");
      out.leaf("Node", {model});
      out.leaf("Matrix", {span_of(matrix)});
      out.close();
    };
    for (const WrittenPiece& piece : pieces) node(piece.model, identity);
    if (skeleton.root != 0) node(skeleton.root, identity);
    for (std::size_t n = 0; n < places.size(); ++n) node(skeleton.models[n], matrix16(places[n]));
    out.close();
  });
}

// --- Skins.

struct ClusterMembers {
  std::vector<std::int32_t> vertices;  // from the piece's first
  std::vector<double> weights;
};

std::vector<ClusterMembers> cluster_members(const Rig& rig, const Piece& piece) {
  std::vector<ClusterMembers> out(rig.bone_count());
  const auto slots = static_cast<std::size_t>(rig.weights.influences);
  for (Index v = 0; v < piece.vertices; ++v)
    for (std::size_t i = (piece.first_vertex + v) * slots; i < (piece.first_vertex + v + 1) * slots; ++i) {
      if (rig.weights.values[i] == 0) continue;
      ClusterMembers& bone = out[rig.weights.bones[i]];
      bone.vertices.push_back(static_cast<std::int32_t>(v));
      bone.weights.push_back(rig.weights.values[i]);
    }
  return out;
}

void write_cluster(const std::string& name, const ClusterMembers& members, const Eigen::Affine3d& place, Writer& out,
                   Id id) {
  out.open("Deformer", {id, object_name(name, "SubDeformer"), std::string("Cluster")});
  out.leaf("Version", {100});
  out.leaf("UserData", {std::string(), std::string()});
  if (!members.vertices.empty()) {
    out.leaf("Indexes", {std::span<const std::int32_t>(members.vertices)});
    out.leaf("Weights", {std::span<const double>(members.weights)});
  }
  out.leaf("Transform", {span_of(matrix16(place.inverse()))});  // the mesh, at the origin, as the bone sees it
  out.leaf("TransformLink", {span_of(matrix16(place))});
  out.close();
}

/// One skin per piece. The first has a cluster for every bone, so that none is lost; the others for those they need.
void add_skins(const Rig& rig, const MotionNodes& motion, const Skeleton& skeleton,
               const std::vector<Eigen::Affine3d>& places, const std::vector<WrittenPiece>& pieces,
               ObjectList& objects) {
  for (const WrittenPiece& written : pieces) {
    const Id skin = objects.add("Deformer", [](Writer& out, Id id) {
      out.open("Deformer", {id, object_name("skin", "Deformer"), std::string("Skin")});
      out.leaf("Version", {101});
      out.leaf("Link_DeformAcuracy", {50.0});
      out.leaf("SkinningType", {std::string("Linear")});
      out.close();
    });
    objects.connect(skin, written.geometry);
    std::vector<ClusterMembers> clusters = cluster_members(rig, written.piece);
    for (std::size_t b = 0; b < clusters.size(); ++b) {
      if (clusters[b].vertices.empty() && &written != &pieces.front()) continue;
      const std::size_t node = motion.of_bone[b];
      const Id cluster = objects.add(
          "Deformer", [name = motion.nodes[node].name, place = places[node], members = std::move(clusters[b])](
                          Writer& out, Id id) { write_cluster(name, members, place, out, id); });
      objects.connect(cluster, skin);
      objects.connect(skeleton.models[node], cluster);
    }
  }
}

// --- Motion.

bool all_equal(std::span<const float> values, std::size_t width, std::span<const float> first) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] != first[i % width]) return false;
  return true;
}

void write_curve(const std::vector<std::int64_t>& times, const std::vector<float>& values, Writer& out, Id id) {
  const std::int32_t flags[] = {kLinearKey};
  const float data[] = {0, 0, std::bit_cast<float>(kKeyWeights), 0};
  const std::int32_t uses[] = {static_cast<std::int32_t>(times.size())};
  out.open("AnimationCurve", {id, object_name("", "AnimCurve"), std::string()});
  out.leaf("Default", {static_cast<double>(values.front())});
  out.leaf("KeyVer", {4008});
  out.leaf("KeyTime", {std::span<const std::int64_t>(times)});
  out.leaf("KeyValueFloat", {std::span<const float>(values)});
  out.leaf("KeyAttrFlags", {std::span<const std::int32_t>(flags)});
  out.leaf("KeyAttrDataFloat", {std::span<const float>(data)});
  out.leaf("KeyAttrRefCount", {std::span<const std::int32_t>(uses)});
  out.close();
}

/// The motion of one clip while it is put together.
class ClipWriter {
 public:
  ClipWriter(const Clip& clip, std::vector<std::int64_t> times, const std::string& name, ObjectList& objects)
      : clip_(clip), times_(std::move(times)), objects_(objects) {
    const Id stack = objects.add("AnimationStack", [name, start = times_.front(), stop = times_.back()](Writer& out,
                                                                                                        Id id) {
      out.open("AnimationStack", {id, object_name(name, "AnimStack"), std::string()});
      out.open("Properties70");
      for (const auto& [key, time] :
           {std::pair{"LocalStart", start}, {"LocalStop", stop}, {"ReferenceStart", start}, {"ReferenceStop", stop}})
        out.property(key, "KTime", "Time", "", {time});
      out.close();
      out.close();
    });
    layer_ = objects.add("AnimationLayer", [name](Writer& out, Id id) {
      out.open("AnimationLayer", {id, object_name(name, "AnimLayer"), std::string()});
      out.close();
    });
    objects.connect(layer_, stack);
  }

  /// Keys of a property with `parts.size()` numbers per frame. A track that never changes within the clip has its first
  /// and last key alone, unless `every_key`.
  void add(const char* node_name, const char* property, Id owner, const std::vector<const char*>& parts,
           std::span<const float> track, double factor, bool every_key) {
    const std::size_t width = parts.size();
    const std::span<const float> cut = track.subspan(clip_.first_frame * width, clip_.frames * width);
    const bool still = !every_key && times_.size() > 2 && all_equal(cut, width, cut.first(width));
    const Id node = objects_.add("AnimationCurveNode", [=](Writer& out, Id id) {
      out.open("AnimationCurveNode", {id, object_name(node_name, "AnimCurveNode"), std::string()});
      out.open("Properties70");
      for (std::size_t i = 0; i < width; ++i)
        out.property(parts[i], "Number", "", "A", {factor * static_cast<double>(cut[i])});
      out.close();
      out.close();
    });
    objects_.connect(node, layer_);
    objects_.connect(node, owner, property);
    for (std::size_t i = 0; i < width; ++i) {
      std::vector<float> values;
      for (std::size_t f = 0; f < clip_.frames; ++f)
        values.push_back(static_cast<float>(factor * static_cast<double>(cut[f * width + i])));
      std::vector<std::int64_t> times = times_;
      if (still) {
        values = {values.front(), values.back()};
        times = {times.front(), times.back()};
      }
      const Id curve = objects_.add("AnimationCurve", [times = std::move(times), values = std::move(values)](
                                                          Writer& out, Id id) { write_curve(times, values, out, id); });
      objects_.connect(curve, node, parts[i]);
    }
  }

 private:
  Clip clip_;
  std::vector<std::int64_t> times_;
  ObjectList& objects_;
  Id layer_ = 0;
};

/// What Takes says about a clip.
struct Take {
  std::string name;
  std::int64_t start = 0;
  std::int64_t stop = 0;
};

/// Corrections of the rig in the file: which, and the channels that act for each.
struct Shapes {
  std::vector<std::size_t> ranks;
  std::vector<std::vector<Id>> channels;
};

std::vector<Take> add_clips(const Rig& rig, const std::vector<Clip>& clips, const MotionNodes& motion,
                            const Skeleton& skeleton, const Shapes& shapes, ObjectList& objects) {
  static const std::vector<const char*> kAxes{"d|X", "d|Y", "d|Z"};
  std::vector<Take> takes;
  gltf::Names names(true);
  if (rig.frame_count() == 0) return takes;
  for (const Clip& clip : clips) {
    const std::vector<std::int64_t> times = key_ticks(rig, clip);
    takes.push_back({names.take(clip.name, "motion"), times.front(), times.back()});
    ClipWriter out(clip, times, takes.back().name, objects);
    for (std::size_t n = 0; n < motion.nodes.size(); ++n) {
      const MotionNode& node = motion.nodes[n];
      const Id model = skeleton.models[n];
      const auto rest = [&](int column) { return std::span<const float>(node.rest.data() + 3 * column, 3); };
      if (!all_equal(node.translation, 3, rest(0)))
        out.add("T", "Lcl Translation", model, kAxes, node.translation, 1, false);
      out.add("R", "Lcl Rotation", model, kAxes, node.rotation, 1, n == 0);  // one track names all times
      if (!node.scale.empty()) out.add("S", "Lcl Scaling", model, kAxes, node.scale, 1, false);
    }
    for (std::size_t i = 0; i < shapes.ranks.size(); ++i) {
      const auto column = rig.corrections->coefficients.col(static_cast<Eigen::Index>(shapes.ranks[i]));
      for (const Id channel : shapes.channels[i])
        out.add("DeformPercent", "DeformPercent", channel, {"d|DeformPercent"},
                std::span<const float>(column.data(), rig.frame_count()), 100, false);
    }
  }
  return takes;
}

void write_takes(const std::vector<Take>& takes, Writer& out) {
  out.open("Takes");
  out.leaf("Current", {takes.empty() ? std::string() : takes.front().name});
  for (const Take& take : takes) {
    out.open("Take", {take.name});
    out.leaf("FileName", {take.name + ".tak"});
    out.leaf("LocalTime", {take.start, take.stop});
    out.leaf("ReferenceTime", {take.start, take.stop});
    out.close();
  }
  out.close();
}

}  // namespace
}  // namespace fbx

std::vector<std::byte> fbx_bytes(const Rig& rig, const WriteOptions& options) {
  rig.check();
  if (rig.vertex_count() == 0) throw Error(ErrorKind::output, "FBX: a mesh without vertices cannot be written");
  if (rig.vertex_count() > 0x7FFFFFFF)
    throw Error(ErrorKind::output, fmt::format("FBX: {} vertices, fewer than 2^31 fit", rig.vertex_count()));
  const std::vector<Clip> clips = gltf::clips_of(rig);
  const fbx::MotionNodes motion = fbx::motion_nodes(rig, clips, options.bake_shear);
  fbx::ObjectList objects;
  gltf::Names names(true);
  const fbx::Skeleton skeleton = fbx::add_skeleton(motion, names, objects);
  const std::vector<fbx::WrittenPiece> pieces = fbx::add_meshes(rig.rest, names, objects);
  const std::vector<Eigen::Affine3d> places = fbx::rest_places(motion);
  fbx::add_bind_pose(pieces, skeleton, places, objects);
  fbx::Shapes shapes{gltf::effective_corrections(rig), {}};
  shapes.channels = fbx::add_shapes(rig, shapes.ranks, pieces, objects);
  fbx::add_skins(rig, motion, skeleton, places, pieces, objects);
  const std::vector<fbx::Take> takes = fbx::add_clips(rig, clips, motion, skeleton, shapes, objects);
  fbx::Writer out;
  fbx::write_header(rig, motion.hierarchy, options.generator, out);
  fbx::write_settings(fbx::rate_of(rig), takes.empty() ? 0 : takes.front().start,
                      takes.empty() ? fbx::kTicksPerSecond : takes.front().stop, out);
  objects.write(out);
  fbx::write_takes(takes, out);
  return out.finish();
}

void write_fbx(const std::filesystem::path& path, const Rig& rig, const WriteOptions& options) {
  const std::vector<std::byte> bytes = fbx_bytes(rig, options);
  OutputFile file(path);
  file.write(std::span<const std::byte>(bytes));
  file.commit();
}

}  // namespace sinew
