#include "sinew/core/sequence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
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

Paging paging_of(const Frames& frames) {
  return frames.paging() != nullptr ? *frames.paging() : Paging{};
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
  frames.check_finite(called);
  check_timeline(called, times, clips, frame_count());
}

Frames::Frames(std::size_t frames, std::size_t vertices, const Paging& paging) : vertices_(vertices), frames_(frames) {
  if (bytes() <= paging.most) {
    own_.resize(frames * vertices * 3);
  } else {
    pages_ = PagedMemory::scratch(bytes(), paging);
    elsewhere_ = reinterpret_cast<const float*>(pages_->data());
  }
}

Frames::Frames(std::size_t frames, std::size_t vertices, std::shared_ptr<PagedMemory> pages)
    : vertices_(vertices),
      frames_(frames),
      elsewhere_(reinterpret_cast<const float*>(pages->data())),
      pages_(std::move(pages)) {
  assert(pages_->size() >= bytes());
}

float* Frames::changeable() {
  if (pages_ && pages_->writable() && pages_.use_count() == 1) {
    pages_->set_known_finite(false);
    return reinterpret_cast<float*>(pages_->data()) + (elsewhere_ - reinterpret_cast<const float*>(pages_->data()));
  }
  if (owner_ || pages_) {
    const float* const from = values();
    own_.assign(from, from + frames_ * vertices_ * 3);
    owner_.reset();
    pages_.reset();
  }
  return own_.data();
}

Frames Frames::slab(std::size_t first, std::size_t count) const {
  Frames out(frames_, count);
  for (std::size_t f = 0; f < frames_; ++f) {
    float* const to = out.own_.data() + f * count * 3;
    const float* const from = values() + (f * vertices_ + first) * 3;
    if (pages_)
      pages_->read(static_cast<std::size_t>(reinterpret_cast<const std::byte*>(from) - pages_->data()),
                   std::as_writable_bytes(std::span(to, count * 3)));
    else
      std::copy_n(from, count * 3, to);
  }
  return out;
}

Frames Frames::range(std::size_t first, std::size_t count) const {
  Frames out;
  out.vertices_ = vertices_;
  out.frames_ = count;
  const float* const from = values() + first * vertices_ * 3;
  if (owner_ || pages_) {
    out.elsewhere_ = from;
    out.owner_ = owner_;
    out.pages_ = pages_;
  } else {
    out.own_.assign(from, from + count * vertices_ * 3);
  }
  return out;
}

void Frames::check_finite(const std::string& name) const {
  if (pages_ && pages_->known_finite()) return;
  const VertexRange own = ranks().own(vertices_);
  const auto first = static_cast<Eigen::Index>(3 * own.first);
  const auto last = static_cast<Eigen::Index>(3 * own.last);
  for (std::size_t f = 0; f < frames_; ++f) {
    const ConstPointsMap frame = (*this)[f];
    for (Eigen::Index i = first; i < last; ++i)
      if (!std::isfinite(frame.data()[i]))
        refuse(fmt::format("{}: frame {}, vertex {}: position is not finite", name, f, i / 3));
  }
  if (pages_ && pages_->size() == bytes()) pages_->set_known_finite(true);
}

void for_each_slab(const Frames& frames, std::size_t step,
                   const std::function<void(const Frames&, std::size_t)>& body) {
  if (frames.paging() == nullptr) return body(frames, 0);
  const std::size_t room = frames.paging()->memory / 4 / (12 * frames.count());
  const std::size_t width = std::max<std::size_t>(1, room / step) * step;
  const VertexRange held = frames.ranks().held(frames.vertex_count(), step);
  for (std::size_t first = held.first; first < held.last; first += width)
    body(frames.slab(first, std::min(width, held.last - first)), first);
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
  out.frames = Frames(places.size(), sequence.vertex_count(), paging_of(sequence.frames));
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
  Sequence out{sequence.name, sequence.rest, {}, {}, {}};
  if (step == 1)
    out.frames = sequence.frames.range(first, chosen.size());
  else
    out.frames = Frames(chosen.size(), sequence.vertex_count(), paging_of(sequence.frames));
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (step > 1) out.frames[i] = sequence.frames[chosen[i]];
    out.times.push_back(sequence.times[chosen[i]]);
  }
  out.clips = cut_clips(sequence.clips, chosen);
  return out;
}

Sequence concatenate(std::vector<Sequence> parts, const Paging& paging) {
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
  Sequence out{parts.front().name, std::move(parts.front().rest), {}, {}, {}};
  out.frames = Frames(frames, parts.front().frames.vertex_count(), paging);
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
    for (std::size_t f = 0; f < part.frame_count(); ++f) out.frames[start + f] = std::as_const(part.frames)[f];
    out.times.insert(out.times.end(), part.times.begin(), part.times.end());
    part.frames = {};
  }
  return out;
}

}  // namespace sinew
