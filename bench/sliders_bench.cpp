// What bones that follow sliders cost beside the morph targets they stand for, one core, positions:
//   sliders_bench FACE.glb RIG.glb    RIG.glb is what `sinew solve FACE.glb --blendshapes` wrote; FACE may be any input
//   of it
// Contestants take turns over the same poses, and the smallest time of each counts. The result of the bones is
// verified.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>

#include "sinew/core/error.h"
#include "sinew/io/blendshapes.h"
#include "sinew/runtime/sinew_sliders.h"
#include "sinew/runtime/skin.h"

namespace {

using namespace sinew;

constexpr int kRounds = 30;
constexpr std::size_t kPoses = 50;

/// Offsets of whole meshes, as glTF players that use no sparse accessors keep them.
struct WholeTargets {
  std::vector<std::vector<float>> offsets;  // S of 3V

  explicit WholeTargets(const Blendshapes& face) {
    for (const Shape& shape : face.rest.shapes)
      offsets.emplace_back(shape.offsets.data(), shape.offsets.data() + shape.offsets.size());
  }
  std::size_t bytes() const { return offsets.size() * offsets.front().size() * sizeof(float); }
  void apply(const float* values, float* out) const {
    for (std::size_t s = 0; s < offsets.size(); ++s) {
      if (values[s] == 0) continue;
      const float* const from = offsets[s].data();
      const std::size_t size = offsets[s].size();
      const float value = values[s];
      for (std::size_t i = 0; i < size; ++i) out[i] += value * from[i];
    }
  }
};

/// Offsets of the vertices that a slider moves, with their numbers.
struct MovedTargets {
  struct Target {
    std::vector<std::uint32_t> vertices;
    std::vector<float> offsets;
  };
  std::vector<Target> targets;

  explicit MovedTargets(const Blendshapes& face) {
    for (const Shape& shape : face.rest.shapes) {
      Target& target = targets.emplace_back();
      for (Eigen::Index v = 0; v < shape.offsets.cols(); ++v) {
        if (shape.offsets.col(v).isZero(0)) continue;
        target.vertices.push_back(static_cast<std::uint32_t>(v));
        target.offsets.insert(target.offsets.end(), shape.offsets.col(v).data(), shape.offsets.col(v).data() + 3);
      }
    }
  }
  std::size_t bytes() const {
    std::size_t out = 0;
    for (const Target& target : targets) out += 16 * target.vertices.size();
    return out;
  }
  void apply(const float* values, float* out) const {
    for (std::size_t s = 0; s < targets.size(); ++s) {
      if (values[s] == 0) continue;
      const Target& target = targets[s];
      for (std::size_t i = 0; i < target.vertices.size(); ++i) {
        float* const p = out + 3 * std::size_t{target.vertices[i]};
        for (std::size_t c = 0; c < 3; ++c) p[c] += values[s] * target.offsets[3 * i + c];
      }
    }
  }
};

/// A rig and its map as the runtime has them.
struct Bones {
  runtime::PackedWeights weights;
  std::vector<float> heads, by, palette;
  std::vector<std::uint32_t> bones, sliders;
  sinew_sliders map{};
  sinew_model model{};

  Bones(const Rig& rig, const SliderMap& from) {
    weights = runtime::pack_weights(rig.weights.bones.data(), rig.weights.values.data(), rig.vertex_count(),
                                    static_cast<std::size_t>(rig.weights.influences), rig.bone_count());
    for (const Bone& bone : rig.bones) heads.insert(heads.end(), bone.head.data(), bone.head.data() + 3);
    for (const SliderMap::Entry& entry : from.entries) {
      bones.push_back(entry.bone);
      sliders.push_back(entry.slider);
      by.insert(by.end(), entry.by.begin(), entry.by.begin() + static_cast<std::ptrdiff_t>(from.width()));
    }
    palette.resize(16 * rig.bone_count());
    map = {rig.bone_count(), from.slider_count(), heads.data(),   from.transforms == Transforms::affine ? 1 : 0,
           bones.size(),     bones.data(),        sliders.data(), by.data()};
    model.vertices = rig.vertex_count();
    model.bones = rig.bone_count();
    model.positions = {rig.rest.positions.data(), 12};
    model.weights = weights.view();
  }
  std::size_t bytes() const {
    return weights.values.size() * 4 + weights.indices16.size() * 2 + weights.indices32.size() * 4 +
           4 * (heads.size() + by.size() + bones.size() + sliders.size());
  }
  void apply(const float* values, float* out) {
    sinew_pose_sliders(&map, values, palette.data());
    sinew_poses poses{};
    poses.count = 1;
    poses.palettes = palette.data();
    poses.palette_stride = palette.size() * sizeof(float);
    poses.positions = {out, 12, 12 * model.vertices};
    sinew_skin(&model, &poses);
  }
};

/// Smallest seconds per pose of each contestant.
std::vector<double> race(const std::vector<std::function<void(const float*)>>& contestants,
                         const std::vector<std::vector<float>>& poses) {
  std::vector<double> best(contestants.size(), 1e30);
  for (int round = 0; round < kRounds; ++round)
    for (std::size_t i = 0; i < contestants.size(); ++i) {
      const auto start = std::chrono::steady_clock::now();
      for (const std::vector<float>& values : poses) contestants[i](values.data());
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      best[i] = std::min(best[i], seconds.count() / static_cast<double>(poses.size()));
    }
  return best;
}

std::vector<std::vector<float>> rows_of(const Eigen::MatrixXf& values) {
  std::vector<std::vector<float>> out;
  const Eigen::Index step = std::max<Eigen::Index>(1, values.rows() / static_cast<Eigen::Index>(kPoses));
  for (Eigen::Index f = 0; f < values.rows(); f += step) {
    const Eigen::VectorXf row = values.row(f);
    out.emplace_back(row.data(), row.data() + row.size());
  }
  return out;
}

double largest_difference(const Rig& rig, const SliderMap& map, Bones& bones, const std::vector<float>& values) {
  Rig posed = rig;
  posed.motion = slider_motion(
      map, rig.bones, Eigen::Map<const Eigen::RowVectorXf>(values.data(), static_cast<Eigen::Index>(values.size())));
  Points expected(3, rig.rest.positions.cols());
  pose(posed, 0, expected);
  Points got(3, expected.cols());
  bones.apply(values.data(), got.data());
  return static_cast<double>((got - expected).cwiseAbs().maxCoeff());
}

int run(const char* face_file, const char* rig_file) {
  const std::string extension = lower_extension(face_file);
  const Blendshapes face = extension == ".glb" || extension == ".gltf" ? read_gltf_blendshapes(face_file)
                                                                       : blendshapes_of(read_sequence({face_file}));
  const Rig rig = read_rig(rig_file);
  const auto map = read_sliders(rig_file, rig);
  if (!map) throw Error(ErrorKind::input, fmt::format("{}: has no sliders", rig_file));
  const WholeTargets whole(face);
  const MovedTargets moved(face);
  Bones bones(rig, *map);
  const std::size_t V = rig.vertex_count();
  std::vector<float> out(3 * V);
  const auto rest = [&] { std::memcpy(out.data(), rig.rest.positions.data(), 12 * V); };
  fmt::print("{} vertices, {} sliders, {} bones, {} entries, {}\n", V, map->slider_count(), rig.bone_count(),
             map->entries.size(), sinew_runtime_target());
  fmt::print(
      "bytes beside the rest pose: morph targets {}, of moved vertices {}, bones {}: {:.1f} and {:.1f} times less\n",
      whole.bytes(), moved.bytes(), bones.bytes(),
      static_cast<double>(whole.bytes()) / static_cast<double>(bones.bytes()),
      static_cast<double>(moved.bytes()) / static_cast<double>(bones.bytes()));
  const std::vector<std::pair<const char*, std::vector<std::vector<float>>>> sets{
      {"frames", rows_of(face.values)},
      {"random expressions", rows_of(random_slider_values(kPoses, map->slider_count(), 1))}};
  for (const auto& [name, poses] : sets) {
    double acting = 0;
    for (const auto& values : poses)
      acting += static_cast<double>(std::count_if(values.begin(), values.end(), [](float x) { return x != 0; }));
    const std::vector<double> t =
        race({[&](const float* values) { rest(), whole.apply(values, out.data()); },
              [&](const float* values) { rest(), moved.apply(values, out.data()); },
              [&](const float* values) { bones.apply(values, out.data()); },
              [&](const float* values) { sinew_pose_sliders(&bones.map, values, bones.palette.data()); }},
             poses);
    fmt::print(
        "{} ({:.0f} sliders act): morph targets {:.1f} µs, of moved vertices {:.1f} µs, bones {:.1f} µs (of it sliders "
        "{:.2f}): {:.2f} and {:.2f} times faster; off by {:.1e}\n",
        name, acting / static_cast<double>(poses.size()), 1e6 * t[0], 1e6 * t[1], 1e6 * t[2], 1e6 * t[3], t[0] / t[2],
        t[1] / t[2], largest_difference(rig, *map, bones, poses.back()));
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    fmt::print(stderr, "sliders_bench FACE RIG.glb\n");
    return 2;
  }
  try {
    return run(arguments[1], arguments[2]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "sliders_bench: {}\n", error.what());
    return 1;
  }
}
