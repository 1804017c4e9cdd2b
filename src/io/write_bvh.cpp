#include <fmt/format.h>

#include <algorithm>

#include "io/fbx/motion.h"
#include "io/gltf/builder.h"
#include "io/gltf/write_motion.h"
#include "io/scene/sequence_times.h"
#include "sinew/core/error.h"
#include "sinew/io/bvh.h"
#include "sinew/io/output_file.h"

namespace sinew {
namespace {

/// A joint of the file: a bone, or the common root of several.
struct BvhJoint {
  std::string name;
  int bone = -1;
  Vector3 offset = Vector3::Zero();
  bool moves = false;
  std::vector<std::size_t> children;
};

std::string numbers(const Vector3& v) {
  return fmt::format("{} {} {}", v.x(), v.y(), v.z());
}

/// Joints in the order of the file: depth first.
std::vector<BvhJoint> joints_of(const Rig& rig) {
  gltf::Names names(true);
  std::vector<BvhJoint> out;
  const auto tops = std::count_if(rig.bones.begin(), rig.bones.end(), [](const Bone& bone) { return bone.parent < 0; });
  std::vector<std::string> own;
  for (std::size_t b = 0; b < rig.bone_count(); ++b)
    own.push_back(names.take(rig.bones[b].name, fmt::format("bone_{}", b)));
  if (tops > 1) out.push_back({names.take("skeleton", "skeleton"), -1, Vector3::Zero(), true, {}});
  const std::size_t first = out.size();
  for (std::size_t b = 0; b < rig.bone_count(); ++b) {
    const Bone& bone = rig.bones[b];
    const bool top = bone.parent < 0;
    const Vector3 from = top ? bone.head : rig.bones[static_cast<std::size_t>(bone.parent)].head;
    // Readers add the offset of a joint to its position: one that moves has none.
    out.push_back({own[b], static_cast<int>(b), bone.head - from, top, {}});
    if (!top)
      out[first + static_cast<std::size_t>(bone.parent)].children.push_back(out.size() - 1);
    else if (first == 1)
      out[0].children.push_back(out.size() - 1);
  }
  return out;
}

void write_joint(const Rig& rig, const std::vector<BvhJoint>& joints, std::size_t j, const std::string& indent,
                 std::string& out, std::vector<std::size_t>& order) {
  const BvhJoint& joint = joints[j];
  order.push_back(j);
  out += fmt::format("{}{} {}\n{}{{\n{}\tOFFSET {}\n", indent, order.size() == 1 ? "ROOT" : "JOINT", joint.name, indent,
                     indent, numbers(joint.offset));
  out += joint.moves
             ? fmt::format("{}\tCHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation\n", indent)
             : fmt::format("{}\tCHANNELS 3 Zrotation Yrotation Xrotation\n", indent);
  for (const std::size_t child : joint.children) write_joint(rig, joints, child, indent + "\t", out, order);
  if (joint.children.empty()) {
    const Bone& bone = rig.bones[static_cast<std::size_t>(joint.bone)];
    out += fmt::format("{0}\tEnd Site\n{0}\t{{\n{0}\t\tOFFSET {1}\n{0}\t}}\n", indent, numbers(bone.tail - bone.head));
  }
  out += indent + "}\n";
}

double frame_time(const Rig& rig, const std::vector<Clip>& clips) {
  Sequence shape;
  shape.times = rig.times;
  shape.clips = clips;
  const std::vector<double> times = continuous_times(shape);
  const double span = times.back() - times.front();
  return times.size() > 1 && span > 0 ? span / static_cast<double>(times.size() - 1) : kDefaultSecondsPerFrame;
}

}  // namespace

std::string format_bvh(const Rig& rig) {
  rig.check();
  if (!rig.jointed)
    throw Error(ErrorKind::output, "BVH: the rig has no skeleton, only free bones; solve with --skeleton");
  if (rig.frame_count() == 0) throw Error(ErrorKind::output, "BVH: a rig without frames cannot be written");
  const std::vector<Clip> clips = gltf::clips_of(rig);
  const fbx::MotionNodes motion = fbx::motion_nodes(rig, clips, false);
  for (const fbx::MotionNode& node : motion.nodes)
    if (!node.scale.empty())
      throw Error(ErrorKind::output,
                  fmt::format("BVH: bone '{}' stretches; joints of a BVH file turn and move", node.name));
  const std::vector<BvhJoint> joints = joints_of(rig);
  std::string out = "HIERARCHY\n";
  std::vector<std::size_t> order;
  write_joint(rig, joints, 0, "", out, order);
  out += fmt::format("MOTION\nFrames: {}\nFrame Time: {}\n", rig.frame_count(), frame_time(rig, clips));
  for (std::size_t f = 0; f < rig.frame_count(); ++f) {
    std::string line;
    for (const std::size_t j : order) {
      if (joints[j].bone < 0) {
        line += " 0 0 0 0 0 0";
        continue;
      }
      const fbx::MotionNode& node = motion.nodes[motion.of_bone[static_cast<std::size_t>(joints[j].bone)]];
      const float* const t = node.translation.data() + 3 * f;
      const float* const r = node.rotation.data() + 3 * f;
      if (joints[j].moves) line += fmt::format(" {} {} {}", t[0], t[1], t[2]);
      line += fmt::format(" {} {} {}", r[2], r[1], r[0]);
    }
    out += line.substr(1) + "\n";
  }
  return out;
}

void write_bvh(const std::filesystem::path& path, const Rig& rig) {
  const std::string text = format_bvh(rig);
  OutputFile file(path);
  file.write(std::string_view(text));
  file.commit();
}

}  // namespace sinew
