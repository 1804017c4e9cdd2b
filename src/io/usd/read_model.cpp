#include <fmt/format.h>
#include <fnmatch.h>

#include "io/usd/model.h"
#include "io/usd/value.h"

namespace sinew::usd {
namespace {

/// Whether the prim and all above it are shown: not invisible, and meant for rendering.
bool is_shown(const Stage& stage, std::size_t prim) {
  bool purpose_said = false;
  for (int at = static_cast<int>(prim); at > 0; at = stage.prims()[static_cast<std::size_t>(at)].parent) {
    const Prim& here = stage.prims()[static_cast<std::size_t>(at)];
    const Attribute visibility = stage.attribute(here, "visibility");
    // Invisible now and then is visible: a sequence has all its vertices in every frame.
    if (visibility.has_value() && visibility.values->samples.size() <= 1 &&
        stage.text(here, "visibility") == "invisible")
      return false;
    const std::string purpose = purpose_said ? "" : stage.text(here, "purpose");
    purpose_said = purpose_said || !purpose.empty();
    if (purpose == "guide" || purpose == "proxy") return false;
  }
  return true;
}

bool matches(const std::string& pattern, const Prim& prim) {
  const std::string& subject = pattern.find('/') == std::string::npos ? prim.name : prim.path;
  return pattern.empty() || fnmatch(pattern.c_str(), subject.c_str(), 0) == 0;
}

}  // namespace

Model read_model(const Stage& stage, const ReadOptions& options) {
  Model model;
  read_skeletons(stage, model);
  for (const Prim& prim : stage.prims())
    if (prim.type == "Material" &&
        model.material_numbers.emplace(prim.path, static_cast<int>(model.materials.size())).second)
      model.materials.push_back(prim.path);
  std::size_t all = 0;
  std::size_t matching = 0;
  for (std::size_t i = 0; i < stage.prims().size(); ++i) {
    const Prim& prim = stage.prims()[i];
    if (prim.type == "PointInstancer" && options.warn)
      options.warn(fmt::format("{}: <{}> repeats meshes, which is not read", stage.layer().name, prim.path));
    if (prim.type != "Mesh") continue;
    ++all;
    if (!matches(options.mesh, prim)) continue;
    ++matching;
    if (!is_shown(stage, i)) continue;
    MeshPart part = read_mesh(stage, i, model, options);
    if (part.vertex_count() == 0) {
      if (options.warn)
        options.warn(fmt::format("{}: <{}> has no points and is left out", stage.layer().name, prim.path));
      continue;
    }
    read_binding(stage, model, options, part);
    model.parts.push_back(std::move(part));
  }
  if (all == 0) stage.layer().refuse(fmt::format("no mesh found among {} prims", stage.prims().size() - 1));
  if (matching == 0) stage.layer().refuse(fmt::format("none of {} meshes matches '{}'", all, options.mesh));
  if (model.parts.empty()) stage.layer().refuse(fmt::format("all of {} meshes are hidden or without points", matching));
  return model;
}

}  // namespace sinew::usd
