#include <algorithm>
#include <cmath>

#include "io/fbx/model.h"
#include "sinew/core/error.h"
#include "sinew/io/fbx.h"
#include "sinew/io/output_file.h"

namespace sinew {
namespace {

void check_rate(const ReadOptions& options) {
  if (!(options.frames_per_second >= 0) || !std::isfinite(options.frames_per_second))
    throw Error(ErrorKind::usage, "frames per second must be 0 or more");
}

}  // namespace

Sequence parse_fbx_sequence(std::span<const std::byte> bytes, const ReadOptions& options, const std::string& name) {
  check_rate(options);
  const fbx::Tree tree = fbx::parse_tree(bytes, name);
  const fbx::Document document(tree);
  const fbx::Model model = fbx::read_model(document, options);
  return sequence_of_scene(fbx::skinned_scene(document, model), fbx::rest_mesh(document, model, options),
                           fbx::sampled_times(model), fbx::poses(model), options);
}

Rig parse_fbx_rig(std::span<const std::byte> bytes, const ReadOptions& options, const std::string& name) {
  check_rate(options);
  const fbx::Tree tree = fbx::parse_tree(bytes, name);
  const fbx::Document document(tree);
  const fbx::Model model = fbx::read_model(document, options);
  if (std::none_of(model.parts.begin(), model.parts.end(), [](const Part& part) { return part.skinned; }))
    tree.refuse("has no skin, so it is no rig");
  Rig rig = rig_of_scene(fbx::skinned_scene(document, model), fbx::rest_mesh(document, model, options),
                         fbx::sampled_times(model), fbx::poses(model), options);
  rig.check();
  return rig;
}

Sequence read_fbx_sequence(const std::filesystem::path& path, const ReadOptions& options) {
  return parse_fbx_sequence(read_file(path), options, path.string());
}

Rig read_fbx_rig(const std::filesystem::path& path, const ReadOptions& options) {
  return parse_fbx_rig(read_file(path), options, path.string());
}

}  // namespace sinew
