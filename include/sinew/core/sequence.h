#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sinew/core/mesh.h"
#include "sinew/core/paged_memory.h"
#include "sinew/core/ranks.h"
#include "sinew/core/types.h"

namespace sinew {

/// Vertex positions over time: F×V×3 float, frame-major. Column v of frame(f) is vertex v.
///
/// They are in memory of their own, in somebody else's, or in a file: then what is not being looked at is not in
/// memory. Those of others and of files are only ever read: a change makes a copy first.
class Frames {
 public:
  Frames() = default;
  Frames(std::size_t frames, std::size_t vertices)
      : Frames(frames, vertices, std::vector<float>(frames * vertices * 3)) {}
  /// Zeros, in a scratch file where they are more than paging.most bytes. Throws Error{output} when that has no room.
  Frames(std::size_t frames, std::size_t vertices, const Paging& paging);
  /// Takes over values that are in order already: frames × vertices × 3.
  Frames(std::size_t frames, std::size_t vertices, std::vector<float> values)
      : vertices_(vertices), own_(std::move(values)), frames_(frames) {
    assert(own_.size() == frames * vertices * 3);
  }
  /// Reads values where they are: frames × vertices × 3, which `owner` keeps alive.
  Frames(std::size_t frames, std::size_t vertices, const float* values, std::shared_ptr<const void> owner)
      : vertices_(vertices), frames_(frames), elsewhere_(values), owner_(std::move(owner)) {}
  /// The same in a file, from its first byte on.
  Frames(std::size_t frames, std::size_t vertices, std::shared_ptr<PagedMemory> pages);

  std::size_t count() const { return frames_; }
  std::size_t vertex_count() const { return vertices_; }
  std::size_t bytes() const { return frames_ * vertices_ * 3 * sizeof(float); }
  /// All numbers. A loop over those in a file asks for one frame after the other instead.
  std::span<float> data() { return {changeable(), frames_ * vertices_ * 3}; }
  std::span<const float> data() const { return {values(), frames_ * vertices_ * 3}; }

  PointsMap operator[](std::size_t f) {
    if (pages_) pages_->announce(vertices_ * 3 * sizeof(float));
    return {changeable() + f * vertices_ * 3, 3, static_cast<Eigen::Index>(vertices_)};
  }
  ConstPointsMap operator[](std::size_t f) const {
    if (pages_) pages_->announce(vertices_ * 3 * sizeof(float));
    return {values() + f * vertices_ * 3, 3, static_cast<Eigen::Index>(vertices_)};
  }

  /// How frames that are in a file are worked on; null where they are in memory.
  const Paging* paging() const { return pages_ ? &pages_->paging() : nullptr; }
  /// Who shares the vertices of frames in a file.
  Ranks& ranks() const { return paging() != nullptr && paging()->ranks != nullptr ? *paging()->ranks : alone(); }
  void set_paging_memory(std::size_t bytes) {
    if (pages_) pages_->set_memory(bytes);
  }
  /// Some of the vertices over all frames, as frames in memory.
  Frames slab(std::size_t first, std::size_t count) const;
  /// Frames [first, first + count): those of a file stay where they are.
  Frames range(std::size_t first, std::size_t count) const;

  /// Throws Error{input} naming the first frame and vertex whose position is not finite. A file is looked at once, and
  /// of one that ranks share each looks at its own vertices.
  void check_finite(const std::string& name) const;

  friend bool operator==(const Frames& a, const Frames& b) {
    return a.frames_ == b.frames_ && a.vertices_ == b.vertices_ && std::ranges::equal(a.data(), b.data());
  }

 private:
  const float* values() const { return owner_ || pages_ ? elsewhere_ : own_.data(); }
  float* changeable();

  std::size_t vertices_ = 0;
  std::vector<float> own_;  // empty where they are elsewhere
  std::size_t frames_ = 0;
  const float* elsewhere_ = nullptr;  // in what one of these keeps alive; both null: they are our own
  std::shared_ptr<const void> owner_;
  std::shared_ptr<PagedMemory> pages_;
};

/// Calls body(part, first) for slabs of vertices one after another: part holds vertices first, first + 1, … over all
/// frames. Frames in memory are one slab; of those in a file a multiple of `step` vertices is read at a time, and only
/// those that this rank holds.
void for_each_slab(const Frames& frames, std::size_t step, const std::function<void(const Frames&, std::size_t)>& body);

/// A contiguous range of frames that belongs together, e.g. one of several animations of a character.
struct Clip {
  std::string name;
  std::size_t first_frame = 0;
  std::size_t frames = 0;
};

/// A mesh animation: a rest mesh and, for every frame, a position for each of its vertices.
///
/// Invariants, tested by check(): the mesh satisfies its own, at least one vertex and one frame, frames and rest agree
/// on the vertex count, all numbers finite, times has one strictly increasing entry per frame within each clip, clips
/// are empty (one unnamed clip) or partition the frames in order.
struct Sequence {
  std::string name;
  Mesh rest;
  Frames frames;              // F×V×3
  std::vector<double> times;  // F, seconds
  std::vector<Clip> clips;

  std::size_t vertex_count() const { return rest.vertex_count(); }
  std::size_t frame_count() const { return frames.count(); }

  /// Throws Error{input}: names the frame and the vertex of the first number that is not finite, or both counts of the
  /// first that disagree.
  void check() const;
};

inline constexpr double kDefaultSecondsPerFrame = 1.0 / 30;

/// Times of F frames at a constant rate, from 0.
std::vector<double> uniform_times(std::size_t frames, double seconds_per_frame = kDefaultSecondsPerFrame);

/// The chosen frames first, first + step, ... < last of a sequence, clips cut accordingly; frames count from 0.
/// Throws Error{usage} when nothing remains.
Sequence select_frames(const Sequence& sequence, std::size_t first, std::size_t last, std::size_t step);

/// Frames at a constant rate, from the first to the last time of each clip; between two frames vertices move straight,
/// as players of point caches let them. Throws Error{usage} for a rate that is none, Error{input} beyond a million
/// frames.
Sequence resample(const Sequence& sequence, double frames_per_second);

/// Several animations of one character as one sequence: the rest mesh of the first, the frames of all in order, one
/// clip per part (a part that has clips keeps them). Clip names stay distinct: a repeated one gets a number.
/// Throws Error{input} when vertex counts or faces differ.
Sequence concatenate(std::vector<Sequence> parts, const Paging& paging = {});

}  // namespace sinew
