#include "sinew/core/sequence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/refuse.h"
#include "core/timeline.h"
#include "sinew/core/error.h"

namespace sinew {
namespace {

/// Frame numbers at which a clip starts, with the frame count at the end; one clip when none is named.
std::vector<std::size_t> clip_starts(const std::string& name, const std::vector<Clip>& clips, std::size_t frames) {
  std::vector<std::size_t> starts{0};
  for (const Clip& clip : clips) {
    if (clip.first_frame != starts.back() || clip.frames > frames - starts.back())
      refuse(fmt::format("{}: clip '{}' has {} frames from frame {}, expected at most {} from {}", name, clip.name,
                         clip.frames, clip.first_frame, frames - starts.back(), starts.back()));
    starts.push_back(clip.first_frame + clip.frames);
  }
  if (clips.empty()) starts.push_back(frames);
  if (starts.back() != frames)
    refuse(fmt::format("{}: clips hold {} frames, there are {}", name, starts.back(), frames));
  return starts;
}

}  // namespace

void check_timeline(const std::string& name, const std::vector<double>& times, const std::vector<Clip>& clips,
                    std::size_t frames) {
  if (times.size() != frames) refuse(fmt::format("{}: {} times for {} frames", name, times.size(), frames));
  const std::vector<std::size_t> starts = clip_starts(name, clips, frames);
  for (std::size_t clip = 0; clip + 1 < starts.size(); ++clip)
    for (std::size_t f = starts[clip]; f < starts[clip + 1]; ++f)
      if (!std::isfinite(times[f]) || (f > starts[clip] && times[f] <= times[f - 1]))
        refuse(fmt::format("{}: time of frame {} is not after that of the frame before it", name, f));
}

void Sequence::check() const {
  const std::string called = name.empty() ? "sequence" : name;
  if (vertex_count() == 0) refuse(fmt::format("{}: no vertices", called));
  if (frame_count() == 0) refuse(fmt::format("{}: no frames", called));
  if (frames.vertex_count() != vertex_count())
    refuse(fmt::format("{}: {} points per frame, the rest mesh has {} vertices", called, frames.vertex_count(),
                       vertex_count()));
  rest.check(called + ": rest mesh");
  const std::span<const float> data = frames.data();
  for (std::size_t i = 0; i < data.size(); ++i)
    if (!std::isfinite(data[i]))
      refuse(fmt::format("{}: frame {}, vertex {}: position is not finite", called, i / (3 * vertex_count()),
                         i / 3 % vertex_count()));
  check_timeline(called, times, clips, frame_count());
}

std::vector<double> uniform_times(std::size_t frames, double seconds_per_frame) {
  std::vector<double> times(frames);
  for (std::size_t f = 0; f < frames; ++f) times[f] = static_cast<double>(f) * seconds_per_frame;
  return times;
}

std::vector<Clip> cut_clips(const std::vector<Clip>& clips, const std::vector<std::size_t>& frames) {
  std::vector<Clip> out;
  for (const Clip& clip : clips) {
    const auto place = [&](std::size_t frame) {
      return static_cast<std::size_t>(std::lower_bound(frames.begin(), frames.end(), frame) - frames.begin());
    };
    const std::size_t begin = place(clip.first_frame);
    const std::size_t end = place(clip.first_frame + clip.frames);
    if (end > begin) out.push_back({clip.name, begin, end - begin});
  }
  return out;
}

Sequence resample(const Sequence& sequence, double frames_per_second) {
  if (!(frames_per_second > 0) || !std::isfinite(frames_per_second))
    throw Error(ErrorKind::usage, fmt::format("{} frames per second, expected more than 0", frames_per_second));
  const std::vector<std::size_t> starts = clip_starts(sequence.name, sequence.clips, sequence.frame_count());
  Sequence out{sequence.name, sequence.rest, {}, {}, {}};
  std::vector<std::pair<std::size_t, double>> places;  // a frame, and how far to the next
  for (std::size_t clip = 0; clip + 1 < starts.size(); ++clip) {
    if (starts[clip] == starts[clip + 1]) continue;
    const std::size_t last = starts[clip + 1] - 1;
    const std::size_t before = places.size();
    std::size_t f = starts[clip];
    const double span = (sequence.times[last] - sequence.times[f]) * frames_per_second;
    if (!(span < 1e6))
      refuse(fmt::format("{}: {} frames at {} per second are too many", sequence.name, span, frames_per_second));
    for (std::size_t i = 0; i <= static_cast<std::size_t>(span + 1e-3); ++i) {
      const double t =
          std::min(sequence.times[last], sequence.times[starts[clip]] + static_cast<double>(i) / frames_per_second);
      while (f < last && sequence.times[f + 1] <= t) ++f;
      const double step = f < last ? sequence.times[f + 1] - sequence.times[f] : 1;
      places.emplace_back(f, (t - sequence.times[f]) / step);
      out.times.push_back(t);
    }
    if (!sequence.clips.empty()) out.clips.push_back({sequence.clips[clip].name, before, places.size() - before});
  }
  out.frames = Frames(places.size(), sequence.vertex_count());
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto [f, part] = places[i];
    out.frames[i] = sequence.frames[f];
    if (part > 0) out.frames[i] += static_cast<float>(part) * (sequence.frames[f + 1] - sequence.frames[f]);
  }
  return out;
}

Sequence select_frames(const Sequence& sequence, std::size_t first, std::size_t last, std::size_t step) {
  last = std::min(last, sequence.frame_count());
  if (step == 0 || first >= last)
    throw Error(ErrorKind::usage,
                fmt::format("frames {}:{}:{} of {} select nothing", first, last, step, sequence.frame_count()));
  std::vector<std::size_t> chosen;
  for (std::size_t f = first; f < last; f += std::min(step, last - f)) chosen.push_back(f);
  Sequence out{sequence.name, sequence.rest, Frames(chosen.size(), sequence.vertex_count()), {}, {}};
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    out.frames[i] = sequence.frames[chosen[i]];
    out.times.push_back(sequence.times[chosen[i]]);
  }
  out.clips = cut_clips(sequence.clips, chosen);
  return out;
}

Sequence concatenate(std::vector<Sequence> parts) {
  if (parts.empty()) refuse("no sequence to put together");
  if (parts.size() == 1) return std::move(parts.front());
  std::size_t frames = 0;
  for (const Sequence& part : parts) {
    const Sequence& first = parts.front();
    if (part.vertex_count() != first.vertex_count())
      refuse(
          fmt::format("{}: {} vertices, {} has {}", part.name, part.vertex_count(), first.name, first.vertex_count()));
    if (part.rest.face_sizes != first.rest.face_sizes || part.rest.corners != first.rest.corners)
      refuse(fmt::format("{}: its faces are not those of {}", part.name, first.name));
    frames += part.frame_count();
  }
  Sequence out{
      parts.front().name, std::move(parts.front().rest), Frames(frames, parts.front().frames.vertex_count()), {}, {}};
  auto to = out.frames.data().begin();
  for (Sequence& part : parts) {
    const std::size_t start = out.times.size();
    if (part.clips.empty()) part.clips.push_back({part.name, 0, part.frame_count()});
    for (Clip clip : part.clips) {
      const std::string name = clip.name;
      const auto taken = [&] {
        return std::any_of(out.clips.begin(), out.clips.end(), [&](const Clip& c) { return c.name == clip.name; });
      };
      for (int number = 2; taken(); ++number) clip.name = fmt::format("{} {}", name, number);
      clip.first_frame += start;
      out.clips.push_back(std::move(clip));
    }
    to = std::ranges::copy(std::as_const(part.frames).data(), to).out;
    out.times.insert(out.times.end(), part.times.begin(), part.times.end());
    part.frames = {};
  }
  return out;
}

}  // namespace sinew
