#include "io/scene/scene_shapes.h"

#include <fmt/format.h>

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <map>

#include "core/index.h"
#include "sinew/core/error.h"

namespace sinew {

void refuse(const SkinnedScene& scene, const std::string& sentence) {
  throw Error(ErrorKind::input, fmt::format("{}: {}", scene.file, sentence));
}

std::string name_of(const SkinnedScene& scene, const Target& target) {
  const std::vector<std::string>& names = scene.points(scene.parts[target.part]).target_names;
  return target.target < names.size() ? names[target.target] : fmt::format("target_{}", target.target);
}

std::vector<Eigen::Index> part_starts(const SkinnedScene& scene) {
  std::vector<Eigen::Index> first{0};
  for (const Part& part : scene.parts) first.push_back(first.back() + scene.points(part).positions.cols());
  return first;
}

Eigen::Matrix3d normals_by(const Eigen::Matrix3d& A) {
  return A.inverse().transpose() * std::cbrt(std::abs(A.determinant()));
}

void add_shapes(const SkinnedScene& scene, const std::vector<Target>& targets, const ReadOptions& options, Mesh& rest) {
  std::map<std::string, std::vector<Target>> by_name;
  std::vector<std::string> order;
  for (const Target& target : targets) {
    const ControlPoints& mesh = scene.points(scene.parts[target.part]);
    if (mesh.targets[target.target].isZero(0)) continue;
    const std::string name = name_of(scene, target);
    if (by_name.count(name) == 0) order.push_back(name);
    by_name[name].push_back(target);
  }
  if (static_cast<double>(order.size()) * static_cast<double>(rest.vertex_count()) * 24 >
      static_cast<double>(options.max_bytes))
    refuse(scene, fmt::format("{} morph targets of {} vertices are too many", order.size(), rest.vertex_count()));
  const std::vector<Eigen::Index> first = part_starts(scene);
  for (const std::string& name : order) {
    Shape shape{name, Points::Zero(3, rest.positions.cols()), {}};
    for (const Target& target : by_name[name]) {
      const Part& part = scene.parts[target.part];
      const ControlPoints& mesh = scene.points(part);
      const Eigen::Matrix3d A = part.bind.linear();
      const auto placed = [&](const Points& offsets, const Eigen::Matrix3d& turn) {
        return A.isIdentity(0) ? offsets : Points((turn * offsets.cast<double>()).cast<float>());
      };
      const Eigen::Index count = mesh.positions.cols();
      shape.offsets.middleCols(first[target.part], count) = placed(mesh.targets[target.target], A);
      if (mesh.target_normals.empty() || !invertible(part.bind)) continue;
      if (shape.normal_offsets.cols() == 0) shape.normal_offsets = Points::Zero(3, rest.positions.cols());
      shape.normal_offsets.middleCols(first[target.part], count) =
          placed(mesh.target_normals[target.target], normals_by(A));
    }
    rest.shapes.push_back(std::move(shape));
  }
}

namespace {

/// Keeps the frames of clips in which some slider moves; a single clip may be without a name.
void keep_moving_clips(Blendshapes& shapes) {
  if (shapes.clips.empty() && shapes.times.size() > 1) return;
  std::vector<Eigen::Index> kept;
  std::vector<Clip> clips;
  std::vector<double> times;
  for (const Clip& clip : shapes.clips) {
    const auto rows = shapes.values.middleRows(index(clip.first_frame), index(clip.frames));
    if (((rows.rowwise() - rows.row(0)).array() == 0).all()) continue;
    clips.push_back({clip.name, kept.size(), clip.frames});
    for (std::size_t f = clip.first_frame; f < clip.first_frame + clip.frames; ++f) {
      kept.push_back(index(f));
      times.push_back(shapes.times[f]);
    }
  }
  shapes.values = Eigen::MatrixXf(shapes.values(kept, Eigen::all));
  shapes.times = std::move(times);
  shapes.clips = std::move(clips);
}

}  // namespace

Blendshapes blendshapes_of_scene(const SkinnedScene& scene, Mesh rest, SampledTimes times, const PoseAt& pose_at,
                                 const ReadOptions& options) {
  Blendshapes out;
  out.name = std::filesystem::path(scene.file).stem().string();
  out.rest = std::move(rest);
  std::vector<Target> all;
  std::map<std::string, Target> first;  // whose weight is the slider's value
  for (std::size_t p = 0; p < scene.parts.size(); ++p)
    for (std::size_t t = 0; t < scene.points(scene.parts[p]).targets.size(); ++t) {
      all.push_back({p, t});
      first.try_emplace(name_of(scene, all.back()), all.back());
    }
  if (all.empty()) refuse(scene, "has no morph targets, so it has no sliders");
  add_shapes(scene, all, options, out.rest);
  if (out.rest.shapes.empty()) refuse(scene, "none of its morph targets moves anything");
  const std::size_t frames = times.seconds.size();
  if (static_cast<double>(frames) * static_cast<double>(out.slider_count()) * 4 >
      static_cast<double>(options.max_bytes))
    refuse(scene, fmt::format("{} frames of {} sliders are too many", frames, out.slider_count()));
  out.values.resize(index(frames), index(out.slider_count()));
  for (std::size_t f = 0; f < frames; ++f) {
    const ScenePose pose = pose_at(f);
    for (std::size_t s = 0; s < out.slider_count(); ++s) {
      const Target& target = first.at(out.rest.shapes[s].name);
      out.values(index(f), index(s)) = static_cast<float>(pose.weights[scene.parts[target.part].node][target.target]);
    }
  }
  out.times = std::move(times.seconds);
  out.clips = std::move(times.clips);
  keep_moving_clips(out);
  if (out.times.empty()) play_in_turn(out);
  out.check();
  return out;
}

}  // namespace sinew
