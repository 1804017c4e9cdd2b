#include "io/rig_facts.h"

#include "io/glb_mesh.h"
#include "io/json_text.h"

namespace sinew {

using Json = nlohmann::json;

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
    sinew["bones"].push_back(std::move(entry));
  }
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
