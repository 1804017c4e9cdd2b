#include "pack/keys.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <set>

#include "core/index.h"
#include "io/gltf/write_motion.h"

namespace sinew::pack {
namespace {

constexpr std::size_t kPoints = 200;  // vertices that misses are measured at

double time_between(const Rig& rig, std::size_t from, std::size_t f, std::size_t to) {
  return (rig.times[f] - rig.times[from]) / (rig.times[to] - rig.times[from]);
}

void lerp(std::vector<float>& track, std::size_t width, std::size_t from, std::size_t f, std::size_t to, double s) {
  if (track.empty()) return;
  for (std::size_t c = 0; c < width; ++c)
    track[width * f + c] = static_cast<float>((1 - s) * static_cast<double>(track[width * from + c]) +
                                              s * static_cast<double>(track[width * to + c]));
}

void slerp(std::vector<float>& track, std::size_t from, std::size_t f, std::size_t to, double s) {
  if (track.empty()) return;
  const auto at = [&](std::size_t frame) {
    return Eigen::Map<const Eigen::Quaternionf>(track.data() + 4 * frame).cast<double>();
  };
  const Eigen::Quaterniond between = Eigen::Quaterniond(at(from)).slerp(s, Eigen::Quaterniond(at(to)));
  Eigen::Map<Eigen::Quaternionf>(track.data() + 4 * f) = between.cast<float>();
}

void interpolate(std::size_t from, std::size_t f, std::size_t to, double s, gltf::BoneTracks& track) {
  lerp(track.translation, 3, from, f, to, s);
  lerp(track.scale, 3, from, f, to, s);
  slerp(track.rotation, from, f, to, s);
  slerp(track.inner, from, f, to, s);
}

/// Calls visit(from, f, to) for each frame that lies between two keys.
template <class Visit>
void for_each_between(const std::vector<std::size_t>& keys, const Visit& visit) {
  for (std::size_t i = 0; i + 1 < keys.size(); ++i)
    for (std::size_t f = keys[i] + 1; f < keys[i + 1]; ++f) visit(keys[i], f, keys[i + 1]);
}

/// Some vertices, as their bones move them.
class Misses {
 public:
  Misses(const Rig& rig, bool hierarchy, const std::vector<gltf::BoneTracks>& tracks)
      : rig_(rig), hierarchy_(hierarchy), tracks_(tracks) {
    const std::size_t step = std::max<std::size_t>(1, rig.vertex_count() / kPoints);
    for (std::size_t v = 0; v < rig.vertex_count(); v += step) points_.push_back(v);
  }

  /// The sum of squares by which frame f, between these keys, misses what it is.
  double of(std::size_t from, std::size_t f, std::size_t to) const {
    std::vector<RoundedTracks> three(tracks_.size());  // frames 0 and 2 as the keys, 1 between them, 3 as it is
    const double s = time_between(rig_, from, f, to);
    for (std::size_t b = 0; b < tracks_.size(); ++b) {
      const auto part = [&](const std::vector<float>& track, std::size_t width) {
        std::vector<float> out;
        if (track.empty()) return out;
        for (const std::size_t frame : {from, f, to, f})
          out.insert(out.end(), track.begin() + static_cast<std::ptrdiff_t>(width * frame),
                     track.begin() + static_cast<std::ptrdiff_t>(width * (frame + 1)));
        return out;
      };
      three[b].values = {part(tracks_[b].translation, 3), part(tracks_[b].rotation, 4), part(tracks_[b].scale, 3),
                         part(tracks_[b].inner, 4)};
      interpolate(0, 1, 2, s, three[b].values);
    }
    const Motion moved = played_motion(rig_.bones, 4, hierarchy_, three);
    const auto slots = static_cast<std::size_t>(rig_.weights.influences);
    double sum = 0;
    for (const std::size_t v : points_) {
      const Vector3 p = rig_.rest.positions.col(index(v));
      Vector3 miss = Vector3::Zero();
      for (std::size_t k = v * slots; k < (v + 1) * slots; ++k) {
        const Index b = rig_.weights.bones[k];
        if (rig_.weights.values[k] > 0)
          miss += rig_.weights.values[k] * ((moved(1, b) - moved(3, b)) * p.homogeneous());
      }
      sum += static_cast<double>(miss.squaredNorm());
    }
    return sum;
  }

 private:
  const Rig& rig_;
  bool hierarchy_;
  const std::vector<gltf::BoneTracks>& tracks_;
  std::vector<std::size_t> points_;
};

/// The frame between two keys that they miss most.
struct Gap {
  double missed = 0;
  std::size_t frame = 0;
  std::size_t from = 0;
  std::size_t to = 0;

  bool operator<(const Gap& other) const {
    return missed != other.missed ? missed > other.missed : frame < other.frame;
  }
};

}  // namespace

std::vector<std::size_t> order_of_need(const Rig& rig, bool hierarchy, const std::vector<gltf::BoneTracks>& tracks) {
  const Misses misses(rig, hierarchy, tracks);
  std::vector<std::size_t> out;
  std::set<Gap> gaps;
  const auto open = [&](std::size_t from, std::size_t to) {
    Gap worst{-1, 0, from, to};
    for (std::size_t f = from + 1; f < to; ++f) {
      const double missed = misses.of(from, f, to);
      if (missed > worst.missed) worst = {missed, f, from, to};
    }
    if (worst.missed >= 0) gaps.insert(worst);
  };
  for (const Clip& clip : gltf::clips_of(rig)) {
    const std::size_t last = clip.first_frame + clip.frames - 1;
    out.push_back(clip.first_frame);
    if (last > clip.first_frame) out.push_back(last);
    open(clip.first_frame, last);
  }
  while (!gaps.empty()) {
    const Gap gap = *gaps.begin();
    gaps.erase(gaps.begin());
    out.push_back(gap.frame);
    open(gap.from, gap.frame);
    open(gap.frame, gap.to);
  }
  return out;
}

std::vector<std::size_t> key_frames(const Rig& rig, const std::vector<std::size_t>& order, double share) {
  const auto wanted = static_cast<std::size_t>(std::ceil(share * static_cast<double>(order.size())));
  const std::size_t count = std::min(order.size(), std::max(wanted, 2 * gltf::clips_of(rig).size()));
  std::vector<std::size_t> out(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count));
  std::sort(out.begin(), out.end());
  return out;
}

void interpolate_between(const std::vector<std::size_t>& keys, const Rig& rig, std::vector<RoundedTracks>& tracks) {
  for_each_between(keys, [&](std::size_t from, std::size_t f, std::size_t to) {
    for (RoundedTracks& track : tracks) interpolate(from, f, to, time_between(rig, from, f, to), track.values);
  });
}

void interpolate_between(const std::vector<std::size_t>& keys, const Rig& rig, Eigen::MatrixXf& coefficients) {
  for_each_between(keys, [&](std::size_t from, std::size_t f, std::size_t to) {
    const auto s = static_cast<float>(time_between(rig, from, f, to));
    coefficients.row(index(f)) = (1 - s) * coefficients.row(index(from)) + s * coefficients.row(index(to));
  });
}

}  // namespace sinew::pack
