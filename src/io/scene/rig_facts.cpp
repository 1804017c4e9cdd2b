#include "io/scene/rig_facts.h"

#include "io/gltf/write_mesh.h"
#include "io/json_text.h"

namespace sinew {

using Json = nlohmann::json;

namespace {

Json drive_facts(const HelperDrive& drive) {
  Json out = {{"bone", drive.bone}, {"constant", Json::array()}, {"inputs", Json::array()}};
  for (Eigen::Index i = 0; i < 6; ++i) out["constant"].push_back(drive.constant[i]);
  for (const HelperDrive::Input& input : drive.inputs) {
    Json by = Json::array();  // 6×3, row by row
    for (Eigen::Index i = 0; i < 18; ++i) by.push_back(input.by(i / 3, i % 3));
    out["inputs"].push_back({{"joint", input.joint}, {"by", std::move(by)}});
  }
  return out;
}

}  // namespace

Json rig_facts(const Rig& rig, bool hierarchy) {
  Json sinew = {{"format", 1},
                {"transforms", rig.transforms == Transforms::rigid ? "rigid" : "affine"},
                {"jointed", rig.jointed},
                {"influences", rig.weights.influences},
                {"frames", rig.frame_count()},
                {"clips", !rig.clips.empty()}};
  for (const Bone& bone : rig.bones) {
    Json entry = {{"name", bone.name}, {"tail", {bone.tail.x(), bone.tail.y(), bone.tail.z()}}};
    if (!hierarchy && bone.parent >= 0) entry["parent"] = bone.parent;
    if (bone.helper) entry["helper"] = true;
    sinew["bones"].push_back(std::move(entry));
  }
  for (const HelperDrive& drive : rig.drives) sinew["drives"].push_back(drive_facts(drive));
  if (!rig.rest.pieces.empty())
    for (const Piece& piece : rig.rest.pieces)
      if (piece.vertices > 0) sinew["pieces"].push_back(piece.name);
  if (rig.rest.normals.empty() && !rig.rest.flat) sinew["normals"] = "computed";
  for (const auto& uv : rig.rest.uv_sets) sinew["uv_names"].push_back(uv.name);
  for (const auto& color : rig.rest.color_sets) sinew["color_names"].push_back(color.name);
  if (!rig.rest.shapes.empty()) sinew["corrections"] = gltf::effective_corrections(rig).size();
  if (rig.notes.empty()) return sinew;
  Json notes = parse_json(rig.notes);
  if (notes.is_discarded())
    sinew["notes_text"] = rig.notes;
  else
    sinew["notes"] = std::move(notes);
  return sinew;
}

}  // namespace sinew
