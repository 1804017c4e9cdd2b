#include "pack/tracks.h"

#include <meshoptimizer.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <cmath>

#include "sinew/core/bounds.h"

namespace sinew::pack {
namespace {

constexpr double kStillPlace = 2e-6;  // of the rest diagonal: what floats leave of a translation that does not change
constexpr double kStill = 1e-5;       // the same of a quaternion or scale

/// What stays within `noise` of the first frame of its clip is as there, and what stays within `still` of the middle of
/// its range is there.
void hold_still(const std::vector<Clip>& clips, std::size_t width, double noise, double still,
                std::vector<float>& track) {
  if (track.empty()) return;
  for (const Clip& clip : clips) {
    float* const first = track.data() + width * clip.first_frame;
    const std::size_t size = width * clip.frames;
    std::array<float, 4> low{};
    std::array<float, 4> high{};
    std::copy_n(first, width, low.begin());
    std::copy_n(first, width, high.begin());
    bool is_still = true;
    for (std::size_t i = width; i < size; ++i) {
      is_still = is_still && std::abs(static_cast<double>(first[i]) - static_cast<double>(first[i % width])) <= noise;
      low[i % width] = std::min(low[i % width], first[i]);
      high[i % width] = std::max(high[i % width], first[i]);
    }
    double range = 0;
    for (std::size_t k = 0; k < width; ++k)
      range = std::max(range, static_cast<double>(high[k]) - static_cast<double>(low[k]));
    if (!is_still && range <= 2 * still) {
      is_still = true;
      float length = 0;
      for (std::size_t k = 0; k < width; ++k) first[k] = (low[k] + high[k]) / 2;
      for (std::size_t k = 0; k < width; ++k) length += first[k] * first[k];
      for (std::size_t k = 0; width == 4 && length > 0 && k < width; ++k) first[k] /= std::sqrt(length);
    }
    for (std::size_t i = width; i < size && is_still; ++i) first[i] = first[i % width];
  }
}

/// The value that a track has in all frames; `otherwise` where it changes.
std::vector<float> held(const std::vector<float>& track, const std::vector<float>& otherwise) {
  if (track.empty() || !constant(track, otherwise.size())) return otherwise;
  return {track.begin(), track.begin() + static_cast<std::ptrdiff_t>(otherwise.size())};
}

void round_to(int exponent, std::vector<float>& track) {
  const double step = std::ldexp(1.0, exponent);
  for (float& x : track) x = static_cast<float>(std::round(static_cast<double>(x) / step) * step);
}

/// Rounds quaternions, F×4, and returns their code.
std::vector<std::int16_t> round_rotations(int bits, std::vector<float>& track) {
  const std::size_t count = track.size() / 4;
  std::vector<std::int16_t> code(track.size());
  meshopt_encodeFilterQuat(code.data(), count, 4 * sizeof(std::int16_t), bits, track.data());
  std::vector<std::int16_t> decoded = code;
  meshopt_decodeFilterQuat(decoded.data(), count, 4 * sizeof(std::int16_t));
  for (std::size_t i = 0; i < track.size(); ++i)
    track[i] = static_cast<float>(std::max(-1.0, static_cast<double>(decoded[i]) / 32767));
  return code;
}

Eigen::Quaterniond quaternion(const std::vector<float>& track, std::size_t f) {
  const float* q = track.data() + 4 * f;
  return Eigen::Quaternionf(q[3], q[0], q[1], q[2]).cast<double>();
}

Eigen::Affine3d placed(const gltf::BoneTracks& track, std::size_t f) {
  Eigen::Affine3d out = Eigen::Affine3d::Identity();
  out.linear() = quaternion(track.rotation, f).toRotationMatrix();
  if (!track.scale.empty())
    out.linear() *= Eigen::Map<const Vector3>(track.scale.data() + 3 * f).cast<double>().asDiagonal() *
                    quaternion(track.inner, f).toRotationMatrix();
  out.translation() = Eigen::Map<const Vector3>(track.translation.data() + 3 * f).cast<double>();
  return out;
}

}  // namespace

bool constant(const std::vector<float>& track, std::size_t width) {
  for (std::size_t i = width; i < track.size(); ++i)
    if (track[i] != track[i - width]) return false;
  return true;
}

std::vector<RoundedTracks> round_tracks(const Rig& rig, bool hierarchy, const std::vector<gltf::BoneTracks>& exact,
                                        const Precision& precision) {
  std::vector<RoundedTracks> out(exact.size());
  std::vector<Clip> clips{{"", 0, rig.frame_count()}};  // all of them, then each
  for (const Clip& clip : gltf::clips_of(rig)) clips.push_back(clip);
  const double size = bounding_box_diagonal(rig.rest.positions);
  for (std::size_t b = 0; b < exact.size(); ++b) {
    RoundedTracks& track = out[b];
    track.values = exact[b];
    if (precision.round_translations) {
      const double still = precision.still;
      hold_still(clips, 3, kStillPlace * size, still * size, track.values.translation);
      hold_still(clips, 4, kStill, still, track.values.rotation);
      hold_still(clips, 3, kStill, still, track.values.scale);
      hold_still(clips, 4, kStill, still, track.values.inner);
    }
    const Vector3 rest = gltf::rest_translation(rig, b, hierarchy);
    const bool stays = constant(exact[b].translation, 3) && !exact[b].translation.empty() &&
                       Eigen::Map<const Vector3>(exact[b].translation.data()) == rest;
    if (precision.round_translations && !stays) round_to(precision.translation_step, track.values.translation);
    if (precision.round_scales) round_to(precision.scale_step, track.values.scale);
    if (precision.rotation_bits == 0) continue;
    track.rotation = round_rotations(precision.rotation_bits, track.values.rotation);
    if (!exact[b].inner.empty()) track.inner = round_rotations(precision.rotation_bits, track.values.inner);
  }
  return out;
}

std::vector<NodeRest> node_rests(const Rig& rig, bool hierarchy, const std::vector<RoundedTracks>& tracks) {
  std::vector<NodeRest> out;
  for (std::size_t b = 0; b < tracks.size(); ++b) {
    const gltf::BoneTracks& values = tracks[b].values;
    const Vector3 place = gltf::rest_translation(rig, b, hierarchy);
    out.push_back({held(values.translation, {place.x(), place.y(), place.z()}), held(values.rotation, {0, 0, 0, 1}),
                   held(values.scale, {1, 1, 1}), held(values.inner, {0, 0, 0, 1})});
  }
  return out;
}

Motion played_motion(const std::vector<Bone>& bones, std::size_t frames, bool hierarchy,
                     const std::vector<RoundedTracks>& tracks) {
  Motion out(frames, bones.size());
  std::vector<Eigen::Affine3d> global(bones.size());
  for (std::size_t f = 0; f < frames; ++f)
    for (std::size_t b = 0; b < bones.size(); ++b) {
      const int parent = hierarchy ? bones[b].parent : -1;
      global[b] = placed(tracks[b].values, f);
      if (parent >= 0) global[b] = global[static_cast<std::size_t>(parent)] * global[b];
      Eigen::Affine3d motion = global[b];
      motion.translate(-bones[b].head.cast<double>());
      out(f, b) = motion.affine().cast<float>();
    }
  return out;
}

}  // namespace sinew::pack
