#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "io/gltf/chunks.h"
#include "io/gltf/document.h"
#include "io/json_text.h"
#include "sinew/core/error.h"
#include "sinew/io/gltf.h"
#include "sinew/io/gltf_levels.h"
#include "sinew/io/output_file.h"
#include "sinew/io/two_layer_gltf.h"

/// Levels of detail: the file is read once per level, with the meshes of that level in the place of the finest.
namespace sinew {
namespace {

using gltf::Json;

constexpr std::size_t kJsonStart = 20;  // of a GLB up to its JSON
constexpr std::size_t kMostLevels = 32;

/// The nodes that a node names as its coarser levels; empty where it names none.
std::vector<std::size_t> coarser(const gltf::Document& document, const Json& node, std::size_t number) {
  const std::string where = fmt::format("node {}", number);
  const Json* extensions = document.find(node, "extensions");
  const Json* lod = extensions != nullptr && extensions->is_object() ? document.find(*extensions, "MSFT_lod") : nullptr;
  if (lod == nullptr || !lod->is_object()) return {};
  std::vector<std::size_t> out;
  for (const Json& id : document.array(*lod, "ids", where)) out.push_back(document.index_value(id, "nodes", where));
  if (out.size() > kMostLevels)
    document.refuse(fmt::format("{} has {} levels of detail, at most {} are read", where, out.size(), kMostLevels));
  return out;
}

/// The JSON of the file with the meshes of a level (1: the first coarser one) where those of the finest are.
Json root_at(const gltf::Document& document, std::size_t level) {
  Json root = document.root();
  for (std::size_t i = 0; i < document.size("nodes"); ++i) {
    const std::vector<std::size_t> ids = coarser(document, document.at("nodes", i), i);
    if (ids.empty()) continue;
    const Json& from = document.at("nodes", ids[std::min(level, ids.size()) - 1]);
    for (const char* key : {"mesh", "skin"}) {
      if (from.contains(key))
        root["nodes"][i][key] = from[key];
      else
        root["nodes"][i].erase(key);
    }
  }
  if (root.contains("extensions") && root["extensions"].is_object())
    root["extensions"].erase(std::string(kTwoLayerExtension));  // of the finest level
  return root;
}

/// The same file with another JSON.
std::vector<std::byte> with_json(std::span<const std::byte> glb, const Json& root) {
  std::string text = json_text(root);
  text.resize((text.size() + 3) / 4 * 4, ' ');
  std::uint32_t old = 0;
  std::memcpy(&old, glb.data() + 12, sizeof old);
  const std::span<const std::byte> rest = glb.subspan(kJsonStart + old);
  const std::uint32_t words[] = {gltf::kMagic, 2, static_cast<std::uint32_t>(kJsonStart + text.size() + rest.size()),
                                 static_cast<std::uint32_t>(text.size()), gltf::kJsonChunk};
  std::vector<std::byte> out(sizeof words + text.size() + rest.size());
  std::memcpy(out.data(), words, sizeof words);
  std::memcpy(out.data() + sizeof words, text.data(), text.size());
  if (!rest.empty()) std::memcpy(out.data() + sizeof words + text.size(), rest.data(), rest.size());
  return out;
}

bool is_glb(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  return lower_extension(path) == ".glb" && bytes.size() >= kJsonStart && std::memcmp(bytes.data(), "glTF", 4) == 0;
}

std::size_t coarser_levels(const gltf::Document& document) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < document.size("nodes"); ++i)
    count = std::max(count, coarser(document, document.at("nodes", i), i).size());
  return count;
}

}  // namespace

std::size_t count_rig_levels(const std::filesystem::path& path) {
  if (lower_extension(path) != ".glb") return 1;
  const std::vector<std::byte> bytes = read_file(path);
  return is_glb(path, bytes) ? 1 + coarser_levels(gltf::Document(bytes, path.parent_path(), path.string())) : 1;
}

std::vector<Rig> read_rig_levels(const std::filesystem::path& path, const ReadOptions& options) {
  std::vector<Rig> levels{read_rig(path, options)};
  if (lower_extension(path) != ".glb") return levels;
  const std::vector<std::byte> bytes = read_file(path);
  if (!is_glb(path, bytes)) return levels;
  const gltf::Document document(bytes, path.parent_path(), path.string());
  const std::size_t count = coarser_levels(document);
  ReadOptions quiet = options;  // the finest level has said what there is to say
  quiet.warn = {};
  for (std::size_t level = 1; level <= count; ++level) {
    Rig rig = parse_gltf_rig(with_json(bytes, root_at(document, level)), path.parent_path(), quiet,
                             fmt::format("{}, level {}", path.string(), level));
    if (rig.bone_count() != levels[0].bone_count() || rig.frame_count() != levels[0].frame_count())
      throw Error(ErrorKind::input,
                  fmt::format("{}: level {} has {} bones and {} frames, the finest {} and {}", path.string(), level,
                              rig.bone_count(), rig.frame_count(), levels[0].bone_count(), levels[0].frame_count()));
    levels.push_back(std::move(rig));
  }
  return levels;
}

}  // namespace sinew
