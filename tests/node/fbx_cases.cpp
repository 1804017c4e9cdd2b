/// Writes what the scripts in this folder check: fbx_cases FOLDER. Every rig of the glTF tests and some that only FBX
/// treats in a way of its own as NAME.fbx, with a NAME.json that says which frames there are and a NAME.f32 with our
/// rest positions (V×3) and those of all frames (F×V×3). Readers of FBX split and reorder vertices: they are told by
/// their place at rest. Models of others whose scale is inherited in different ways are NAME.fbx with "static": true
/// and our positions as their one frame; skeletons are NAME.bvh as well, with the places of their joints.
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "io/fbx/fbx_builder.h"
#include "io/fbx/fbx_rigs.h"
#include "sinew/core/error.h"
#include "sinew/io/bvh.h"
#include "sinew/io/fbx.h"
#include "sinew/io/output_file.h"

namespace {

namespace fs = std::filesystem;
using namespace sinew;

void write_floats(std::ofstream& out, const float* values, std::size_t count) {
  out.write(reinterpret_cast<const char*>(values), static_cast<std::streamsize>(count * sizeof(float)));
}

void write_case(const fs::path& folder, const std::string& name, const Rig& rig) {
  const fs::path file = folder / (name + ".fbx");
  write_fbx(file, rig, {.bake_shear = true});
  const Sequence sequence = pose_all(rig);
  const Points& rest = rig.rest.positions;
  nlohmann::json out = {{"file", fs::absolute(file).string()},
                        {"vertices", rig.vertex_count()},
                        {"faces", rig.rest.face_count()},
                        {"influences", rig.weights.influences},
                        {"diagonal", (rest.rowwise().maxCoeff() - rest.rowwise().minCoeff()).norm()},
                        {"times", rig.times},
                        {"clips", nlohmann::json::array()},
                        {"materials", nlohmann::json::array()}};
  for (const Clip& clip : rig.clips)
    out["clips"].push_back({{"name", clip.name}, {"first", clip.first_frame}, {"frames", clip.frames}});
  if (rig.clips.empty() && rig.frame_count() > 0)
    out["clips"].push_back({{"name", "motion"}, {"first", 0}, {"frames", rig.frame_count()}});
  for (const Material& material : rig.rest.appearance.materials) out["materials"].push_back(material.name);
  std::ofstream(folder / (name + ".json")) << out.dump();
  std::ofstream positions(folder / (name + ".f32"), std::ios::binary);
  write_floats(positions, rest.data(), static_cast<std::size_t>(rest.size()));
  write_floats(positions, sequence.frames.data().data(), sequence.frames.data().size());
}

/// A file of others without animation; its meshes where we put them.
void write_static(const fs::path& folder, const test::BuiltCase& entry) {
  const fs::path file = folder / (entry.name + ".fbx");
  OutputFile out(file);
  out.write(std::span<const std::byte>(test::build_fbx(entry.file)));
  out.commit();
  const Sequence sequence = read_fbx_sequence(file);
  const Points& rest = sequence.rest.positions;
  const nlohmann::json facts = {{"file", fs::absolute(file).string()},
                                {"static", true},
                                {"vertices", sequence.vertex_count()},
                                {"diagonal", (rest.rowwise().maxCoeff() - rest.rowwise().minCoeff()).norm()}};
  std::ofstream(folder / (entry.name + ".static.json")) << facts.dump();
  std::ofstream positions(folder / (entry.name + ".static.f32"), std::ios::binary);
  write_floats(positions, rest.data(), static_cast<std::size_t>(rest.size()));
  write_floats(positions, sequence.frames.data().data(), sequence.frames.data().size());
}

/// The skeleton alone: for every frame and bone where its head is.
void write_skeleton(const fs::path& folder, const std::string& name, const Rig& rig) {
  write_bvh(folder / (name + ".bvh"), rig);
  nlohmann::json facts = {{"times", rig.times}, {"bones", nlohmann::json::array()}};
  for (std::size_t b = 0; b < rig.bone_count(); ++b) {
    nlohmann::json heads = nlohmann::json::array();
    for (std::size_t f = 0; f < rig.frame_count(); ++f) {
      const Vector3 head = rig.motion(f, b) * rig.bones[b].head.homogeneous();
      heads.push_back({head.x(), head.y(), head.z()});
    }
    facts["bones"].push_back({{"name", rig.bones[b].name}, {"heads", heads}});
  }
  std::ofstream(folder / (name + ".bones")) << facts.dump();
}

/// A chain and a second root beside it.
Rig two_chains() {
  Rig rig = test::chain_rig(8, 6, 5);
  rig.bones[4].parent = -1;
  return rig;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) return 2;
  try {
    fs::remove_all(arguments[1]);
    fs::create_directories(arguments[1]);
    for (const auto& entry : test::fbx_cases()) write_case(arguments[1], entry.name, entry.rig);
    for (const auto& entry : test::inherit_cases()) write_static(arguments[1], entry);
    write_skeleton(arguments[1], "chain", test::chain_rig(8, 6, 5));
    write_skeleton(arguments[1], "two_chains", two_chains());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fbx_cases: %s\n", error.what());
    return 1;
  }
}
