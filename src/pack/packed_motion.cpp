#include "pack/packed_motion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "core/index.h"
#include "io/gltf/write_motion.h"
#include "pack/stream.h"
#include "sinew/core/error.h"

namespace sinew::pack {
namespace {

using gltf::GlbBuilder;
using gltf::Json;
using gltf::Use;
using Component = GltfArray::Component;

/// The times of a clip in the file: all of them, or the first alone for what is still.
using Input = std::function<std::size_t(bool still)>;

class MotionWriter {
 public:
  MotionWriter(const Rounded& rounded, const AnimatedNodes& nodes, const std::vector<std::size_t>& targets,
               const PackOptions& options, const char* extension, GlbBuilder& out)
      : rounded_(rounded),
        rig_(rounded.rig),
        nodes_(nodes),
        targets_(targets),
        options_(options),
        extension_(extension),
        out_(out) {}

  void add_animations();

 private:
  struct Tracks {
    Stream times{4, Use::data};
    Stream translations;
    Stream rotations;
    Stream scales;
    Stream morphs{4, Use::data};
  };

  using Frames = std::vector<std::size_t>;

  /// The frames of a clip that have keys.
  Frames keys_of(const Clip& clip) const {
    Frames out;
    for (std::size_t f = clip.first_frame; f < clip.first_frame + clip.frames; ++f)
      if (rounded_.keys.empty() || std::binary_search(rounded_.keys.begin(), rounded_.keys.end(), f)) out.push_back(f);
    return out;
  }

  /// Adds a channel for the keys of a clip; a track that never changes has one. Tracks that are alike share a sampler.
  void add_channel(const Clip& clip, std::size_t node, const char* path, bool still, const Input& input,
                   const std::function<std::size_t(const Frames& frames)>& output, Json& animation) {
    const Frames frames = still ? Frames{clip.first_frame} : keys_of(clip);
    const std::size_t times = input(still);
    const auto [sampler, is_new] = samplers_.try_emplace({times, output(frames)}, samplers_.size());
    if (is_new) animation["samplers"].push_back({{"input", times}, {"output", sampler->first.second}});
    animation["channels"].push_back({{"sampler", sampler->second}, {"target", {{"node", node}, {"path", path}}}});
  }

  void add_still_channel(const Clip& clip, const Input& input, Tracks& tracks, Json& animation);
  void add_bone_channels(const Clip& clip, const Input& input, Tracks& tracks, Json& animation);
  void add_morph_channels(const Clip& clip, const Input& input, Tracks& tracks, Json& animation);

  const Rounded& rounded_;
  const Rig& rig_;
  const AnimatedNodes& nodes_;
  const std::vector<std::size_t>& targets_;
  const PackOptions& options_;
  const char* extension_;
  GlbBuilder& out_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> samplers_;  // of the clip, by their accessors
};

/// What stands still, for an animation that needs a channel.
void MotionWriter::add_still_channel(const Clip& clip, const Input& input, Tracks& tracks, Json& animation) {
  const std::size_t from = tracks.morphs.size();
  for (const float x : {0.0F, 0.0F, 0.0F}) tracks.morphs.put(x);
  const std::size_t values = tracks.morphs.accessor(out_, from, Component::f32, "SCALAR", false);
  out_.root["accessors"][values]["type"] = "VEC3";
  out_.root["accessors"][values]["count"] = 1;
  add_channel(
      clip, nodes_.root, "translation", true, input, [&](const Frames&) { return values; }, animation);
}

void MotionWriter::add_bone_channels(const Clip& clip, const Input& input, Tracks& tracks, Json& animation) {
  const Precision& precision = rounded_.precision;
  const auto vectors = [&](Stream& stream, const std::vector<float>& track, bool round, int step) {
    return [&, round, step](const Frames& frames) {
      const std::size_t from = stream.size();
      for (const std::size_t f : frames)
        for (std::size_t i = 3 * f; i < 3 * f + 3; ++i)
          if (round)
            stream.put(exponential(track[i], step));
          else
            stream.put(track[i]);
      return stream.shared_accessor(out_, from, Component::f32, "VEC3", false);
    };
  };
  const auto quaternions = [&](const std::vector<float>& track, const std::vector<std::int16_t>& code) {
    return [&](const Frames& frames) {
      const std::size_t from = tracks.rotations.size();
      for (const std::size_t f : frames)
        if (precision.rotation_bits == 0)
          tracks.rotations.put(track.data() + 4 * f, 16);
        else
          tracks.rotations.put(code.data() + 4 * f, 8);
      const bool floats = precision.rotation_bits == 0;
      return tracks.rotations.shared_accessor(out_, from, floats ? Component::f32 : Component::i16, "VEC4", !floats);
    };
  };
  const auto part = [&](const std::vector<float>& track, std::size_t width) {
    return std::vector<float>(track.begin() + static_cast<std::ptrdiff_t>(width * clip.first_frame),
                              track.begin() + static_cast<std::ptrdiff_t>(width * (clip.first_frame + clip.frames)));
  };
  // Some players leave a node where the last clip put it: what one clip moves, all of them set.
  const auto rests = [](const std::vector<float>& track, const std::vector<float>& at) {
    return constant(track, at.size()) && std::equal(at.begin(), at.end(), track.begin());
  };
  for (std::size_t b = 0; b < rig_.bone_count(); ++b) {
    const RoundedTracks& track = rounded_.tracks[b];
    const NodeRest& rest = rounded_.rests[b];
    const auto translation = part(track.values.translation, 3);
    if (!rests(track.values.translation, rest.translation))
      add_channel(clip, nodes_.outer[b], "translation", constant(translation, 3), input,
                  vectors(tracks.translations, track.values.translation, precision.round_translations,
                          precision.translation_step),
                  animation);
    const auto rotation = part(track.values.rotation, 4);
    if (!rests(track.values.rotation, rest.rotation) || (b + 1 == rig_.bone_count() && !animation.contains("channels")))
      add_channel(clip, nodes_.outer[b], "rotation", constant(rotation, 4), input,
                  quaternions(track.values.rotation, track.rotation), animation);
    if (track.values.scale.empty()) continue;
    const auto scale = part(track.values.scale, 3);
    if (!rests(track.values.scale, rest.scale))
      add_channel(clip, nodes_.outer[b], "scale", constant(scale, 3), input,
                  vectors(tracks.scales, track.values.scale, precision.round_scales, precision.scale_step), animation);
    const auto inner = part(track.values.inner, 4);
    if (!rests(track.values.inner, rest.inner))
      add_channel(clip, nodes_.joints[b], "rotation", constant(inner, 4), input,
                  quaternions(track.values.inner, track.inner), animation);
  }
}

/// Morph targets: all meshes share their weights.
void MotionWriter::add_morph_channels(const Clip& clip, const Input& input, Tracks& tracks, Json& animation) {
  const std::size_t from = tracks.morphs.size();
  for (const std::size_t f : keys_of(clip))
    for (const std::size_t r : targets_) {
      const double unit = rounded_.morphs.empty() ? 1 : rounded_.morphs[r].unit / rounded_.step;
      tracks.morphs.put(
          static_cast<float>(unit * static_cast<double>(rig_.corrections->coefficients(index(f), index(r)))));
    }
  const std::size_t values = tracks.morphs.accessor(out_, from, Component::f32, "SCALAR", false);
  for (const std::size_t node : nodes_.meshes)
    add_channel(
        clip, node, "weights", false, input, [&](const Frames&) { return values; }, animation);
}

/// The frames of a clip in the file, where no time is before 0.
std::vector<double> frames_of(const Rig& rig, const Clip& clip) {
  std::vector<double> out(rig.times.begin() + static_cast<std::ptrdiff_t>(clip.first_frame),
                          rig.times.begin() + static_cast<std::ptrdiff_t>(clip.first_frame + clip.frames));
  const double shift = std::min(0.0, out.front());
  for (double& t : out) t -= shift;
  for (std::size_t f = 1; f < out.size(); ++f)
    if (!(static_cast<float>(out[f]) > static_cast<float>(out[f - 1])))
      throw Error(ErrorKind::output,
                  fmt::format("clip '{}': frame {} does not come after the frame before it in float", clip.name, f));
  return out;
}

/// What the reader needs to find the frames again.
Json noted(const std::vector<double>& times) {
  const double step = times.size() > 1 ? times[1] - times[0] : 0;
  for (std::size_t f = 0; f < times.size(); ++f)
    if (std::abs(times[f] - (times[0] + static_cast<double>(f) * step)) > 1e-9 * (1 + times.back())) return times;
  return {{"start", times[0]}, {"step", step}, {"count", times.size()}};
}

void MotionWriter::add_animations() {
  if (rig_.frame_count() == 0) return;
  const Precision& precision = rounded_.precision;
  Tracks tracks{.translations = Stream(12, Use::data, precision.round_translations ? "EXPONENTIAL" : ""),
                .rotations = Stream(precision.rotation_bits == 0 ? 16 : 8, Use::data,
                                    precision.rotation_bits == 0 ? "" : "QUATERNION"),
                .scales = Stream(12, Use::data, precision.round_scales ? "EXPONENTIAL" : "")};
  gltf::Names names(options_.safe_names);
  for (const Clip& clip : gltf::clips_of(rig_)) {
    const std::vector<double> times = frames_of(rig_, clip);
    const auto add_times = [&](const Frames& frames) {
      const std::size_t from = tracks.times.size();
      const auto time = [&](std::size_t f) { return static_cast<float>(times[f - clip.first_frame]); };
      for (const std::size_t f : frames) tracks.times.put(time(f));
      const std::size_t accessor = tracks.times.shared_accessor(out_, from, Component::f32, "SCALAR", false);
      out_.root["accessors"][accessor]["min"] = {shortest(time(frames.front()))};
      out_.root["accessors"][accessor]["max"] = {shortest(time(frames.back()))};
      return accessor;
    };
    std::optional<std::size_t> all;
    std::optional<std::size_t> first;
    const Input input = [&](bool still) {
      if (still && times.size() > 1) return first ? *first : *(first = add_times({clip.first_frame}));
      return all ? *all : *(all = add_times(keys_of(clip)));
    };
    Json animation = {{"name", names.take(clip.name, "motion")}};
    samplers_.clear();
    animation["extras"]["sinew"]["frames"] = noted(times);
    if (rounded_.layers)
      add_still_channel(clip, input, tracks, animation);
    else
      add_bone_channels(clip, input, tracks, animation);
    if (!targets_.empty()) add_morph_channels(clip, input, tracks, animation);
    out_.append("animations", std::move(animation));
  }
  for (Stream* stream : {&tracks.times, &tracks.translations, &tracks.rotations, &tracks.scales, &tracks.morphs})
    stream->finish(out_, extension_);
}

}  // namespace

void add_packed_motion(const Rounded& rounded, const AnimatedNodes& nodes, const std::vector<std::size_t>& targets,
                       const PackOptions& options, const char* extension, GlbBuilder& out) {
  MotionWriter(rounded, nodes, targets, options, extension, out).add_animations();
}

}  // namespace sinew::pack
