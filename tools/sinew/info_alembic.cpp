#include "info_alembic.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "report.h"
#include "sinew/io/alembic.h"

namespace sinew::tool {
namespace {

std::string counted(std::size_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

/// Counts, times and flags of an object, to follow its name and type.
std::string remarks(const AlembicObject& object) {
  std::vector<std::string> parts;
  if (object.is_mesh) {
    parts.push_back(counted(object.vertices, "vertex", "vertices"));
    parts.push_back(counted(object.faces, "face", "faces"));
  }
  if (object.is_mesh || object.type == "Xform") parts.push_back(counted(object.samples, "sample", "samples"));
  if (object.samples > 1) parts.push_back(fmt::format("{:.6g} .. {:.6g} s", object.first_time, object.last_time));
  if (object.varying_topology) parts.emplace_back("topology changes");
  if (!object.visible) parts.emplace_back("hidden");
  if (!object.instance_of.empty()) parts.push_back("instance of " + object.instance_of);
  return fmt::format("{}", fmt::join(parts, ", "));
}

void print_tree(const std::filesystem::path& path, const AlembicInfo& info) {
  fmt::print("{}: Alembic archive, library {}{}{}, {}\n", path.string(), info.library,
             info.application.empty() ? "" : ", written by ", info.application,
             counted(info.objects.size(), "object", "objects"));
  std::size_t widest = 0;
  for (const AlembicObject& object : info.objects)
    widest = std::max(widest, static_cast<std::size_t>(2 * object.depth) + object.name.size());
  for (const AlembicObject& object : info.objects) {
    const std::string line = fmt::format("{:{}}{}", "", 2 * object.depth, object.name);
    fmt::print("{:<{}}  {:<9}{}\n", line, widest, object.type.empty() ? "-" : object.type, remarks(object));
  }
}

}  // namespace

void print_alembic_info(const std::filesystem::path& path, bool json) {
  const AlembicInfo info = describe_alembic(path);
  if (!json) return print_tree(path, info);
  Json out{{"file", path.string()},
           {"format", "alembic"},
           {"library", info.library},
           {"application", info.application},
           {"objects", Json::array()}};
  for (const AlembicObject& object : info.objects) {
    Json entry{{"path", object.path},
               {"name", object.name},
               {"type", object.type},
               {"depth", object.depth},
               {"visible", object.visible}};
    if (!object.instance_of.empty()) entry["instance_of"] = object.instance_of;
    if (object.is_mesh || object.type == "Xform") {
      entry["samples"] = object.samples;
      if (object.samples > 0) entry["seconds"] = {object.first_time, object.last_time};
    }
    if (object.is_mesh) {
      entry["vertices"] = object.vertices;
      entry["faces"] = object.faces;
      entry["varying_topology"] = object.varying_topology;
    }
    out["objects"].push_back(std::move(entry));
  }
  fmt::print("{}\n", json_text(out));
}

}  // namespace sinew::tool
