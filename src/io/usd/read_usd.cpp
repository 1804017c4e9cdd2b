#include <fmt/format.h>

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "io/frame_choice.h"
#include "io/scene/skinned_scene.h"
#include "io/usd/model.h"
#include "io/usd/package.h"
#include "io/usd/scene.h"
#include "io/usd/value.h"
#include "sinew/core/error.h"
#include "sinew/io/output_file.h"
#include "sinew/io/usd.h"

namespace sinew {
namespace usd {
namespace {

/// Positions of a part whose points move, at a time code; `out` has room for them.
void read_points(const Layer& layer, const MeshPart& part, double code, float* out) {
  const Property& points = *part.points.values;
  const std::size_t count = 3 * part.vertex_count();
  const SampleAt at = locate(points, code);
  const auto load = [&](std::size_t sample, float* to) {
    try {
      read_floats(layer, points.samples[sample].second, 3, to, count);
    } catch (const Error& error) {
      throw Error(ErrorKind::input, fmt::format("{} (points of '{}' at time code {}; its topology may change)",
                                                error.what(), part.name, points.samples[sample].first));
    }
  };
  load(at.first, out);
  if (at.blend == 0) return;
  std::vector<float> next(count);
  load(at.first + 1, next.data());
  for (std::size_t i = 0; i < count; ++i)
    out[i] = static_cast<float>(out[i] + at.blend * (static_cast<double>(next[i]) - static_cast<double>(out[i])));
}

/// All parts in one frame; `out` is 3×V. Parts whose points move take them as their new positions at rest.
void pose_frame(UsdScene& scene, const FrameCode& frame, PointsMap out) {
  const ScenePose pose = scene.pose_at(frame);
  Eigen::Index first = 0;
  for (std::size_t p = 0; p < scene.model.parts.size(); ++p) {
    MeshPart& part = scene.model.parts[p];
    const Eigen::Index count = part.control.positions.cols();
    const bool plain = !part.skinned() && part.control.targets.empty();
    if (part.moves()) {
      float* const to = plain ? out.data() + 3 * first : part.control.positions.data();
      read_points(scene.stage.layer(), part, frame.code, to);
    }
    const Part& place = scene.skinned.parts[p];
    const Eigen::Affine3d& world = pose.global[place.node];
    if (part.moves() && plain) {
      if (!world.matrix().isIdentity(0)) {
        PointsMap points(out.data() + 3 * first, 3, count);
        for (Eigen::Index v = 0; v < count; ++v) points.col(v) = (world * points.col(v).cast<double>()).cast<float>();
      }
    } else {
      pose_part(part.control, place, pose, out.middleCols(first, count));
    }
    first += count;
  }
}

Sequence read_frames(UsdScene& scene, const Fetch& fetch, const ReadOptions& options, const std::string& name) {
  const Timeline timeline = timeline_of(scene, options);
  const std::vector<std::size_t> kept = kept_frames(name, timeline.frames.size(), options);
  Sequence out;
  out.name = std::filesystem::path(name).stem().string();
  out.rest = scene.rest_mesh(fetch, options);
  const std::size_t vertices = out.vertex_count();
  if (kept.size() > options.max_bytes / (12 * vertices))
    scene.stage.layer().refuse(
        fmt::format("{} frames of {} vertices are more than the limit of {} bytes; choose fewer "
                    "frames",
                    kept.size(), vertices, options.max_bytes));
  if (const auto rest = rest_frame_number(options.rest)) {
    if (*rest >= timeline.frames.size())
      throw Error(ErrorKind::usage,
                  fmt::format("rest frame {}: {} has {} frames, counted from 0", *rest, name, timeline.frames.size()));
    pose_frame(scene, timeline.frames[*rest], PointsMap(out.rest.positions.data(), 3, out.rest.positions.cols()));
    out.rest.normals = {};
  }
  out.frames = Frames(kept.size(), vertices, options.paging);
  for (std::size_t f = 0; f < kept.size(); ++f) {
    pose_frame(scene, timeline.frames[kept[f]], out.frames[f]);
    out.times.push_back(timeline.seconds[kept[f]]);
  }
  for (const Clip& clip : timeline.clips) {  // clips keep the frames that are left of them
    const auto inside = [&](std::size_t f) { return f >= clip.first_frame && f < clip.first_frame + clip.frames; };
    const auto first = std::find_if(kept.begin(), kept.end(), inside);
    const auto frames = static_cast<std::size_t>(std::count_if(kept.begin(), kept.end(), inside));
    if (frames > 0) out.clips.push_back({clip.name, static_cast<std::size_t>(first - kept.begin()), frames});
  }
  out.check();
  return out;
}

Rig read_bones(UsdScene& scene, const Fetch& fetch, const ReadOptions& options) {
  const auto& parts = scene.model.parts;
  if (std::none_of(parts.begin(), parts.end(), [](const MeshPart& part) { return part.skinned(); }))
    scene.stage.layer().refuse("has no skin, so it is no rig");
  for (const MeshPart& part : parts)
    if (part.moves())
      scene.stage.layer().refuse(
          fmt::format("the points of '{}' move by themselves, so it is a sequence and no rig", part.name));
  const Timeline timeline = timeline_of(scene, options);
  Rig rig = rig_of_scene(
      scene.skinned, scene.rest_mesh(fetch, options), {timeline.seconds, timeline.clips},
      [&](std::size_t f) { return scene.pose_at(timeline.frames[f]); }, options);
  rig.check();
  return rig;
}

}  // namespace
}  // namespace usd

Sequence parse_usd_sequence(std::span<const std::byte> bytes, const std::filesystem::path& folder,
                            const ReadOptions& options, const std::string& name) {
  const usd::Package package = usd::open_package(bytes, folder, name);
  usd::UsdScene scene(usd::parse_layer(package.text, package.name), options);
  return usd::read_frames(scene, package.fetch, options, name);
}

Rig parse_usd_rig(std::span<const std::byte> bytes, const std::filesystem::path& folder, const ReadOptions& options,
                  const std::string& name) {
  const usd::Package package = usd::open_package(bytes, folder, name);
  usd::UsdScene scene(usd::parse_layer(package.text, package.name), options);
  return usd::read_bones(scene, package.fetch, options);
}

Sequence read_usd_sequence(const std::filesystem::path& path, const ReadOptions& options) {
  return parse_usd_sequence(read_file(path), path.parent_path(), options, path.string());
}

Rig read_usd_rig(const std::filesystem::path& path, const ReadOptions& options) {
  return parse_usd_rig(read_file(path), path.parent_path(), options, path.string());
}

}  // namespace sinew
